#include "analyzer/assume/choices/copies.h"

#include <string>

#include "analyzer/lower/draft/match.h"

namespace onnx_mem {

bool LeaveOutCopies(Lowered& lowered) {
  bool any = false;
  for (FrameworkNode& node : lowered.graph.nodes) {
    if (IntAttribute(node, std::string(kMaybeCopied), 0) == 0) continue;
    node.op = "identity";
    any = true;
  }
  return any;
}

bool WriteIntoBuffers(Lowered& lowered) {
  bool any = false;
  for (FrameworkNode& node : lowered.graph.nodes) {
    if ((node.op != "index_put" && node.op != "scatter") || node.inputs.empty() || !node.inputs[0].valid()) continue;
    const TensorId into = node.inputs[0];
    if (lowered.kinds[into] != TensorKind::kBuffer || lowered.graph.tensors[into].producer.valid()) continue;
    any |= node.attributes.insert({"inplace", int64_t{1}}).second;
  }
  return any;
}

}  // namespace onnx_mem
