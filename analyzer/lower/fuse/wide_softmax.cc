// Attention weights that are computed in float32 and cast back to the queries' type,
//
//   weights = softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
//
// which a float32 file cannot show: both conversions give the tensor itself there. In half precision they make the
// weights in float32 and a copy. Source: transformers' eager_attention_forward, which scales the product: of 347
// models, 186 of 194 that repeat keys and values for groups of queries (and with them all that rotate both) write it
// so; models of text with learned positions do not (bert, bart, gpt2).
#include <algorithm>
#include <string_view>

#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

constexpr int kMostSteps = 8;

// where(mask, scores, -inf) or where(mask, -inf, scores), whose number is no tensor or a stored one: the scores.
TensorId MaskedScores(const Draft& draft, const FrameworkNode& where) {
  for (size_t i = where.inputs.size(); i-- > 1;) {
    if (draft.producer(where.inputs[i]).valid()) return where.inputs[i];
  }
  return TensorId();
}

// matmul -> scaled -> (sums with masks and biases) -> softmax, all in one function. The product; invalid for others.
NodeId ScaledProduct(const Draft& draft, const FrameworkNode& softmax) {
  TensorId id = softmax.inputs[0];
  bool scaled = false;
  for (int step = 0; step < kMostSteps; ++step) {
    const NodeId maker = draft.producer(id);
    if (!maker.valid() || draft.node(maker).calls != softmax.calls) return NodeId();
    const FrameworkNode& node = draft.node(maker);
    if (node.op == "matmul") return scaled ? maker : NodeId();
    if (!TakesMask(node.op) && !IsScaling(node.op) && node.op != "reshape") return NodeId();
    scaled |= IsScaling(node.op);
    id = node.op == "where" ? MaskedScores(draft, node) : node.inputs[0];
  }
  return NodeId();
}

// k * cos + rotate_half(k) * sin, or keys repeated for groups of queries.
bool IsRotatedOrRepeated(const Draft& draft, TensorId id) {
  for (int step = 0; step < kMostSteps; ++step) {
    const NodeId maker = draft.producer(id);
    if (!maker.valid()) return false;
    const FrameworkNode& node = draft.node(maker);
    if (node.op == "expand") return true;
    if (node.op == "add") {
      return std::all_of(node.inputs.begin(), node.inputs.end(),
                         [&](TensorId term) { return draft.ProducerIf(term, "mul").valid(); });
    }
    if (!IsWholeView(node.op) && !IsCopy(node.op) && node.op != "cat") return false;
    id = node.inputs[node.op == "cat" ? node.inputs.size() - 1 : 0];
  }
  return false;
}

bool IsHalfType(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

}  // namespace

int64_t WidenSoftmax(Lowering& lowering) {
  const Run& run = lowering.run;
  if (!run.autocast && !(run.dtype && IsHalfType(*run.dtype))) return 0;
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
    if (node.op != "softmax") continue;
    const NodeId product = ScaledProduct(draft, node);
    if (!product.valid()) continue;
    if (!IsRotatedOrRepeated(draft, draft.node(product).inputs[1])) continue;
    const auto& readers = draft.readers(node.outputs[0]);
    const bool in_function = std::all_of(readers.begin(), readers.end(),
                                         [&](NodeId reader) { return draft.node(reader).calls == node.calls; });
    if (!in_function || readers.empty()) continue;
    draft.mutable_node(id).attributes["cast_back"] = int64_t{1};
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
