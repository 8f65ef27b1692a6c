#include "analyzer/onnx/build/deployed.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "analyzer/onnx/build/classical.h"

namespace onnx_mem {
namespace {

constexpr auto kQuantized = std::to_array<std::string_view>(
    {"ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearConv", "QLinearMatMul",
     "QuantizeLinear"});

bool IsQuantized(const onnx::NodeProto& node) {
  if (node.domain().empty()) {
    return std::find(kQuantized.begin(), kQuantized.end(), node.op_type()) != kQuantized.end();
  }
  return node.domain() == "com.microsoft" && (absl::StartsWith(node.op_type(), "QLinear") ||
                                              absl::StartsWith(node.op_type(), "MatMulNBits") ||
                                              absl::StartsWith(node.op_type(), "DynamicQuantize"));
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
  if (quantized || optimized) return quantized ? "quantized" : "optimized by onnxruntime";
  return IsClassical(model) ? "a classical model" : "";
}

}  // namespace onnx_mem
