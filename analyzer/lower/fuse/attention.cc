// scaled_dot_product_attention, which every exporter spells out. What tells it from attention written by hand: q and k
// are both multiplied by the square root of the scale before their product.
//
//   q * s, k^T * s -> matmul -> [+ mask] -> softmax -> [nan to 0] -> [dropout] -> matmul with v
//
// A bool mask shows as where(mask, 0, -inf); a causal call shows as a mask made of nothing but a triangle of ones.
// Source: torch/onnx/_internal (symbolic_opset14.scaled_dot_product_attention), onnxscript aten_scaled_dot_product...
#include <algorithm>
#include <iterator>
#include <numeric>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/draft/traced_mask.h"
#include "analyzer/lower/operators/attention_kernel.h"
#include "analyzer/lower/operators/site.h"
#include "analyzer/ops/ops.h"
#include "analyzer/ops/query_groups.h"

namespace onnx_mem {
namespace {

struct AttentionMatch {
  NodeIds nodes;  // the last one makes the result
  TensorId q, scaled_k, v, mask;
  double scale = 1.0, dropout = 0.0;
  bool causal = false;
  bool lost_mask = false;  // there is none where nobody traces
};

bool SameModule(const Draft& draft, NodeId a, NodeId b) { return SameCall(draft.node(a), draft.node(b)); }

// The argument of a mul_scalar in the call of `near`, which it multiplies onto the scale; invalid if there is none.
TensorId Unscaled(const Draft& draft, TensorId id, NodeId near, AttentionMatch& match) {
  const NodeId scale = draft.ProducerIf(id, "mul_scalar");
  if (!scale.valid() || draft.readers(id).size() != 1 || !SameModule(draft, scale, near)) return TensorId();
  match.scale *= ScalarOf(draft.node(scale)).value_or(1.0);
  match.nodes.push_back(scale);
  return draft.node(scale).inputs[0];
}

bool NamesAttention(const FrameworkNode& node) {
  return absl::StartsWith(node.framework_op, "scaled_dot_product_attention#");
}

bool MatchScores(const Draft& draft, TensorId scores, NodeId near, AttentionMatch& match) {
  const NodeId product = draft.ProducerIf(scores, "matmul");
  if (!product.valid() || draft.readers(scores).size() != 1 || !SameModule(draft, product, near)) return false;
  match.nodes.push_back(product);
  const TensorIds operands = draft.node(product).inputs;
  match.q = Unscaled(draft, operands[0], near, match);
  match.scaled_k = Unscaled(draft, operands[1], near, match);
  if (match.q.valid() && match.scaled_k.valid()) return true;
  // A scale of 1 leaves no products; a file that names the call needs none.
  if (match.q.valid() || match.scaled_k.valid() || !NamesAttention(draft.node(near))) return false;
  match.q = operands[0];
  match.scaled_k = operands[1];
  return true;
}

// True if nothing but numbers made `id`, with a triangle on the way. Collects its makers.
bool IsTriangle(const Draft& draft, TensorId id, int depth, bool& triangle) {
  const NodeId maker = draft.producer(id);
  if (!maker.valid() || depth > 12) return false;
  const FrameworkNode& node = draft.node(maker);
  if (node.op == "tril" || node.op == "triu") triangle = true;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](TensorId input) { return !input.valid() || IsTriangle(draft, input, depth + 1, triangle); });
}

// True if `where` is a part of the attention that `near` belongs to, or of the one whose result dynamo's optimizer lets
// all layers share.
bool MadeByAttention(const Draft& draft, NodeId where, NodeId near) {
  return SameModule(draft, where, near) || (NamesAttention(draft.node(where)) && NamesAttention(draft.node(near)));
}

