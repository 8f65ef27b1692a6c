#include "planner/calls/call_class.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analyzer/order/stable_sort.h"
#include "planner/calls/block_runs.h"
#include "planner/measure/index.h"
#include "planner/measure/region_calls.h"

namespace onnx_mem {
namespace {

// Blocks in one run, and corners of what it may keep: of large models fewer. In runs, corners and calls all together.
constexpr size_t kLongestRunOfCalls = 8;
constexpr size_t kMostOptions = 12'000;
constexpr size_t kMostCorners = 64;
constexpr size_t kLeastCorners = 6;
// Where tensors may move too, for each of several prices of the link.
constexpr size_t kMostCornersOfLink = 16;

OptionLimits CornersFor(size_t ranges) {
  const size_t corners = std::clamp(kMostOptions / std::max<size_t>(ranges, 1), kLeastCorners, kMostCorners);
  return {.corners = corners, .few_corners = std::max<size_t>(2, corners / 8)};
}

// Nodes that a record has as one call and that are many: autograd saves results of theirs that are no output of the
// call, so that no plan can name them. A layer of an LSTM is one.
std::set<int32_t> NodesOfManyCalls(const RegionCalls& calls) {
  std::set<int32_t> nodes;
  for (const SavedStorage& saved : calls.saved) {
    const RegionStorage& storage = calls.storages[Index(saved.what.storage)];
    if (storage.maker < 0) continue;
    const RegionCall& maker = calls.calls[Index(storage.maker)];
    if (maker.outputs[Index(storage.output)] != saved.what.storage) nodes.insert(maker.node);
  }
  return nodes;
}

std::vector<Candidate> Without(const std::set<int32_t>& nodes, std::vector<Candidate> ranges) {
  std::erase_if(ranges, [&](const Candidate& range) {
    const auto next = nodes.lower_bound(range.first);
    return next != nodes.end() && *next <= range.last;
  });
  return ranges;
}

}  // namespace

std::vector<Candidate> RangesOfClass(const Lowered& lowered, const CandidateSet& modules) {
  const std::vector<Candidate> blocks = BlocksOf(lowered);
  CandidateSet set{.list = RunsOf(lowered, blocks, kLongestRunOfCalls)};
  int32_t longest = 0;
  std::set<std::pair<int32_t, int32_t>> known;
  for (const Candidate& run : set.list) {
    longest = std::max(longest, run.last - run.first);
    known.emplace(run.first, run.last);
  }
  DropUnrepeatable(lowered, set);
  for (const Candidate& module : modules.list) {
    if (module.last - module.first > longest || !known.emplace(module.first, module.last).second) continue;
    set.list.push_back(module);
    set.list.back().is_block = set.list.back().is_run = false;  // not one of the runs that are looked at closely
  }
  StableSort(set.list, [](const Candidate& a, const Candidate& b) {
    return a.first != b.first ? a.first < b.first : a.last > b.last;
  });
  return std::move(set.list);
}

std::optional<CallClass> FindCallClass(const Accountant& accountant, const StepTrace& trace,
                                       const LimitsOfRanges& limits_of, std::vector<Candidate> ranges, CostLine line,
                                       const std::optional<LinkPrice>& link) {
  if (trace.calls.calls.empty()) return std::nullopt;
  ranges = Without(NodesOfManyCalls(trace.calls), std::move(ranges));
  const std::optional<SegmentLimits> base = limits_of(ranges);
  if (!base) return std::nullopt;
  RegionCalls calls = trace.calls;
  SetCosts(trace.enacted.program, accountant.clock(), calls);
  const int64_t call_cost = line == CostLine::kTime ? accountant.clock().card.checkpoint_call_ns : 0;
  OptionLimits corners = CornersFor(ranges.size());
  if (link) corners.corners = std::min(corners.corners, kMostCornersOfLink);
  CallOptions options = OptionsOf(calls, ranges, *base, line, call_cost, corners, link);
  CallClass found;
  found.profile.candidates = std::move(options.candidates);
  found.profile.figures = std::move(options.figures);
  found.profile.baseline_peak = accountant.PeakOf(accountant.baseline().program);
  found.profile.constant_peak = accountant.optimizer_peak_bytes();
  found.profile.loss_live = base->loss_live;
  found.limits = std::move(options.limits);
  found.proven = std::move(options.proven);
  return found;
}

}  // namespace onnx_mem
