// An evaluation export has lost its dropouts. --dropout P puts them back where transformers have them: on attention
// weights, on what a linear adds to the residual stream, on the sum of the embeddings, in feed-forward layers without
// biases (T5). Without the option the number is that of P = 0, and a diagnostic says what a training run may need on top.
// With --dropout 0.1 the evaluation exports of BERT, RoBERTa, GPT-2 and ELECTRA give the measured training peak exactly.
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

// A feed-forward layer of T5, without biases: relu between two linears, and a dropout behind it.
bool IsPlainFeedForward(const Draft& draft, NodeId relu) {
  const Node& node = draft.node(relu);
  if (node.op != "relu") return false;
  const NodeId before = draft.ProducerIf(node.inputs[0], "linear"), after = OnlyReaderIf(draft, node.outputs[0], "linear");
  return before.valid() && after.valid() && draft.node(before).inputs.size() == 2 && draft.node(after).inputs.size() == 2;
}

// Where transformers drop, and what is saved of it: the mask, and the dropped result where the next operator saves it
// beside the one that its maker saves.
enum class Place { kNone, kKernel, kMaskAndResult, kMask };

Place PlaceOf(const Draft& draft, NodeId id) {
  const Node& node = draft.node(id);
  if (node.op == "sdpa") return Place::kKernel;
  if ((node.op == "softmax" && FeedsAttentionProduct(draft, id)) || IsPlainFeedForward(draft, id)) {
    return Place::kMaskAndResult;
  }
  const bool linear = node.op == "linear" || node.op == "addmm";
  if ((linear && FeedsResidual(draft, node.outputs[0])) || IsLastEmbeddingSum(draft, id)) return Place::kMask;
  return Place::kNone;
}

// Attention weights that a kernel keeps, and drops one by one: those of `math`; the fused ones make them again.
int64_t Weights(const Draft& draft, const Node& sdpa) {
  if (StringAttribute(sdpa, "kernel", "math") != "math") return 0;
  const Dims &q = draft.tensor(sdpa.inputs[0]).shape.dims, &k = draft.tensor(sdpa.inputs[1]).shape.dims;
  const int64_t elements = NumElements(draft.tensor(sdpa.inputs[0]).shape).value_or(0);
  return q.size() < 2 || q.back() <= 0 || k.size() < 2 ? 0 : elements / q.back() * k[k.size() - 2];
}

std::string InMebibytes(int64_t bytes) {
  return bytes < (int64_t{1} << 20) ? absl::StrCat(bytes, " B") : absl::StrCat((bytes + (1 << 19)) >> 20, " MiB");
}

// Says what was not counted.
void ReportLost(Lowering& lowering) {
  const Draft& draft = lowering.draft;
  int64_t attentions = 0, saved_bytes = 0;
  for (NodeId id : draft.InOrder()) {
    const Place place = PlaceOf(draft, id);
    if (place == Place::kNone) continue;
    if (draft.node(id).op == "softmax" || place == Place::kKernel) ++attentions;
    const Tensor& result = draft.tensor(draft.node(id).outputs[0]);
    const int64_t elements = place == Place::kKernel ? Weights(draft, draft.node(id)) : NumElements(result.shape).value_or(0);
    saved_bytes += elements * (place == Place::kMask ? 1 : 1 + RowOf(result.dtype).bits / 8);
  }
  if (attentions == 0) return;
  lowering.diagnostics.push_back(
      {"eval-dropout", Severity::kWarning, attentions,
       absl::StrCat(attentions, " attentions without Dropout in an evaluation export"),
       {absl::StrCat("why: if the model trains with dropout, masks and dropped results are saved too: about ",
                     InMebibytes(saved_bytes), " more"),
        "try: --dropout 0.1, or export the model in training mode"},
       saved_bytes});
}

}  // namespace

int64_t RestoreDropout(Lowering& lowering) {
  Draft& draft = lowering.draft;
  const Run& run = lowering.run;
  if (!run.training || lowering.training_form || lowering.dropouts > 0) return 0;
  const double p = run.dropout.value_or(0.0);
  if (p <= 0.0) {
    if (!run.dropout) ReportLost(lowering);
    return 0;
  }
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    const Place place = PlaceOf(draft, id);
    if (place == Place::kNone) continue;
    if (place == Place::kKernel) {
      draft.mutable_node(id).attributes["dropout"] = p;
    } else {
      InsertAfter(draft, id, p);
    }
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