// Scores with or without a mask; fills in the mask as the framework got it.
bool MatchMaskedScores(const Draft& draft, TensorId scores, NodeId near, AttentionMatch& match) {
  const NodeId sum = draft.ProducerIf(scores, "add");
  if (!sum.valid()) return MatchScores(draft, scores, near, match);
  if (draft.readers(scores).size() != 1 || !SameModule(draft, sum, near)) return false;
  for (TensorId operand : draft.node(sum).inputs) {
    AttentionMatch with_mask = match;
    with_mask.nodes.push_back(sum);
    if (!MatchScores(draft, operand, near, with_mask)) continue;
    TensorId mask = OtherOperand(draft.node(sum), operand);
    bool triangle = false;
    const NodeId where = draft.ProducerIf(mask, "where");
    const bool made_here = where.valid() && MadeByAttention(draft, where, near);
    if (made_here && IsTriangle(draft, mask, 0, triangle) && triangle) {
      with_mask.causal = true;
      mask = TensorId();
    } else if (made_here && !draft.node(where).inputs[1].valid() && !draft.node(where).inputs[2].valid()) {
      mask = draft.node(where).inputs[0];
    }
    if (const TracedMask traced = mask.valid() ? FindTracedMask(draft, mask) : TracedMask::kNone;
        traced != TracedMask::kNone) {
      with_mask.causal = traced == TracedMask::kCausal;
      with_mask.lost_mask = true;
      mask = TensorId();
    }
    with_mask.mask = mask;
    match = std::move(with_mask);
    return true;
  }
  return false;
}

// where(isnan(p), 0, p) of p = softmax: rows that are masked away. Gives its result, or p.
TensorId AfterNanGuard(const Draft& draft, TensorId p, AttentionMatch& match) {
  const NodeIds& readers = draft.readers(p);
  if (readers.size() != 2) return p;
  for (size_t i = 0; i < 2; ++i) {
    const FrameworkNode &isnan = draft.node(readers[i]), &where = draft.node(readers[1 - i]);
    if (isnan.op != "isnan" || where.op != "where" || where.inputs[0] != isnan.outputs[0]) continue;
    match.nodes.insert(match.nodes.end(), {readers[i], readers[1 - i]});
    return where.outputs[0];
  }
  return p;
}

bool MatchAttention(const Draft& draft, NodeId softmax, AttentionMatch& match) {
  const FrameworkNode& node = draft.node(softmax);
  const auto rank = static_cast<int64_t>(draft.tensor(node.outputs[0]).shape.rank());
  if (IntAttribute(node, "axis", -1) != rank - 1) return false;
  if (!MatchMaskedScores(draft, node.inputs[0], softmax, match)) return false;
  match.nodes.push_back(softmax);
  TensorId p = AfterNanGuard(draft, node.outputs[0], match);
  if (const NodeId dropout = OnlyReaderIf(draft, p, "dropout"); dropout.valid()) {
    if (!SameModule(draft, dropout, softmax)) return false;
    match.dropout = FloatAttribute(draft.node(dropout), "p", 0.0);
    match.nodes.push_back(dropout);
    p = draft.node(dropout).outputs[0];
  }
  const NodeId product = OnlyReaderIf(draft, p, "matmul");
  if (!product.valid() || draft.node(product).inputs[0] != p || !SameModule(draft, product, softmax)) return false;
  match.v = draft.node(product).inputs[1];
  match.nodes.push_back(product);
  const TensorId operands[] = {match.q, match.scaled_k, match.v};
  return std::all_of(std::begin(operands), std::end(operands),
                     [&](TensorId operand) { return draft.tensor(operand).shape.rank() >= 2; });
}

// The view that made `id` in the operator's own call: heads parted, transposed or repeated. Null if none did.
const FrameworkNode* OwnView(const Draft& draft, TensorId id, const FrameworkNode& near) {
  const NodeId maker = draft.producer(id);
  if (!maker.valid() || near.framework_op.empty()) return nullptr;
  const FrameworkNode& node = draft.node(maker);
  const bool views = IsWholeView(node.op) || node.op == "expand";
  return views && node.framework_op == near.framework_op ? &node : nullptr;
}

