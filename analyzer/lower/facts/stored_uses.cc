#include <algorithm>
#include <array>

#include "analyzer/lower/facts/stored_tensors.h"

namespace onnx_mem {
namespace {

// Operators between the frequencies of a rotary or sinusoidal embedding and their sine: products with positions,
// layout.
constexpr auto kTowardsSine =
    std::to_array<std::string_view>({"Mul", "MatMul", "Einsum", "Cast", "Reshape", "Unsqueeze", "Squeeze", "Transpose",
                                     "Expand", "Concat", "Identity"});

// Operators between a mask stored as numbers and the comparison that makes it one (nanoGPT's lower triangle of ones).
constexpr auto kTowardsComparison = std::to_array<std::string_view>(
    {"Slice", "Reshape", "Unsqueeze", "Squeeze", "Transpose", "Expand", "Gather", "Cast", "Identity"});
constexpr auto kComparisons =
    std::to_array<std::string_view>({"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Not", "IsInf"});

}  // namespace

bool MakesOnlySines(const Graph& graph, TensorId id, int depth) {
  constexpr int kDeepest = 8;
  const NodeIds& readers = graph.tensors[id].consumers;
  return depth < kDeepest && !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
           const Node& node = graph.nodes[reader];
           if (node.op == "Shape" || node.op == "Sin" || node.op == "Cos") return true;
           if (node.outputs.empty() || !node.outputs[0].valid()) return false;
           return std::find(kTowardsSine.begin(), kTowardsSine.end(), node.op) != kTowardsSine.end() &&
                  MakesOnlySines(graph, node.outputs[0], depth + 1);
         });
}

bool IsOnlyCompared(const Graph& graph, TensorId id, int depth) {
  constexpr int kDeepest = 8;
  const NodeIds& readers = graph.tensors[id].consumers;
  return depth < kDeepest && !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
           const Node& node = graph.nodes[reader];
           if (node.op == "Shape" || std::find(kComparisons.begin(), kComparisons.end(), node.op) != kComparisons.end())
             return true;
           if (node.outputs.empty() || !node.outputs[0].valid()) return false;
           if (node.op == "Cast" && !IsFloating(graph.tensors[node.outputs[0]].dtype)) return true;
           return std::find(kTowardsComparison.begin(), kTowardsComparison.end(), node.op) !=
                      kTowardsComparison.end() &&
                  node.inputs[0] == id && IsOnlyCompared(graph, node.outputs[0], depth + 1);
         });
}

}  // namespace onnx_mem
