#include "analyzer/assume/choices/copies.h"

#include <string>

#include "analyzer/lower/draft/match.h"

namespace onnx_mem {

bool LeaveOutCopies(Lowered& lowered) {
  bool any = false;
  for (Node& node : lowered.graph.nodes) {
    if (IntAttribute(node, std::string(kMaybeCopied), 0) == 0) continue;
    node.op = "identity";
    any = true;
  }
  return any;
}

}  // namespace onnx_mem