// Adds a view of `id` to the call of `last`.
TensorId AddView(Draft& draft, FrameworkNode view, TensorId id, std::string_view suffix, Dims dims,
                 const FrameworkNode& last, Rank rank) {
  const Tensor& viewed = draft.tensor(id);
  view.outputs = {draft.NewTensor(absl::StrCat(viewed.name, View(suffix)), viewed.dtype, std::move(dims))};
  PutInCallOf(last, view);
  const TensorId result = view.outputs[0];
  draft.Add(std::move(view), rank);
  return result;
}

// k from k^T: through the views that belong to the same operator call, then a transpose of the last two dims undone,
// which exporters merge with the model's own permute.
TensorId Untransposed(Draft& draft, TensorId id, NodeId near, Rank rank) {
  const FrameworkNode& last = draft.node(near);
  bool transposed = true;
  while (const FrameworkNode* view = OwnView(draft, id, last)) {
    if (view->op == "permute") transposed = !transposed;
    id = view->inputs[0];
  }
  if (!transposed) return id;
  const size_t dims = draft.tensor(id).shape.rank();
  if (dims < 2) return id;
  std::vector<int64_t> perm(dims);
  std::iota(perm.begin(), perm.end(), 0);
  const NodeId permute = draft.ProducerIf(id, "permute");
  if (permute.valid()) perm = IntsAttribute(draft.node(permute), "perm");
  const TensorId base = permute.valid() ? draft.node(permute).inputs[0] : id;
  std::swap(perm[dims - 1], perm[dims - 2]);
  if (std::is_sorted(perm.begin(), perm.end())) return base;
  Dims shape;
  for (int64_t axis : perm) shape.push_back(draft.tensor(base).shape.dims[static_cast<size_t>(axis)]);
  FrameworkNode node = MakeNode("permute", {base}, {});
  node.attributes["perm"] = perm;
  return AddView(draft, std::move(node), id, "/k", shape, last, rank);
}

// k with as many dimensions as q has: where dynamo's optimizer merged the reshape that parts batch and heads with the
// transpose, the tensor before it has fewer.
TensorId WithHeads(Draft& draft, TensorId k, TensorId scaled_k, NodeId near, Rank rank) {
  Dims dims = draft.tensor(scaled_k).shape.dims;
  if (draft.tensor(k).shape.rank() == dims.size()) return k;
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  const bool same_elements = NumElements(draft.tensor(k).shape) == NumElements(Shape(dims));
  FrameworkNode view = MakeNode(same_elements ? "reshape" : "permute", {same_elements ? k : scaled_k}, {});
  if (!same_elements) {
    std::vector<int64_t> perm(dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[dims.size() - 1], perm[dims.size() - 2]);
    view.attributes["perm"] = std::move(perm);
  }
  return AddView(draft, std::move(view), k, "/heads", std::move(dims), draft.node(near), rank);
}

// The tensor before the views (repeated heads) that belong to the operator's own call.
TensorId BeforeOwnViews(const Draft& draft, TensorId id, NodeId near) {
  while (const FrameworkNode* view = OwnView(draft, id, draft.node(near))) id = view->inputs[0];
  return id;
}

// The heads that k[:, :, None].expand(b, heads, groups, t, d).reshape(b, heads * groups, t, d) repeats, or `id`.
TensorId BeforeRepeatedHeads(const Draft& draft, TensorId id) {
  const NodeId reshape = draft.ProducerIf(id, "reshape");
  const NodeId expand = reshape.valid() ? draft.ProducerIf(draft.node(reshape).inputs[0], "expand") : NodeId();
  const NodeId unsqueeze = expand.valid() ? draft.ProducerIf(draft.node(expand).inputs[0], "unsqueeze") : NodeId();
  if (!unsqueeze.valid()) return id;
  const TensorId from = draft.node(unsqueeze).inputs[0];
  const Dims &heads = draft.tensor(from).shape.dims, &repeated = draft.tensor(id).shape.dims;
  const bool repeats = heads.size() == 4 && repeated.size() == 4 && heads[1] > 0 && repeated[1] % heads[1] == 0 &&
                       heads[0] == repeated[0] && heads[2] == repeated[2] && heads[3] == repeated[3];
  return repeats ? from : id;
}

