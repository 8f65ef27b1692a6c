// Determinants and inverses of batches of matrices, by LU decomposition, which is saved; norms of vectors.
// Sources: tools/autograd/derivatives.yaml (_linalg_det, _linalg_slogdet, linalg_inv_ex), torch/csrc/autograd/
// FunctionsManual.cpp (linalg_det_backward, slogdet_backward, linalg_inv_backward,
// linalg_vector_norm_backward).
#include <array>
#include <cmath>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/operators/reduce.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

Dims BatchOf(const Dims& matrices) { return Dims(matrices.begin(), matrices.end() - 2); }

Dims DiagonalOf(const Dims& matrices) { return Dims(matrices.begin(), matrices.end() - 1); }

// LU (dense, column-major: no other strides are requested) and int32 pivots beside the results.
void SaveDecomposition(Machine& m, NodeRef& node, const Dims& dims, DType dtype) {
  node.Save(m.Allocate(dims, dtype));
  node.Save(m.Allocate(DiagonalOf(dims), DType::kInt32));
}

// Solves A^H G = det * grad * I, with an LU whose zeros on the diagonal are lifted.
void EnactDet(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("LinalgDetBackward0", {x});
  node.Save(x);
  out[0] = m.New("_linalg_det", BatchOf(x->dims), x->dtype);
  SaveDecomposition(m, node, x->dims, x->dtype);
  node.Save(out[0]);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) {
    const DType dtype = b.grad()->dtype;
    const TensorRef scale = b.m.New("mul", BatchOf(dims), dtype);
    const TensorRef right = b.m.New("diag_embed", dims, dtype);
    TensorRef lifted;
    {
      const TensorRef zero = b.m.New("eq", DiagonalOf(dims), DType::kBool);
      const TensorRef chosen = b.m.New("where", DiagonalOf(dims), dtype);
      const TensorRef diagonal = b.m.New("diag_embed", dims, dtype);
      lifted = b.m.New("add", dims, dtype);
    }
    b.result(0, b.m.New("linalg_lu_solve", dims, dtype));
  });
}

// torch.logdet: log |det|, by the same decomposition.
void EnactLogDet(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("LinalgSlogdetBackward0", {x});
  node.Save(x);
  const TensorRef sign = m.New("_linalg_slogdet", BatchOf(x->dims), x->dtype);
  out[0] = m.Allocate(BatchOf(x->dims), x->dtype);
  SaveDecomposition(m, node, x->dims, x->dtype);
  node.Save(sign);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) {
    const TensorRef right = b.m.New("diag_embed", dims, b.grad()->dtype);
    b.result(0, b.m.New("linalg_lu_solve", dims, b.grad()->dtype));
  });
}

// -A^-H grad A^-H.
void EnactInverse(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("LinalgInvExBackward0", {x});
  out[0] = m.New("linalg_inv_ex", x->dims, x->dtype);
  const TensorRef info = m.Allocate(BatchOf(x->dims), DType::kInt32);
  node.Save(out[0]);
  node.Output(out[0]);
  const int64_t flops = Saturated({2, NumElements(x->dims), x->dims.back()});
  node.Formula([dims = x->dims, flops](Backward& b) {
    const TensorRef first = b.m.New("bmm", dims, b.grad()->dtype, flops);
    const TensorRef second = b.m.New("bmm", dims, b.grad()->dtype, flops);
    b.result(0, b.m.NewLike("neg", *second));
  });
}

// --- norms of vectors

// The elements equal to the largest share the gradient.
TensorRef LargestNormBackward(Backward& b, const TensorRef& x, const Reduction& r) {
  const TensorRef magnitude = b.m.NewLike("abs", *x);
  TensorRef largest;
  {
    const TensorRef equal = b.m.NewLike("eq", *x, DType::kBool), undefined = b.m.NewLike("isnan", *x, DType::kBool);
    largest = b.m.NewLike("logical_or", *x, DType::kBool);
  }
  const TensorRef count = b.m.New("sum", r.kept, DType::kInt64);
  const TensorRef share = b.m.New("div", r.kept, x->dtype);
  const TensorRef spread = b.m.NewLike("mul", *x), sign = b.m.NewLike("sgn", *x);
  return b.m.NewLike("mul", *x);
}

// x * |x| ** (p - 2), scaled by the gradient over norm ** (p - 1).
TensorRef PowerNormBackward(Backward& b, const TensorRef& x, const Reduction& r, double p) {
  TensorRef powers;
  {
    const TensorRef magnitude = b.m.NewLike("abs", *x);
    const TensorRef power = p == 3.0 ? nullptr : b.m.NewLike("pow", *x);
    powers = b.m.NewLike("mul", *x);
  }
  const TensorRef power = b.m.New("pow", r.kept, x->dtype);
  const TensorRef scale = b.m.New("div", r.kept, x->dtype);
  const TensorRef zero = b.m.New("eq", r.kept, DType::kBool);
  return b.m.NewLike("mul", *x);
}

}  // namespace

TensorRef VectorNorm(Machine& m, const TensorRef& x, double p, const Dims& axes, bool keep_dims) {
  NodeRef node = m.MakeNode("LinalgVectorNormBackward0", {x});
  node.Save(x);
  TensorRef y = m.New("linalg_vector_norm", ReducedDims(x->dims, axes, keep_dims), WideType(m, *x));
  node.Save(y);
  node.Output(y);
  node.Formula([r = ReductionOf(*x, axes), p](Backward& b) {
    const TensorRef x = b.saved(0), norm = View(b.m, b.saved(1), r.kept);
    if (p == 1.0) {
      b.result(0, RunPointwise(b.m, {"sgn", "mul"}, {x, norm}));
      return;
    }
    if (std::isinf(p)) return b.result(0, LargestNormBackward(b, x, r));
    if (p != 2.0) return b.result(0, PowerNormBackward(b, x, r, p));
    const TensorRef direction = NewPointwise(b.m, "div", {x, norm});
    const TensorRef zero = b.m.New("eq", r.kept, DType::kBool);
    b.result(0, NewPointwise(b.m, "mul", {direction, norm}));
  });
  return y;
}

namespace {

void EnactNorm(Machine& m, const Call& call, Outputs& out) {
  const ReductionArguments a = ReductionArgumentsOf(call);
  out[0] = VectorNorm(m, call.input(0), FloatAttribute(call.node, "p", 2.0), a.axes, a.keep_dims);
}

}  // namespace

std::span<const OpRow> LinearAlgebraOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"det", EnactDet, 1, 2},
      {"inverse", EnactInverse, 1, 2},
      {"logdet", EnactLogDet, 1, 2},
      {"norm", EnactNorm},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
