#include "analyzer/assume/regions/function_saves.h"

namespace onnx_mem {

bool KeepMadeInFunctions(Lowered& lowered) {
  bool any = false;
  for (FrameworkNode& node : lowered.graph.nodes) {
    if (node.op != "custom_function" || IntAttribute(node, "made_bytes", 0) == 0) continue;
    node.attributes["saves_made"] = int64_t{1};
    any = true;
  }
  return any;
}

}  // namespace onnx_mem
