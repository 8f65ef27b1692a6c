#include "analyzer/lower/planned_runtime.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace onnx_mem {
namespace {

// onnxruntime registers these with an alias of their input (core/providers/cpu/tensor/*.cc, Alias(0, 0)). Dropout is
// the identity outside training.
constexpr auto kViews = std::to_array<std::string_view>(
    {"Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"});

// Registered with MayInplace(0, 0): activations and arithmetic on equal shapes.
constexpr auto kMayOverwrite = std::to_array<std::string_view>(
    {"Abs", "Add", "Clip", "Div", "Elu", "Exp", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mul", "Neg", "PRelu",
     "Reciprocal", "Relu", "Selu", "Sigmoid", "Softplus", "Sqrt", "Sub", "Tanh"});

template <size_t N>
bool IsOneOf(const std::array<std::string_view, N>& names, const Node& node) {
  return node.domain.empty() && std::find(names.begin(), names.end(), node.op) != names.end();
}

}  // namespace

bool SharesItsInput(const Node& node) { return IsOneOf(kViews, node); }
bool MayOverwriteItsInput(const Node& node) { return IsOneOf(kMayOverwrite, node); }

}  // namespace onnx_mem
