// DistributedDataParallel, and ZeroRedundancyOptimizer on top of it.
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <queue>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/made_by_a_step.h"
#include "analyzer/order/stable_sort.h"
#include "analyzer/parallel/strategies.h"

namespace onnx_mem {
namespace {

// One flat copy of all buffers before each forward (_sync_module_buffers).
int64_t BroadcastBytes(const MemoryProgram& program) {
  int64_t bytes = 0;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.category == Category::kBuffers && IsOfModule(buffer)) bytes += buffer.bytes;
  }
  return bytes;
}

// With bucket views a gradient is gone when it has been copied into its bucket, of which it is a view then. Micro-steps
// before the last one (no_sync) keep ordinary gradients.
StepId EndOf(const SpreadInput& input, BufferId id) {
  const Buffer& buffer = input.enacted.program.buffers[id];
  if (!input.layout.bucket_view || input.run.accumulate > 1) return buffer.end;
  const auto arrived = input.facts.arrivals.find(id);
  if (arrived == input.facts.arrivals.end() || buffer.category != Category::kGradients) return buffer.end;
  return std::min(buffer.end, StepId(arrived->second.step.value() + 1));
}

}  // namespace

Buffer BucketsOf(const StepFacts& facts) {
  Buffer buckets;
  buckets.name = "DDP's buckets";
  buckets.category = Category::kCommunication;
  buckets.kept_by = "kept by DistributedDataParallel between steps";
  for (const OwnedParameter& p : facts.parameters) {
    if (p.trained) buckets.bytes += p.bytes;
  }
  return buckets;
}

absl::StatusOr<LocalStep> SpreadDdp(const SpreadInput& input) {
  const MemoryProgram& program = input.enacted.program;
  LocalStep step = WholeStep(input.enacted);
  step.summed_bytes = TrainedBytes(step.trained);
  const int64_t broadcast_bytes = BroadcastBytes(program);
  const int32_t shift = broadcast_bytes > 0 ? 1 : 0;
  MemoryProgram local;
  if (shift > 0) {
    Step sync;
    sync.op = "broadcast";
    local.steps.Add(std::move(sync));
  }
  for (const Step& each : program.steps) local.steps.Add(each);
  const StepId end = local.steps.next_id();
  Buffer buckets = BucketsOf(input.facts);
  buckets.begin = StepId(0);
  buckets.end = end;
  local.buffers.Add(std::move(buckets));
  if (shift > 0) {
    Buffer flat;
    flat.name = "flat copy of the buffers";
    flat.category = Category::kCommunication;
    flat.bytes = broadcast_bytes;
    flat.begin = StepId(0);
    flat.end = StepId(1);
    local.buffers.Add(std::move(flat));
  }
  for (BufferId id(0); program.buffers.contains(id); id = BufferId(id.value() + 1)) {
    Buffer buffer = program.buffers[id];
    buffer.end = StepId(EndOf(input, id).value() + shift);
    buffer.begin = MadeByAStep(buffer) ? StepId(buffer.begin.value() + shift) : StepId(0);
    local.buffers.Add(std::move(buffer));
  }
  step.program = std::make_shared<const MemoryProgram>(std::move(local));
  return step;
}

namespace {

// _partition_parameters: largest first, each to the rank that has the fewest elements so far.
std::vector<int64_t> RanksOf(const std::vector<TrainedParameter>& trained, int64_t ranks,
                             std::vector<int64_t>& elements) {
  std::vector<size_t> order(trained.size());
  std::iota(order.begin(), order.end(), size_t{0});
  StableSort(order, [&](size_t a, size_t b) { return trained[a].elements > trained[b].elements; });
  elements.assign(static_cast<size_t>(ranks), 0);
  using Share = std::pair<int64_t, int64_t>;  // elements, rank: the first one of those that have the fewest
  std::priority_queue<Share, std::vector<Share>, std::greater<>> shares;
  for (int64_t rank = 0; rank < ranks; ++rank) shares.emplace(0, rank);
  std::vector<int64_t> owner(trained.size());
  for (const size_t i : order) {
    const int64_t rank = shares.top().second;
    shares.pop();
    owner[i] = rank;
    elements[static_cast<size_t>(rank)] += trained[i].elements;
    shares.emplace(elements[static_cast<size_t>(rank)], rank);
  }
  return owner;
}

}  // namespace

void DealParameters(const RankLayout& layout, LocalStep& step) {
  std::vector<int64_t> elements;
  const std::vector<int64_t> owner = RanksOf(step.trained, layout.ranks, elements);
  const int64_t whose = layout.rank ? DataRankOf(layout, *layout.rank)
                                    : std::max_element(elements.begin(), elements.end()) - elements.begin();
  std::vector<TrainedParameter> own;
  for (size_t i = 0; i < owner.size(); ++i) {
    if (owner[i] == whose) own.push_back(std::move(step.trained[i]));
  }
  step.trained = std::move(own);
  step.rank = layout.rank.value_or(step.rank + whose * layout.tensor.ranks);
}

absl::StatusOr<LocalStep> SpreadZero1(const SpreadInput& input) {
  ASSIGN_OR_RETURN(LocalStep step, SpreadDdp(input));
  DealParameters(input.layout, step);
  return step;
}

}  // namespace onnx_mem
