// If, Loop and Scan: one opaque step whose workspace is the peak of its largest body, run once.
#include <algorithm>

#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

int64_t Bytes(const Tensor& tensor) { return NumBytes(tensor.shape, tensor.dtype).value_or(0); }

// Peak of a body's own tensors when each lives from its node to its last reader. Bodies inside count at their place.
int64_t BodyPeakBytes(const Graph& body) {
  std::vector<int64_t> freed_after(body.nodes.size() + 1, 0);
  for (const Tensor& tensor : body.tensors) {
    if (!tensor.producer.valid() || tensor.value != nullptr) continue;
    const NodeId last = tensor.consumers.empty() ? tensor.producer : tensor.consumers.back();
    freed_after[static_cast<size_t>(last.value())] += Bytes(tensor);
  }
  for (TensorId id : body.outputs) {
    const Tensor& tensor = body.tensors[id];
    if (!tensor.producer.valid() || tensor.value != nullptr) continue;
    const NodeId last = tensor.consumers.empty() ? tensor.producer : tensor.consumers.back();
    freed_after[static_cast<size_t>(last.value())] -= Bytes(tensor);
  }
  int64_t live = 0, peak = 0;
  for (NodeId id(0); body.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const Node& node = body.nodes[id];
    for (TensorId output : node.outputs) {
      if (output.valid() && body.tensors[output].value == nullptr) live += Bytes(body.tensors[output]);
    }
    int64_t inner = 0;
    for (const auto& graph : node.subgraphs) inner = std::max(inner, BodyPeakBytes(*graph));
    peak = std::max(peak, live + inner);
    live -= freed_after[static_cast<size_t>(id.value())];
  }
  return peak;
}

// nn.EmbeddingBag, which the TorchScript exporter writes as a loop over the bags: rows of a stored table are looked up
// by a slice of the indices, and reduced.
bool LowerEmbeddingBag(Site& s) {
  if (s.node().subgraphs.size() != 1 || s.num_outputs() != 1 || s.OutShape().rank() != 2) return false;
  const Graph& body = *s.node().subgraphs[0];
  std::string mode;
  bool looks_up = false;
  for (const Node& node : body.nodes) {
    if (node.op == "ReduceSum") mode = "sum";
    if (node.op == "ReduceMean") mode = "mean";
    if (node.op == "ReduceMax") mode = "max";
    looks_up |= node.op == "Gather" && body.tensors[node.inputs[0]].shape.rank() == 2;
  }
  TensorId table, indices;
  for (TensorId capture : s.node().captures) {
    const Tensor& tensor = s.source().tensors[capture];
    if (tensor.role == TensorRole::kInitializer && IsFloating(tensor.dtype) && tensor.shape.rank() == 2)
      table = capture;
    const bool listed =
        tensor.dtype == DType::kInt64 && tensor.shape.rank() == 1 && s.lowering().residence.from_data[capture];
    if (listed) indices = capture;
  }
  if (mode.empty() || !looks_up || !table.valid() || !indices.valid()) return false;
  if (s.source().tensors[table].shape.dims[1] != s.OutDim(0, 1)) return false;
  s.Emit("embedding_bag", {s.draft().Resolve(table), s.draft().Resolve(indices)}, {s.Out(0)}, {{"mode", mode}});
  return true;
}

}  // namespace

void LowerControlFlow(Site& s) {
  if (LowerEmbeddingBag(s)) return;
  int64_t workspace = 0;
  for (const auto& body : s.node().subgraphs) workspace = std::max(workspace, BodyPeakBytes(*body));
  TensorIds inputs;
  for (size_t i = 0; i < s.num_inputs(); ++i) {
    if (const TensorId input = s.In(i); input.valid()) inputs.push_back(input);
  }
  for (TensorId capture : s.node().captures) {
    if (!s.lowering().residence.number[capture]) inputs.push_back(s.draft().Resolve(capture));
  }
  s.Emit("opaque", std::move(inputs), s.node().outputs,
         {{"workspace_bytes", workspace}, {"onnx_op", s.node().op.str()}});
  ++s.lowering().data_dependent;
}

}  // namespace onnx_mem
