// Calls as Python's dispatch modes name them: namespace, operator and overload, str(func).
#ifndef ONNX_MEM_ANALYZER_EAGER_SPANS_DISPATCH_NAMES_H_
#define ONNX_MEM_ANALYZER_EAGER_SPANS_DISPATCH_NAMES_H_

#include <string>
#include <string_view>

#include "analyzer/graph/framework_graph.h"

namespace onnx_mem::eager {

// Of a node of a record, which is one call: "aten.add.Tensor". "" for what no mode counts (torch/utils/checkpoint.py,
// SAC_IGNORED_OPS), and for what is no call.
std::string DispatchNameOf(const FrameworkNode& recorded);

// Of a step of the program, as PyTorch dispatches it where no record says: the overload of tensors.
std::string DispatchNameOfStep(std::string_view op);

// torch.Tag.nondeterministic_seeded
bool DrawsNumbers(std::string_view dispatch_name);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_SPANS_DISPATCH_NAMES_H_
