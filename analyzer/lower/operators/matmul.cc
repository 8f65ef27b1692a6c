// Matrix products. The framework's Linear, matmul and addmm save the same tensors but make them differently: which one
// ran is read from where the weight comes from and how it lies.
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

// A bias as nn.Linear has it: stored, one number per output feature.
bool IsBias(const Site& s, TensorId id, int64_t features) {
  if (!id.valid()) return false;
  const Shape& shape = s.source().tensors.contains(id) ? s.source().tensors[id].shape : Shape();
  return shape.rank() == 1 && shape.dims[0] == features;
}

// Stored by an exporter that transposed it, or, where names tell nothing, perhaps (the range has the other).
bool MayBeFolded(const Draft& draft, TensorId weight) {
  return draft.has_opaque_names() || IsExporterName(draft.tensor(weight).name);
}

}  // namespace

// transB = 1 is nn.Linear; transB = 0 is addmm with a weight that lies as [in, out] (transformers' Conv1D), unless the
// exporter transposed it while folding.
void LowerGemm(Site& s) {
  bool transposed = false;
  const TensorId weight = s.Stored(1, &transposed);
  const bool out_in = (s.Int("transB", 0) != 0) != transposed;
  const bool plain =
      s.Float("alpha", 1.0) == 1.0 && (!s.Has(2) || s.Float("beta", 1.0) == 1.0) && s.Int("transA", 0) == 0;
  const int64_t features = s.OutShape().rank() == 2 ? s.OutDim(0, 1) : kUnknownDim;
  const TensorId bias = s.Has(2) ? s.Stored(2) : TensorId();
  const bool folded = weight.valid() && MayBeFolded(s.draft(), weight);
  if (weight.valid() && plain && (out_in || folded) && (!s.Has(2) || IsBias(s, bias, features))) {
    TensorIds inputs = {s.Materialized(0), weight};
    if (bias.valid()) inputs.push_back(bias);
    s.Emit("linear", std::move(inputs), {s.Out(0)}, {{"transposed", static_cast<int64_t>(!out_in)}});
    return;
  }
  TensorIds inputs = {s.Materialized(0), out_in && weight.valid() ? weight : s.Materialized(1)};
  if (s.Has(2)) inputs.push_back(s.Materialized(2));
  Attributes attributes = {{"trans_a", s.Int("transA", 0)}, {"trans_b", s.Int("transB", 0)}};
  if (out_in && weight.valid()) attributes["trans_b"] = int64_t{1};
  s.Emit("addmm", std::move(inputs), {s.Out(0)}, std::move(attributes));
}

void LowerMatMul(Site& s) {
  bool transposed = false;
  const TensorId weight = s.Stored(1, &transposed);
  const bool stored_2d = weight.valid() && s.draft().tensor(weight).shape.rank() == 2;
  if (stored_2d && transposed) {
    s.Emit("linear", {s.Materialized(0), weight}, {s.Out(0)}, {{"transposed", int64_t{0}}});
    return;
  }
  // A folded Transpose: the parameter is [out, in].
  if (stored_2d && MayBeFolded(s.draft(), weight)) {
    s.Emit("linear", {s.Materialized(0), weight}, {s.Out(0)}, {{"transposed", int64_t{1}}});
    return;
  }
  s.Emit("matmul", {s.Materialized(0), s.Materialized(1)}, {s.Out(0)});
}

void LowerEinsum(Site& s) { s.Emit("einsum", s.Tensors(), {s.Out(0)}, {{"equation", s.String("equation", "")}}); }

}  // namespace onnx_mem
