// An evaluation export has lost its dropouts. --dropout P puts them back where transformers have them: on attention
// weights, on what a linear adds to the residual stream, on the sum of the embeddings. Without the option the number is
// that of P = 0, and a diagnostic says what a training run may need on top.
#include "absl/strings/str_cat.h"
#include "analyzer/lower/match.h"
#include "analyzer/lower/rewrites.h"

namespace onnx_mem {
namespace {

bool FeedsAttentionProduct(const Draft& draft, NodeId softmax) {
  return OnlyReaderIf(draft, draft.node(softmax).outputs[0], "matmul").valid();
}

// A linear whose result, perhaps after views, is added to an activation.
bool FeedsResidual(const Draft& draft, TensorId id) {
  for (int depth = 0; depth < 4; ++depth) {
    const NodeId reader = draft.OnlyReader(id);
    if (!reader.valid()) return false;
    const Node& node = draft.node(reader);
    if (node.op == "add") {
      const TensorId other = OtherOperand(node, id);
      return other.valid() && draft.producer(other).valid();
    }
    if (node.op != "reshape" && node.op != "permute") return false;
    id = node.outputs[0];
  }
  return false;
}

// The last of the sums and the norm that an embedding's rows go through; invalid if `id` is not reached from one.
bool IsEmbeddingSum(const Draft& draft, NodeId id) {
  const Node& node = draft.node(id);
  if (node.op != "add" && node.op != "layer_norm") return false;
  bool embedding = false;
  for (TensorId input : node.inputs) {
    const NodeId maker = input.valid() ? draft.producer(input) : NodeId();
    if (!maker.valid()) continue;
    if (draft.node(maker).op != "embedding" && !IsEmbeddingSum(draft, maker)) return false;
    embedding = true;
  }
  return embedding;
}

bool IsLastEmbeddingSum(const Draft& draft, NodeId id) {
  if (!IsEmbeddingSum(draft, id)) return false;
  for (NodeId reader : draft.readers(draft.node(id).outputs[0])) {
    if (IsEmbeddingSum(draft, reader)) return false;
  }
  return true;
}

void InsertAfter(Draft& draft, NodeId id, double p) {
  const Node& before = draft.node(id);
  const TensorId value = before.outputs[0];
  const Tensor& tensor = draft.tensor(value);
  const TensorId dropped = draft.NewTensor(absl::StrCat(tensor.name, "/dropout"), tensor.dtype, tensor.shape.dims);
  draft.ReplaceReaders(value, dropped);
  Node dropout = MakeNode("dropout", {value}, {dropped});
  dropout.attributes["p"] = p;
  dropout.name = absl::StrCat(before.name, "/dropout");
  dropout.module = before.module;
  dropout.calls = before.calls;
  draft.Add(std::move(dropout), draft.rank(id));
}

int64_t CountAttentions(const Draft& draft) {
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op == "sdpa" || (draft.node(id).op == "softmax" && FeedsAttentionProduct(draft, id))) ++count;
  }
  return count;
}

}  // namespace

int64_t RestoreDropout(Lowering& lowering) {
  Draft& draft = lowering.draft;
  const Run& run = lowering.run;
  if (!run.training || lowering.training_form || lowering.dropouts > 0) return 0;
  const double p = run.dropout.value_or(0.0);
  if (p <= 0.0) {
    const int64_t attentions = CountAttentions(draft);
    if (attentions == 0 || run.dropout) return 0;
    lowering.diagnostics.push_back(
        {"eval-dropout", Severity::kWarning, attentions,
         absl::StrCat(attentions, " attentions without Dropout in an evaluation export"),
         {"why: if the model trains with dropout, its masks and results are not counted: up to 30% more",
          "try: --dropout 0.1, or export the model in training mode"},
         {}});
    return 0;
  }
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    const Node& node = draft.node(id);
    if (node.op == "sdpa") {
      draft.mutable_node(id).attributes["dropout"] = p;
      ++count;
      continue;
    }
    const bool linear = node.op == "linear" || node.op == "addmm";
    if ((node.op == "softmax" && FeedsAttentionProduct(draft, id)) || (linear && FeedsResidual(draft, node.outputs[0])) ||
        IsLastEmbeddingSum(draft, id)) {
      InsertAfter(draft, id, p);
      ++count;
    }
  }
  return count;
}

}  // namespace onnx_mem
