#include "analyzer/onnx/load/deployed.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "analyzer/onnx/load/classical.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kQuantizedFile = "quantized", kOptimizedFile = "optimized by onnxruntime";

constexpr auto kQuantized =
    std::to_array<std::string_view>({"ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger",
                                     "QLinearConv", "QLinearMatMul", "QuantizeLinear"});

bool IsQuantized(const onnx::NodeProto& node) {
  if (node.domain().empty()) {
    return std::find(kQuantized.begin(), kQuantized.end(), node.op_type()) != kQuantized.end();
  }
  return node.domain() == "com.microsoft" &&
         (absl::StartsWith(node.op_type(), "QLinear") || absl::StartsWith(node.op_type(), "MatMulNBits") ||
          absl::StartsWith(node.op_type(), "DynamicQuantize"));
}

// Operators that only a converter of classical models writes, around layers too: the labels and classes of a
// scikit-learn MLPClassifier.
bool HasOperatorOfMl(const onnx::ModelProto& model) {
  return std::any_of(model.graph().node().begin(), model.graph().node().end(),
                     [](const onnx::NodeProto& node) { return node.domain() == "ai.onnx.ml"; });
}

bool IsOfScikitLearn(const onnx::ModelProto& model) { return model.producer_name() == "skl2onnx"; }

// Integers that a training step would have to change. Quantization of weights that stay floating, as of a model that
// is trained for it, holds none.
bool HoldsIntegerWeights(const onnx::ModelProto& model) {
  constexpr auto kIntegers = std::to_array<int>(
      {onnx::TensorProto::INT8, onnx::TensorProto::UINT8, onnx::TensorProto::INT4, onnx::TensorProto::UINT4});
  return std::any_of(
      model.graph().initializer().begin(), model.graph().initializer().end(), [&](const onnx::TensorProto& tensor) {
        const bool integer = std::find(kIntegers.begin(), kIntegers.end(), tensor.data_type()) != kIntegers.end();
        return integer && tensor.dims_size() > 1;
      });
}

}  // namespace

std::string_view WhyDeployed(const onnx::ModelProto& model) {
  bool quantized = false, optimized = false;
  for (const onnx::NodeProto& node : model.graph().node()) {
    // onnxruntime's training graphs: SoftmaxCrossEntropyLossGrad, ai.onnx.training's Adam.
    if (absl::EndsWith(node.op_type(), "Grad") || absl::StartsWith(node.domain(), "ai.onnx.preview.training") ||
        absl::StartsWith(node.domain(), "ai.onnx.training")) {
      return "";
    }
    quantized = quantized || IsQuantized(node);
    optimized = optimized || absl::StartsWith(node.domain(), "com.microsoft");
  }
  if (quantized || optimized) return quantized ? kQuantizedFile : kOptimizedFile;
  if (IsClassical(model)) return "a classical model";
  return IsOfClassicalLibrary(model) ? "a model of scikit-learn or the like" : "";
}

bool IsOfClassicalLibrary(const onnx::ModelProto& model) {
  return IsClassical(model) || HasOperatorOfMl(model) || IsOfScikitLearn(model);
}

bool IsTrainable(const onnx::ModelProto& model) {
  const std::string_view why = WhyDeployed(model);
  if (why == kQuantizedFile) return !HoldsIntegerWeights(model);
  return why.empty() || why == kOptimizedFile;
}

}  // namespace onnx_mem
