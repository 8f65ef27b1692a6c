// Normalisations that exporters spell out because the opset lacks them.
//
//   GroupNorm   reshape to [N, groups, rest] -> instance_norm without weights -> reshape back -> [* weight] -> [+ bias]
//   LayerNorm   (opset < 17) x - mean -> / sqrt(mean of squares + eps) -> * weight -> + bias, when the module's own
//               calls are just these and its weights are called weight and bias, as in nn.LayerNorm. From opset 17 on
//               exporters write LayerNormalization, and what is spelled out was written so (DeBERTa's LayerNorm).
//
// RMSNorm written out stays: models of this kind really compute it operator by operator.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/lower/draft/patterns.h"
#include "analyzer/lower/operators/site.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

using Match = Expression::Match;

constexpr int kLayerNormalizationOpset = 17;

// The stored vector behind views of it ([C] as [C, 1, 1]); invalid if something else is behind.
TensorId StoredBehindViews(const Draft& draft, TensorId id) {
  for (int depth = 0; depth < 4 && id.valid(); ++depth) {
    const NodeId maker = draft.producer(id);
    if (!maker.valid()) return draft.kind(id) == TensorKind::kInput ? TensorId() : id;
    const OpName op = draft.node(maker).op;
    if (!IsWholeView(op)) return TensorId();
    id = draft.node(maker).inputs[0];
  }
  return TensorId();
}

// Scale and shift, all operands of `fused` but the first, become the stored vectors of `elements` that they are.
bool TakeStored(const Draft& draft, int64_t elements, FrameworkNode& fused) {
  for (size_t i = 1; i < fused.inputs.size(); ++i) {
    fused.inputs[i] = StoredBehindViews(draft, fused.inputs[i]);
    if (!fused.inputs[i].valid() || NumElements(draft.tensor(fused.inputs[i]).shape) != elements) return false;
  }
  return true;
}

bool IsGroupNorm(const Draft& draft, const Match& match, FrameworkNode& fused) {
  const Shape& shape = draft.tensor(match.tensors.at('x')).shape;
  const Shape& groups = draft.tensor(draft.node(match.named.at('N')).inputs[0]).shape;
  const Shape& result = draft.tensor(draft.node(match.named.at('J')).outputs[0]).shape;
  if (shape.rank() < 2 || groups.rank() < 2 || result != shape) return false;
  fused.attributes["groups"] = groups.dims[1];
  return TakeStored(draft, shape.dims[1], fused);
}

bool HasModules(const Draft& draft) {
  const NodeIds nodes = draft.InOrder();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return !draft.node(id).module.empty(); });
}

// The weight of the module that `norm` runs in, as far as names tell: where a tool took them, the range has both.
bool IsScaleOf(const Draft& draft, const FrameworkNode& norm, TensorId scale) {
  const std::string& name = draft.tensor(scale).name;
  if (!norm.module.empty()) return draft.has_opaque_names() || name == absl::StrCat(norm.module, ".weight");
  return !HasModules(draft) && (draft.has_opaque_names() || absl::EndsWith(name, ".weight"));
}

bool IsLayerNorm(const Draft& draft, const Match& match, FrameworkNode& fused) {
  const FrameworkNode& root = draft.node(match.nodes.back());
  const Dims& dims = draft.tensor(match.tensors.at('x')).shape.dims;
  const auto axes = IntsAttribute(draft.node(match.named.at('M')), "axes");
  if (axes.empty() || axes.front() < 0 || axes.back() + 1 != static_cast<int64_t>(dims.size())) return false;
  const auto elements = NumElements(Shape(Dims(dims.begin() + axes.front(), dims.end())));
  fused.attributes["axis"] = axes.front();
  return TakeStored(draft, elements.value_or(-1), fused) && IsScaleOf(draft, root, fused.inputs[1]);
}

constexpr Pattern kGroupNorm[] = {
    {"add(mul(J:reshape(N:instance_norm(reshape(x))),w),b)", "group_norm(x,w,b)", IsGroupNorm},
    {"mul(J:reshape(N:instance_norm(reshape(x))),w)", "group_norm(x,w)", IsGroupNorm},
    {"J:reshape(N:instance_norm(reshape(x)))", "group_norm(x)", IsGroupNorm},
};

constexpr Pattern kLayerNorm[] = {
    {"add(mul(div(C:sub(x,M:mean{axes=$a}(x)),sqrt(add_scalar(mean{axes=$a}(pow_scalar(C))))),w),b)",
     "layer_norm(x,w,b)", IsLayerNorm},
    {"mul(div(C:sub(x,M:mean{axes=$a}(x)),sqrt(add_scalar(mean{axes=$a}(pow_scalar(C))))),w)", "layer_norm(x,w)",
     IsLayerNorm},
};

}  // namespace

int64_t FuseGroupNorm(Lowering& lowering) {
  static const auto& patterns = *new Patterns(kGroupNorm);
  return static_cast<int64_t>(patterns.Fuse(lowering.draft).size());
}

int64_t FuseLayerNorm(Lowering& lowering) {
  if (lowering.source.opset >= kLayerNormalizationOpset) return 0;
  static const auto& patterns = *new Patterns(kLayerNorm);
  return static_cast<int64_t>(patterns.Fuse(lowering.draft).size());
}

}  // namespace onnx_mem
