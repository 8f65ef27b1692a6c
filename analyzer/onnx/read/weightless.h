// Models that were saved without their weights. TorchScript's export_params=False and dynamo's
// keep_initializers_as_inputs make graph inputs of them; dynamo's include_initializers=False leaves names that nothing
// makes.
//
//   input x, input conv.weight [8,3,3,3]; Conv(x, conv.weight)   ->   input x, weight conv.weight [8,3,3,3]
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_WEIGHTLESS_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_WEIGHTLESS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

// Makes initializers without contents of inputs that are weights, and of values that only value_info describes.
// Error: no-weights where a weight is read of which the file says nothing.
absl::Status RestoreWeights(onnx::ModelProto& model, const std::string& path, std::vector<Diagnostic>& diagnostics);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_WEIGHTLESS_H_
