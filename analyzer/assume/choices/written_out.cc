#include "analyzer/assume/choices/written_out.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/graph/shape.h"

namespace onnx_mem {
namespace {

template <class Names>
bool Has(const Names& names, std::string_view op) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

// By what backward needs (tools/autograd/derivatives.yaml).
constexpr auto kSaveInputs = std::to_array<std::string_view>(
    {"mul", "div", "pow", "pow_scalar", "log", "abs", "erf", "sin", "cos", "softplus", "log1p"});
constexpr auto kSaveResult = std::to_array<std::string_view>({"tanh", "sigmoid", "exp", "sqrt", "rsqrt", "reciprocal"});
constexpr auto kSaveNothing = std::to_array<std::string_view>(
    {"add", "sub", "neg", "add_scalar", "sub_scalar", "rsub_scalar", "mul_scalar", "div_scalar", "mean", "sum"});
constexpr auto kSums = std::to_array<std::string_view>({"mul", "div", "abs"});

bool IsPart(const Node& node) {
  return node.framework_op.empty() &&
         (Has(kSaveInputs, node.op) || Has(kSaveResult, node.op) || Has(kSaveNothing, node.op));
}

// Nodes [first, last) that follow each other in one call.
struct Expression {
  int32_t first = 0, last = 0;
  bool Contains(NodeId id) const { return id.valid() && id.value() >= first && id.value() < last; }
};

// Made and read within.
bool IsInner(const Graph& graph, const Expression& all, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  return all.Contains(tensor.producer) && std::all_of(tensor.consumers.begin(), tensor.consumers.end(),
                                                      [&](NodeId reader) { return all.Contains(reader); });
}

bool IsSaved(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  return Has(kSaveResult, graph.nodes[tensor.producer].op) ||
         std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                     [&](NodeId reader) { return Has(kSaveInputs, graph.nodes[reader].op); });
}

bool MayBeFunction(const Graph& graph, const Expression& all) {
  constexpr int32_t kFewest = 4;
  const auto is_curved = [&](int32_t i) {
    const std::string_view op = graph.nodes[NodeId(i)].op;
    return Has(kSaveResult, op) || (Has(kSaveInputs, op) && !Has(kSums, op));
  };
  bool any = false;
  for (int32_t i = all.first; i < all.last; ++i) any |= is_curved(i);
  return any && all.last - all.first >= kFewest;
}

}  // namespace

int64_t BytesOfWrittenOut(const Lowered& lowered) {
  const Graph& graph = lowered.graph;
  const auto count = static_cast<int32_t>(graph.nodes.size());
  int64_t bytes = 0;
  for (Expression all; all.first < count; all.first = std::max(all.last, all.first + 1)) {
    all.last = all.first;
    const auto& calls = graph.nodes[NodeId(all.first)].calls;
    while (all.last < count && IsPart(graph.nodes[NodeId(all.last)]) && graph.nodes[NodeId(all.last)].calls == calls)
      ++all.last;
    if (!MayBeFunction(graph, all)) continue;
    for (int32_t i = all.first; i < all.last; ++i) {
      const TensorId result = graph.nodes[NodeId(i)].outputs[0];
      if (!IsInner(graph, all, result) || !IsSaved(graph, result)) continue;
      bytes += NumBytes(graph.tensors[result].shape, graph.tensors[result].dtype).value_or(0);
    }
  }
  return bytes;
}

}  // namespace onnx_mem