// Code that repeats the heads of keys and values for a mask hands them on as they are where there is none, and the mask
// is there while it is traced alone (transformers/integrations/sdpa_attention.py, use_gqa_in_sdpa).
bool TakesGroups(const Draft& draft, const AttentionMatch& match, TensorId k, TensorId v) {
  constexpr int64_t kWidestHead = 256;
  const Dims &k_dims = draft.tensor(k).shape.dims, &v_dims = draft.tensor(v).shape.dims;
  return match.lost_mask && k_dims == v_dims && k_dims.size() == 4 && k_dims[3] <= kWidestHead;
}

// F.scaled_dot_product_attention(q, k, v, mask, 0.1): exporters write no Dropout, of which the program's call tells.
double DropoutOfCall(const Lowering& lowering, Rank rank) {
  constexpr size_t kPlace = 4;
  constexpr std::string_view kKeyword = "dropout_p";
  const FxCall call = FxCallOf(lowering.source.nodes[NodeId(rank.source)]);
  if (!absl::StartsWith(call.target, "aten.scaled_dot_product_attention")) return 0.0;
  std::string_view text;
  if (call.args.size() > kPlace) text = call.args[kPlace];
  for (const std::string& keyword : call.kwargs) {
    const size_t equals = keyword.find_first_of(":=");
    if (!keyword.starts_with(kKeyword) || equals == std::string::npos) continue;
    text = std::string_view(keyword).substr(equals + 1);
  }
  double p = 0.0;
  return absl::SimpleAtod(absl::string_view(text.data(), text.size()), &p) && p > 0.0 && p < 1.0 ? p : 0.0;
}

}  // namespace

int64_t FuseAttention(Lowering& lowering) {
  if (lowering.run.attention == AttentionKernel::kEager) return 0;
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (!draft.alive(id) || draft.node(id).op != "softmax") continue;
    AttentionMatch match;
    if (!MatchAttention(draft, id, match)) continue;
    const NodeId last = match.nodes.back();
    const Rank rank = draft.rank(last);
    TensorId k = WithHeads(draft, Untransposed(draft, match.scaled_k, last, rank), match.scaled_k, last, rank);
    TensorId v = BeforeOwnViews(draft, match.v, last);
    if (draft.tensor(v).shape.rank() != draft.tensor(match.v).shape.rank()) v = match.v;
    if (const TensorId k_heads = BeforeRepeatedHeads(draft, k), v_heads = BeforeRepeatedHeads(draft, v);
        TakesGroups(draft, match, k_heads, v_heads)) {
      k = k_heads;
      v = v_heads;
    }
    FrameworkNode sdpa = MakeNode("sdpa", {match.q, k, v}, draft.node(last).outputs);
    if (match.mask.valid()) sdpa.inputs.push_back(match.mask);
    const DType dtype = draft.tensor(match.q).dtype;
    sdpa.attributes["kernel"] = ChooseAttentionKernel(lowering.run, dtype, match.mask.valid());
    sdpa.attributes["made_dense"] = MakesRowsDense(lowering.run);
    sdpa.attributes["causal"] = static_cast<int64_t>(match.causal);
    sdpa.attributes["scale"] = match.scale;
    sdpa.attributes["dropout"] = match.dropout > 0.0 ? match.dropout : DropoutOfCall(lowering, rank);
    sdpa.attributes["gqa_groups"] = QueryGroups(draft.tensor(match.q).shape.dims, draft.tensor(k).shape.dims);
    Replace(draft, match.nodes, std::move(sdpa), rank);
    ++count;
  }
  if (count > 0) draft.RemoveUnread();
  return count;
}

}  // namespace onnx_mem
