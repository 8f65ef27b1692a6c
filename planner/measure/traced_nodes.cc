#include "planner/measure/traced_nodes.h"

#include "planner/measure/index.h"

namespace onnx_mem {

TracedNodes TraceNodes(const StepTrace& trace, size_t count) {
  TracedNodes nodes;
  nodes.of_step.assign(trace.enacted.program.steps.size(), -1);
  nodes.steps.resize(count);
  nodes.reads.resize(count);
  nodes.overwritten.resize(count);
  nodes.is_saver.assign(count, false);
  for (const SavedTrace& saved : trace.saved) {
    if (saved.node < 0 || saved.buffers.empty()) continue;
    if (Index(saved.node) < count) nodes.is_saver[Index(saved.node)] = true;
  }
  for (const NodeTrace& node : trace.forward) {
    const size_t at = Index(node.node);
    nodes.reads[at] = node.reads;
    const bool in_place = node.reads.size() == 1 && node.reads == node.writes;
    const bool one_step = node.end.value() - node.begin.value() == 1 && nodes.steps[at].empty();
    nodes.overwritten[at] = in_place && one_step ? node.writes.front() : BufferId();
    nodes.steps[at].emplace_back(node.begin.value(), node.end.value());
    for (int32_t s = node.begin.value(); s < node.end.value(); ++s) nodes.of_step[Index(s)] = node.node;
  }
  return nodes;
}

}  // namespace onnx_mem
