#include "analyzer/runtimes/planned_runtime.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/lower/facts/standard_operator.h"
#include "analyzer/runtimes/execution_order.h"

namespace onnx_mem {
namespace {

// onnxruntime registers these with an alias of their input (core/providers/cpu/tensor/*.cc, Alias(0, 0)). Dropout is
// the identity outside training.
constexpr auto kSharesInput =
    std::to_array<std::string_view>({"Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"});

// Elementwise on equal shapes: a planner that is free to choose may write their output over their input.
constexpr auto kMayOverwrite = std::to_array<std::string_view>(
    {"Abs", "Add",   "Clip",       "Div",  "Elu",  "Exp",     "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mul",
     "Neg", "PRelu", "Reciprocal", "Relu", "Selu", "Sigmoid", "Softplus",    "Sqrt",      "Sub",       "Tanh"});

// What onnxruntime's kernels themselves allow (MayInplace(0, 0) in their registrations; measured on the CPU provider of
// 1.31 by the size of the memory pattern of MatMul - operator - MatMul). Arithmetic is not among them.
constexpr auto kSessionOverwrites =
    std::to_array<std::string_view>({"Cast", "Celu", "Clip", "Elu", "HardSigmoid", "LeakyRelu", "LogSoftmax", "Relu",
                                     "Selu", "Sigmoid", "Softmax", "Softplus", "Softsign", "Tanh", "ThresholdedRelu"});

// Operators whose inputs from `first` on decide the shape of their output.
struct ShapeOperand {
  std::string_view op;
  size_t first;
};
constexpr auto kShapeOperands = std::to_array<ShapeOperand>({{"ConstantOfShape", 0},
                                                             {"Expand", 1},
                                                             {"Pad", 1},
                                                             {"Range", 0},
                                                             {"Reshape", 1},
                                                             {"Resize", 1},
                                                             {"Slice", 1},
                                                             {"Split", 1},
                                                             {"Tile", 1},
                                                             {"TopK", 1},
                                                             {"Unsqueeze", 1},
                                                             {"Upsample", 1}});

// Whether a session knows the shapes of what the node makes, by those of what it reads.
bool TellsItsShapes(const Graph& graph, const Node& node, const IdVector<TensorId, bool>& known) {
  if (node.op == "Shape" || node.op == "Size") return true;  // as long as the rank
  if (node.op == "NonZero") return false;
  const auto operand = std::find_if(kShapeOperands.begin(), kShapeOperands.end(),
                                    [&](const ShapeOperand& row) { return node.domain.empty() && row.op == node.op; });
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorId input = node.inputs[i];
    if (!input.valid()) continue;
    const bool is_shape = operand != kShapeOperands.end() && i >= operand->first;
    const Tensor& tensor = graph.tensors[input];
    const bool computed = tensor.producer.valid() && tensor.role == TensorRole::kActivation;
    if (is_shape ? computed : !known[input]) return false;
  }
  return true;
}

constexpr int64_t kMostScratchBytes = int64_t{1} << 58;  // sums of two stay in range

int64_t ScratchBytes(const Shape& shape, DType dtype) {
  return std::min(NumBytes(shape, dtype).value_or(0), kMostScratchBytes);
}

int64_t BytesOf(const Graph& graph, TensorId id) {
  return ScratchBytes(graph.tensors[id].shape, graph.tensors[id].dtype);
}

// What a Where takes of each of its two operands, in a tensor of its own that is as large as the condition and the
// operand broadcast (providers/cpu/tensor/where_op.cc).
int64_t SelectionBytes(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 3 || !node.inputs[0].valid()) return 0;
  const TensorId output = node.outputs.front();
  const Shape& condition = graph.tensors[node.inputs[0]].shape;
  int64_t bytes = 0;
  for (size_t i = 1; i < 3; ++i) {
    if (!node.inputs[i].valid()) return 0;
    const Shape& operand = graph.tensors[node.inputs[i]].shape;
    if (!condition.known() || !operand.known()) return 0;
    Shape both = condition.rank() < operand.rank() ? operand : condition;
    const Shape& other = condition.rank() < operand.rank() ? condition : operand;
    for (size_t k = 0; k < other.rank(); ++k) {
      int64_t& dim = both.dims[both.rank() - other.rank() + k];
      dim = std::max(dim, other.dims[k]);
    }
    bytes += ScratchBytes(both, graph.tensors[output].dtype);
  }
  return bytes;
}

}  // namespace

