#include "analyzer/lower/facts/planned_runtime.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace onnx_mem {
namespace {

// onnxruntime registers these with an alias of their input (core/providers/cpu/tensor/*.cc, Alias(0, 0)). Dropout is
// the identity outside training.
constexpr auto kSharesInput = std::to_array<std::string_view>(
    {"Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"});

// Elementwise on equal shapes: a planner that is free to choose may write their output over their input.
constexpr auto kMayOverwrite = std::to_array<std::string_view>(
    {"Abs", "Add", "Clip", "Div", "Elu", "Exp", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mul", "Neg", "PRelu",
     "Reciprocal", "Relu", "Selu", "Sigmoid", "Softplus", "Sqrt", "Sub", "Tanh"});

// What onnxruntime's kernels themselves allow (MayInplace(0, 0) in their registrations; measured on the CPU provider of
// 1.31 by the size of the memory pattern of MatMul - operator - MatMul). Arithmetic is not among them.
constexpr auto kSessionOverwrites = std::to_array<std::string_view>(
    {"Cast", "Celu", "Clip", "Elu", "HardSigmoid", "LeakyRelu", "LogSoftmax", "Relu", "Selu", "Sigmoid", "Softmax",
     "Softplus", "Softsign", "Tanh", "ThresholdedRelu"});

template <size_t N>
bool IsOneOf(const std::array<std::string_view, N>& names, const Node& node) {
  return node.domain.empty() && std::find(names.begin(), names.end(), node.op) != names.end();
}

}  // namespace

bool SharesItsInput(const Node& node) { return IsOneOf(kSharesInput, node); }
bool MayOverwriteItsInput(const Node& node) { return IsOneOf(kMayOverwrite, node); }

std::vector<int> SessionOverwrites(const Node& node) {
  return IsOneOf(kSessionOverwrites, node) ? std::vector<int>{0} : std::vector<int>();
}

}  // namespace onnx_mem
