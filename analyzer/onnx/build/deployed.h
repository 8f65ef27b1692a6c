// Whether a model was made to be run by onnxruntime rather than to be trained: what its operators tell.
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_DEPLOYED_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_DEPLOYED_H_

#include <string_view>

#include "onnx/onnx_pb.h"

namespace onnx_mem {

// "quantized" for a graph with quantized operators, "optimized by onnxruntime" for one with operators that its
// optimizer writes, "" for others, and for a graph with operators of a training step.
std::string_view WhyDeployed(const onnx::ModelProto& model);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_DEPLOYED_H_
