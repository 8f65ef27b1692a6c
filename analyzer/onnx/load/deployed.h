// Whether a model was made to be run by onnxruntime rather than to be trained: what its operators tell.
#ifndef ONNX_MEM_ANALYZER_ONNX_LOAD_DEPLOYED_H_
#define ONNX_MEM_ANALYZER_ONNX_LOAD_DEPLOYED_H_

#include <string_view>

#include "onnx/onnx_pb.h"

namespace onnx_mem {

// "quantized" for a graph with quantized operators, "optimized by onnxruntime" for one with operators that its
// optimizer writes, "a classical model" for trees and the like, "a model of scikit-learn or the like" for a network
// that a converter of classical models wrote; "" for others, and for a graph with operators of a training step.
std::string_view WhyDeployed(const onnx::ModelProto& model);

// A classical model, or a network of a library of such: its kernels are made for the CPU.
bool IsOfClassicalLibrary(const onnx::ModelProto& model);

// Whether PyTorch could train it: not weights that are integers by now, nor what came from another library.
bool IsTrainable(const onnx::ModelProto& model);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_LOAD_DEPLOYED_H_
