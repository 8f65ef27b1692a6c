#include "analyzer/lower/draft/match.h"

#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"

namespace onnx_mem {

NodeId OnlyReaderIf(const Draft& draft, TensorId id, const OpLiteral& op) {
  const NodeId reader = draft.OnlyReader(id);
  return reader.valid() && draft.node(reader).op == op ? reader : NodeId();
}

TensorId OtherOperand(const AnyNode& node, TensorId one) {
  if (node.inputs.size() != 2) return TensorId();
  return node.inputs[0] == one ? node.inputs[1] : node.inputs[0];
}

std::optional<double> ScalarOf(const FrameworkNode& node) {
  auto it = node.attributes.find("scalar");
  if (it == node.attributes.end()) return std::nullopt;
  const auto* value = std::get_if<double>(&it->second);
  return value ? std::optional<double>(*value) : std::nullopt;
}

bool SameCall(const FrameworkNode& a, const FrameworkNode& b) {
  return a.calls == b.calls && a.framework_op == b.framework_op;
}

NodeId Replace(Draft& draft, const NodeIds& nodes, FrameworkNode fused, Rank rank) {
  const FrameworkNode& last = draft.node(nodes.back());
  if (fused.name.empty()) fused.name = last.name;
  fused.scope() = last.scope();
  KeepSourceTrace(last, fused);
  for (NodeId id : nodes) draft.Remove(id);
  return draft.Add(std::move(fused), rank);
}

NodeId CopyResult(Draft& draft, NodeId id) {
  const TensorId result = draft.node(id).outputs[0];
  const Tensor& tensor = draft.tensor(result);
  const TensorId copy = draft.NewTensor(absl::StrCat(tensor.name, "/contiguous"), tensor.dtype, tensor.shape.dims);
  draft.ReplaceReaders(result, copy);
  return draft.Add(MakeNodeInCallOf(draft.node(id), "contiguous", {result}, {copy}), draft.rank(id));
}

Piece ReadPiece(const Draft& draft, NodeId slice) {
  if (!slice.valid() || draft.node(slice).op != "slice") return {};
  const FrameworkNode& node = draft.node(slice);
  const auto axes = IntsAttribute(node, "axes");
  if (axes.size() != 1 || IntsAttribute(node, "steps") != std::vector<int64_t>{1}) return {};
  return {node.inputs[0], axes[0], IntsAttribute(node, "starts")[0], IntsAttribute(node, "ends")[0]};
}

FrameworkNode MakeNodeInCallOf(const FrameworkNode& of, std::string_view op, TensorIds inputs, TensorIds outputs) {
  FrameworkNode node = MakeNode(op, std::move(inputs), std::move(outputs));
  PutInCallOf(of, node);
  return node;
}

void PutInCallOf(const FrameworkNode& of, FrameworkNode& node) {
  node.name = of.name;
  node.module = of.module;
  node.calls = of.calls;
  KeepSourceTrace(of, node);
}

FrameworkNode MakeNode(std::string_view op, TensorIds inputs, TensorIds outputs) {
  FrameworkNode node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

}  // namespace onnx_mem
