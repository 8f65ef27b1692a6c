// Models of classical machine learning (trees, linear models, support vectors): operators of ai.onnx.ml around no
// network. They have no activations worth counting and no training step.
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_CLASSICAL_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_CLASSICAL_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {

// Error not-a-network, which tells what the model is and how large.
absl::Status CheckIsNetwork(const onnx::ModelProto& model, const std::string& path, int64_t file_bytes);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_CLASSICAL_H_
