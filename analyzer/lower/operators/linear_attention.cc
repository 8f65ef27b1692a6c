// LinearAttention: the recurrence token by token, as the operator's definition and the plain code of such models
// (Gated DeltaNet, RetNet) run it. A kernel that works in chunks keeps less.
//
//   S = exp(g) * S                      gated
//   S = S + k (beta * (v - S^T k))^T    delta;  S + k v^T otherwise
//   o = scale * q^T S                   heads of a group share S
#include <string>
#include <vector>

#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMostTokens = 4096;

struct RecurrenceSizes {
  int64_t batch, tokens, heads, kv_heads, key, value;
};

class Recurrence {
 public:
  Recurrence(Site& site, const RecurrenceSizes& n) : s_(site), n_(n), type_(site.InType(0)) {
    const std::string rule = s_.String("update_rule", "gated_delta");
    gated_ = rule.starts_with("gated") && s_.Has(4);
    delta_ = rule.ends_with("delta") && s_.Has(5);
  }

  void Run() {
    q_ = Tokens(0, n_.heads);
    k_ = Tokens(1, n_.kv_heads);
    v_ = Tokens(2, n_.kv_heads);
    if (gated_) decay_ = Tokens(4, n_.kv_heads);
    if (delta_) beta_ = Tokens(5, n_.kv_heads);
    const Dims state_dims = {n_.batch, n_.kv_heads, n_.key, n_.value};
    TensorId state = s_.Has(3) ? s_.Materialized(3) : s_.EmitTemp("full", {}, state_dims, type_);
    TensorIds read;
    for (size_t t = 0; t < q_.size(); ++t) {
      state = Updated(state, state_dims, t);
      read.push_back(Read(state, t));
    }
    const Dims joined = {n_.batch, n_.tokens, n_.heads, n_.value};
    s_.Emit("reshape", {s_.EmitTemp("stack", read, joined, type_, {{"axis", int64_t{1}}})}, {s_.Out(0)});
    if (s_.OutUsed(1)) s_.Alias(1, state);
  }

 private:
  // Input `slot` [batch, tokens, heads * size] as one [batch, heads, size] view per token.
  TensorIds Tokens(size_t slot, int64_t heads) {
    const int64_t width = s_.InDim(slot, 2);
    const Dims dims = {n_.batch, n_.tokens, heads, heads > 0 && width % heads == 0 ? width / heads : 1};
    const TensorId by_head = s_.EmitTemp("reshape", {s_.Materialized(slot)}, dims, s_.InType(slot));
    TensorIds pieces;
    for (int64_t t = 0; t < n_.tokens; ++t) pieces.push_back(s_.Temp({dims[0], dims[2], dims[3]}, s_.InType(slot)));
    s_.Emit("unbind", {by_head}, pieces, {{"axis", int64_t{1}}});
    return pieces;
  }

  TensorId Unsqueezed(TensorId x, size_t axis) {
    Dims dims = s_.draft().tensor(x).shape.dims;
    dims.insert(dims.begin() + static_cast<int64_t>(axis), 1);
    return s_.EmitTemp("unsqueeze", {x}, dims, type_, {{"axes", std::vector<int64_t>{static_cast<int64_t>(axis)}}});
  }

  TensorId Updated(TensorId state, const Dims& dims, size_t t) {
    if (gated_) {
      const Dims decay_dims = s_.draft().tensor(decay_[t]).shape.dims;
      const TensorId factor = Unsqueezed(s_.EmitTemp("exp", {decay_[t]}, decay_dims, type_), 3);
      state = s_.EmitTemp("mul", {state, factor}, dims, type_);
    }
    const TensorId column = Unsqueezed(k_[t], 3);
    TensorId written = v_[t];
    if (delta_) {
      const Dims transposed = {dims[0], dims[1], dims[3], dims[2]}, row = {dims[0], dims[1], dims[3]};
      const TensorId flipped =
          s_.EmitTemp("permute", {state}, transposed, type_, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
      const TensorId product = s_.EmitTemp("matmul", {flipped, column}, {dims[0], dims[1], dims[3], 1}, type_);
      const TensorId found = s_.EmitTemp("squeeze", {product}, row, type_);
      const TensorId missing = s_.EmitTemp("sub", {v_[t], found}, row, type_);
      written = s_.EmitTemp("mul", {beta_[t], missing}, row, type_);
    }
    const TensorId outer = s_.EmitTemp("matmul", {column, Unsqueezed(written, 2)}, dims, type_);
    return s_.EmitTemp("add", {state, outer}, dims, type_);
  }

  TensorId Read(TensorId state, size_t t) {
    const int64_t group = n_.heads / n_.kv_heads;
    if (group > 1) {
      const Dims shared = {n_.batch, n_.kv_heads, group, n_.key, n_.value};
      const TensorId expanded = s_.EmitTemp("expand", {Unsqueezed(state, 2)}, shared, type_);
      state = s_.EmitTemp("reshape", {expanded}, {n_.batch, n_.heads, n_.key, n_.value}, type_);
    }
    const TensorId row = s_.EmitTemp("matmul", {Unsqueezed(q_[t], 2), state}, {n_.batch, n_.heads, 1, n_.value}, type_);
    const Dims dims = {n_.batch, n_.heads, n_.value};
    const TensorId flat = s_.EmitTemp("squeeze", {row}, dims, type_);
    return s_.EmitTemp("mul_scalar", {flat}, dims, type_, {{"scalar", s_.Float("scale", 1.0)}});
  }

  Site& s_;
  RecurrenceSizes n_;
  DType type_;
  bool gated_ = false, delta_ = false;
  TensorIds q_, k_, v_, decay_, beta_;
};

}  // namespace

// query, key, value, past_state?, decay?, beta?.
void LowerLinearAttention(Site& s) {
  for (size_t slot : {0, 1, 2}) {
    if (s.InRank(slot) != 3 || !s.InShape(slot).known()) return s.Assume();
  }
  const Dims q = s.InShape(0).dims;
  const int64_t heads = s.Int("q_num_heads", 1), kv_heads = s.Int("kv_num_heads", heads);
  if (heads <= 0 || kv_heads <= 0 || heads % kv_heads != 0 || q[1] <= 0 || q[1] > kMostTokens) return s.Assume();
  Recurrence(s, {q[0], q[1], heads, kv_heads, q[2] / heads, s.InDim(2, 2) / kv_heads}).Run();
}

}  // namespace onnx_mem
