#include "analyzer/assume/choices/written_out.h"

#include <algorithm>
#include <string_view>

#include "analyzer/graph/shape.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

bool IsPart(const FrameworkNode& node) {
  return node.framework_op.empty() &&
         (IsArithmetic(node.op) || IsCurve(node.op) || node.op == "mean" || node.op == "sum");
}

// Nodes [first, last) that follow each other in one call.
struct SpelledOutRun {
  int32_t first = 0, last = 0;
  bool Contains(NodeId id) const { return id.valid() && id.value() >= first && id.value() < last; }
};

// Made and read within.
bool IsInner(const FrameworkGraph& graph, const SpelledOutRun& all, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  return all.Contains(tensor.producer) && std::all_of(tensor.consumers.begin(), tensor.consumers.end(),
                                                      [&](NodeId reader) { return all.Contains(reader); });
}

// A power saves both, its result for the gradient of an exponent that is trained.
bool IsSaved(const FrameworkGraph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  const OpFacts& maker = graph.nodes[tensor.producer].op;
  return (SavesResult(maker) && !SavesInput(maker)) ||
         std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                     [&](NodeId reader) { return SavesInput(graph.nodes[reader].op); });
}

bool MayBeFunction(const FrameworkGraph& graph, const SpelledOutRun& all) {
  constexpr int32_t kFewest = 4;
  bool any = false;
  for (int32_t i = all.first; i < all.last; ++i) any |= IsCurve(graph.nodes[NodeId(i)].op);
  return any && all.last - all.first >= kFewest;
}

}  // namespace

int64_t BytesOfWrittenOut(const Lowered& lowered) {
  const FrameworkGraph& graph = lowered.graph;
  const auto count = static_cast<int32_t>(graph.nodes.size());
  int64_t bytes = 0;
  for (SpelledOutRun all; all.first < count; all.first = std::max(all.last, all.first + 1)) {
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
