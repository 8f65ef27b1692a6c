#include <cstdint>
#include <vector>

#include "planner/measure/step_graph.h"

namespace onnx_mem {

NeediestOp NeediestOf(const StepGraph& graph) {
  // When each gradient is freed: after its last reader. Those of parameters stay.
  std::vector<int32_t> last_reader(graph.tensors.size(), -1);
  for (StepOpId id(0); graph.ops.contains(id); id = StepOpId(id.value() + 1)) {
    for (const auto& entry : graph.ops[id].inputs) {
      for (StepTensorId t : entry) last_reader[static_cast<size_t>(t.value())] = id.value();
    }
  }
  NeediestOp neediest;
  int64_t gradients = 0;
  std::vector<int64_t> going(graph.ops.size() + 1, 0);
  for (StepOpId id(0); graph.ops.contains(id); id = StepOpId(id.value() + 1)) {
    const StepOp& op = graph.ops[id];
    int64_t bytes = graph.base_bytes + gradients + op.work_bytes;
    for (const auto& entry : op.inputs) {
      if (entry.size() == 1 && graph.tensors[entry.front()].kind == StepTensorKind::kActivation) {
        bytes += graph.tensors[entry.front()].size_bytes;
      }
    }
    for (StepTensorId t : op.outputs) {
      bytes += graph.tensors[t].size_bytes;
      if (graph.tensors[t].kind == StepTensorKind::kActivation) continue;
      gradients += graph.tensors[t].size_bytes;
      const int32_t last = last_reader[static_cast<size_t>(t.value())];
      if (graph.tensors[t].kind == StepTensorKind::kGradient && last >= 0) {
        going[static_cast<size_t>(last)] += graph.tensors[t].size_bytes;
      }
    }
    if (bytes > neediest.bytes) neediest = {bytes, id};
    gradients -= going[static_cast<size_t>(id.value())];
  }
  return neediest;
}

}  // namespace onnx_mem
