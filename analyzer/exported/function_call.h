// The stack trace that dynamo's exporter writes to each node -> the call of a torch.autograd.Function around it.
#ifndef ONNX_MEM_ANALYZER_EXPORTED_FUNCTION_CALL_H_
#define ONNX_MEM_ANALYZER_EXPORTED_FUNCTION_CALL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/graph/framework_graph.h"

namespace onnx_mem {

// The call of a torch.autograd.Function that a lowered node ran in:
//
//   File "net.py", line 15, in forward         ->  {"SwishFunction", the first two rows, 7}
//     return SwishFunction.apply(x)
//   File "net.py", line 7, in forward
//     return x * torch.sigmoid(x)
//
// A Function is no module, so its forward() is a frame for which `node.calls` has no call. That frame is what tells:
// `self.fc(F.apply(x))` stands above the fc's own operators too, and `model.apply(f)` runs no forward().
struct FunctionCall {
  std::string name;        // as the source line has it, "ops.SwishFunction" too
  std::string trace;       // down to the line that calls it
  int64_t line = 0;        // of the Function's file, from which the node comes
  bool unnamed = false;    // no line shows the call: `name` is that of the file
  bool of_module = false;  // then: its line reads `self`, which a Function's forward(ctx, ...) does not have
};
std::optional<FunctionCall> CalledFunction(const FrameworkNode& node);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EXPORTED_FUNCTION_CALL_H_