bool SharesItsInput(const Node& node) { return IsStandard(node, kSharesInput); }
bool MayOverwriteItsInput(const Node& node) { return IsStandard(node, kMayOverwrite); }

std::vector<int> SessionOverwrites(const Node& node) {
  if (node.domain == "com.microsoft.nchwc" && node.op == "Conv") return {3};  // what it adds to (nchwc_ops.cc)
  return IsStandard(node, kSessionOverwrites) ? std::vector<int>{0} : std::vector<int>();
}

IdVector<TensorId, bool> ShapesKnownToSession(const Graph& graph) {
  IdVector<TensorId, bool> known(graph.tensors.size(), true);
  for (NodeId id : ExecutionOrder(graph)) {  // nodes may stand before those that they read (session_layout.h)
    const Node& node = graph.nodes[id];
    const bool reported = TellsItsShapes(graph, node, known);
    for (TensorId output : node.outputs) {
      if (output.valid()) known[output] = reported;
    }
  }
  return known;
}

int64_t SessionScratchBytes(const Graph& graph, const Node& node) {
  constexpr int64_t kFloatBytes = 4;
  constexpr int64_t kMost = int64_t{1} << 40;
  const bool has_output = !node.outputs.empty() && node.outputs.front().valid();
  if (has_output && node.domain == "com.microsoft" && node.op == "BiasGelu") {
    return BytesOf(graph, node.outputs.front());  // tmp_data, x with its bias (contrib_ops/cpu/bert/bias_gelu.cc)
  }
  if (has_output && IsStandard(node, "Where")) return SelectionBytes(graph, node);
  if (node.op == "BatchNormalization" && IntAttribute(node, "training_mode", 0) != 0) {
    // saved_mean and saved_inv_std, which are no outputs of the operator (providers/cpu/nn/batch_norm.h).
    return node.inputs.size() < 2 || !node.inputs[1].valid() ? 0 : 2 * BytesOf(graph, node.inputs[1]);
  }
  if (!node.domain.empty() || node.inputs.size() < 2 || !node.inputs[0].valid() || !node.inputs[1].valid()) return 0;
  const Shape& x = graph.tensors[node.inputs[0]].shape;
  const Shape& w = graph.tensors[node.inputs[1]].shape;
  if (!x.known() || !w.known()) return 0;
  double bytes = 0;
  if (node.op == "ConvTranspose" && x.rank() >= 3 && w.rank() == x.rank()) {
    // col_buffer_size: what one pixel spreads over, for each pixel (providers/cpu/nn/conv_transpose.cc).
    bytes = kFloatBytes;
    for (size_t i = 1; i < w.rank(); ++i) bytes *= static_cast<double>(w.dims[i]);
    for (size_t i = 2; i < x.rank(); ++i) bytes *= static_cast<double>(x.dims[i]);
  } else if ((node.op == "LSTM" || node.op == "GRU") && x.rank() == 3 && w.rank() == 3) {
    // output_iofc_, of every step, for one direction (providers/cpu/rnn/uni_directional_lstm.cc).
    bytes =
        kFloatBytes * static_cast<double>(w.dims[1]) * static_cast<double>(x.dims[0]) * static_cast<double>(x.dims[1]);
  }
  return bytes > 0 && bytes < static_cast<double>(kMost) ? static_cast<int64_t>(bytes) : 0;
}

}  // namespace onnx_mem
