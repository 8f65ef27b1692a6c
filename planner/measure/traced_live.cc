#include "planner/measure/traced_live.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "analyzer/memory/timeline.h"
#include "planner/measure/index.h"

namespace onnx_mem {
namespace {

// By name, as steps have it; -1: of several.
absl::flat_hash_map<absl::string_view, int32_t> NodesByName(const FrameworkGraph& graph) {
  absl::flat_hash_map<absl::string_view, int32_t> node_of;
  node_of.reserve(graph.nodes.size());
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    const auto [entry, is_new] = node_of.emplace(graph.nodes[NodeId(i)].name, i);
    if (!is_new) entry->second = -1;
  }
  return node_of;
}

// By step: what of trace.saved fits its results then; -1: none.
std::vector<int32_t> FittedBy(const StepTrace& trace) {
  std::vector<int32_t> by(trace.enacted.program.steps.size(), -1);
  for (size_t i = 0; i < trace.saved.size(); ++i) {
    const SavedTrace& saved = trace.saved[i];
    if (saved.buffers.empty() || !saved.fits.valid()) continue;
    for (int32_t s = saved.fits.value(); s < saved.end.value(); ++s) by[Index(s)] = static_cast<int32_t>(i);
  }
  return by;
}

TracedLive::Fit FitOf(const StepTrace& trace, const TracedNodes& nodes, const SavedTrace& by) {
  TracedLive::Fit fit;
  std::vector<BufferId> buffers = by.buffers;
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  for (BufferId id : buffers) {
    const Buffer& buffer = trace.enacted.program.buffers[id];
    fit.released.emplace_back(nodes.of_step[Index(buffer.begin.value())], buffer.bytes);
  }
  return fit;
}

}  // namespace

TracedLive LiveInBackward(const FrameworkGraph& graph, const StepTrace& trace, const TracedNodes& nodes,
                          int64_t beside) {
  const MemoryProgram& program = trace.enacted.program;
  const size_t count = graph.nodes.size();
  TracedLive traced{.first = std::vector<int64_t>(count, 0),
                    .later = std::vector<int64_t>(count, 0),
                    .fits = std::vector<std::vector<TracedLive::Fit>>(count),
                    .formula = std::vector<int64_t>(count, 0)};
  const auto node_of = NodesByName(graph);
  const Timeline timeline = ComputeTimeline(program);
  const std::vector<int32_t> fitted_by = FittedBy(trace);
  for (StepId id(0); program.steps.contains(id); id = StepId(id.value() + 1)) {
    const Step& step = program.steps[id];
    const int64_t live = timeline.live_bytes[Index(id.value())] + beside;
    if (step.phase == Phase::kForward) traced.forward_steps = id.value() + 1;
    if (step.phase == Phase::kLoss) traced.loss = std::max(traced.loss, live);
    if (step.phase != Phase::kBackward) continue;
    const auto node = node_of.find(step.node.str());
    if (node == node_of.end() || node->second < 0) continue;
    const size_t n = Index(node->second);
    const bool is_first = traced.first[n] == 0;
    is_first ? traced.first[n] = live : traced.later[n] = std::max(traced.later[n], live);
    if (const int32_t by = fitted_by[Index(id.value())]; by >= 0) {
      TracedLive::Fit& fit = traced.fits[n].emplace_back(FitOf(trace, nodes, trace.saved[Index(by)]));
      fit.live_bytes = live;
      fit.is_first = is_first;
    } else {
      traced.formula[n] = std::max(traced.formula[n], live);
    }
  }
  return traced;
}

int64_t AgainAtFirst(const TracedLive& live, int32_t node) {
  const auto& fits = live.fits[Index(node)];
  return !fits.empty() && fits.front().is_first ? 0 : live.first[Index(node)];
}

int64_t AgainAtMost(const TracedLive& live, int32_t first, int32_t node) {
  int64_t most = live.formula[Index(node)];
  for (const TracedLive::Fit& fit : live.fits[Index(node)]) {
    int64_t left = fit.live_bytes;
    for (const auto& [maker, bytes] : fit.released) left -= maker >= first ? bytes : 0;
    most = std::max(most, left);
  }
  return most;
}

}  // namespace onnx_mem
