#include "analyzer/lower/facts/quantized_weights.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/graph/dtype.h"

namespace onnx_mem {
namespace {

// Operators and the slots in which they read integers that stand for numbers of the model. Sources: ONNX's schemas, and
// onnxruntime's of domain com.microsoft (core/graph/contrib_ops/quantization_defs.cc, contrib_defs.cc).
struct IntegerSlot {
  std::string_view op;
  size_t slot;
};
constexpr auto kIntegerSlots = std::to_array<IntegerSlot>({
    {"ConvInteger", 1},
    {"DequantizeLinear", 0},
    {"DynamicQuantizeLSTM", 1},
    {"DynamicQuantizeLSTM", 2},
    {"DynamicQuantizeMatMul", 1},
    {"GatherBlockQuantized", 0},
    {"MatMulBnb4", 1},
    {"MatMulInteger", 1},
    {"MatMulIntegerToFloat", 1},
    {"MatMulNBits", 1},
    {"QAttention", 1},
    {"QGemm", 3},
    {"QGemm", 6},
    {"QLinearAdd", 0},
    {"QLinearAdd", 3},
    {"QLinearConv", 3},
    {"QLinearConv", 8},
    {"QLinearMatMul", 3},
    {"QLinearMul", 0},
    {"QLinearMul", 3},
});

// Operators that give what they read, or some of it, in another layout.
constexpr auto kPasses =
    std::to_array<std::string_view>({"Flatten", "Gather", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"});

bool IsReadAsWeight(const Graph& graph, TensorId id, int depth) {
  constexpr int kDeepest = 4;
  if (depth == kDeepest) return false;
  const NodeIds& readers = graph.tensors[id].consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const Node& node = graph.nodes[reader];
    const bool in_slot = std::any_of(kIntegerSlots.begin(), kIntegerSlots.end(), [&](const IntegerSlot& row) {
      return node.op == row.op && row.slot < node.inputs.size() && node.inputs[row.slot] == id;
    });
    if (in_slot) return true;
    const bool passes = std::find(kPasses.begin(), kPasses.end(), node.op) != kPasses.end() && !node.inputs.empty() &&
                        node.inputs[0] == id && !node.outputs.empty() && node.outputs[0].valid();
    return passes && IsReadAsWeight(graph, node.outputs[0], depth + 1);
  });
}

}  // namespace

bool IsQuantizedWeight(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  if (IsFloating(tensor.dtype) || tensor.dtype == DType::kBool || tensor.producer.valid()) return false;
  return NumElements(tensor.shape).value_or(0) > 1 && IsReadAsWeight(graph, id, 0);
}

}  // namespace onnx_mem
