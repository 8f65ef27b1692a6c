// What a file may say and no model has.
#ifndef ONNX_MEM_ANALYZER_ONNX_LOAD_CHECK_MODEL_H_
#define ONNX_MEM_ANALYZER_ONNX_LOAD_CHECK_MODEL_H_

#include <string>

#include "absl/status/status.h"
#include "analyzer/onnx/build/import.h"

namespace onnx {
class GraphProto;
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

// bad-model: "'PATH' holds ..."
absl::Status BadModel(const std::string& path, const std::string& what);

// Errors: bad-model, opset-too-new.
absl::Status CheckOpset(const onnx::ModelProto& model, const ModelInfo& info);
// Error: bad-model for a stored tensor of no size that a tensor has, and for an element type that there is not.
absl::Status CheckTensors(const onnx::GraphProto& graph, const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_LOAD_CHECK_MODEL_H_
