// Determinants, inverses and systems of batches of matrices, by LU decomposition, which is saved; triangular systems;
// norms of vectors; products of groups of rows with a matrix each, as the experts of a mixture are run.
// Sources: tools/autograd/derivatives.yaml (_linalg_det, _linalg_slogdet, linalg_inv_ex, _linalg_solve_ex,
// linalg_solve_triangular, _grouped_mm), torch/csrc/autograd/FunctionsManual.cpp (linalg_det_backward,
// slogdet_backward, linalg_inv_backward, linalg_solve_backward, linalg_solve_triangular_backward,
// linalg_vector_norm_backward, _grouped_mm_mat1_backward, _grouped_mm_mat2_backward),
// aten/src/ATen/native/GroupedMMUtils.h (create_grouped_gemm_output_tensor).
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/matmul.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/operators/reduce.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

Dims BatchOf(const Dims& matrices) { return Dims(matrices.begin(), matrices.end() - 2); }

Dims Swapped(Dims dims) {
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims;
}

Dims DiagonalOf(const Dims& matrices) { return Dims(matrices.begin(), matrices.end() - 1); }

// LU (dense, column-major: no other strides are requested) and int32 pivots beside the `results` that come first.
void SaveDecomposition(Machine& m, NodeRef& node, const TensorRef& x, size_t results, Outputs& out) {
  const TensorRef beside[] = {m.Allocate(x->dims, x->dtype), m.Allocate(DiagonalOf(x->dims), DType::kInt32)};
  for (size_t i = 0; i < 2; ++i) {
    node.Save(beside[i]);
    if (results + i < out.size()) out[results + i] = beside[i];
  }
}

// Solves A^H G = det * grad * I, with an LU whose zeros on the diagonal are lifted.
void EnactDet(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("LinalgDetBackward0", {x});
  node.Save(x);
  out[0] = m.New("_linalg_det", BatchOf(x->dims), x->dtype);
  SaveDecomposition(m, node, x, 1, out);
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

// torch.logdet: log |det|, by the same decomposition. A record has the sign before it.
void EnactLogDet(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("LinalgSlogdetBackward0", {x});
  node.Save(x);
  const TensorRef sign = m.New("_linalg_slogdet", BatchOf(x->dims), x->dtype);
  const TensorRef logarithm = m.Allocate(BatchOf(x->dims), x->dtype);
  SaveDecomposition(m, node, x, 2, out);
  node.Save(sign);
  const bool alone = out.size() == 1;
  out[0] = alone ? logarithm : sign;
  if (!alone) out[1] = logarithm;
  node.Output(logarithm);
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
  if (out.size() > 1) out[1] = info;
  node.Save(out[0]);
  node.Output(out[0]);
  const int64_t flops = Saturated({2, NumElements(x->dims), x->dims.back()});
  node.Formula([dims = x->dims, flops](Backward& b) {
    const TensorRef first = b.m.New("bmm", dims, b.grad()->dtype, flops);
    const TensorRef second = b.m.New("bmm", dims, b.grad()->dtype, flops);
    b.result(0, b.m.NewLike("neg", *second));
  });
}

Dims ColumnMajorStrides(const Dims& dims) {
  Dims strides = ContiguousStrides(Swapped(dims));
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return strides;
}

// X of A X = B, or of X A = B, by LU decomposition: G_B solves with it, and A's gradient is minus a product with that.
// X is column-major where it stands at the right of A (_linalg_solve_ex of BatchLinearAlgebra.cpp).
void EnactSolve(Machine& m, const Call& call, Outputs& out) {
  const TensorRef a = call.input(0), b = call.input(1);
  NodeRef node = m.MakeNode("LinalgSolveExBackward0", {a, b});
  const Dims dims = call.output_dims();
  const Dims strides = IntAttribute(call.node, "left", 1) != 0 ? ColumnMajorStrides(dims) : ContiguousStrides(dims);
  const int64_t flops = Saturated({2, NumElements(dims), a->dims.back()});
  out[0] = m.New("_linalg_solve_ex", dims, b->dtype, strides, flops);
  const TensorRef lu = m.Allocate(a->dims, a->dtype), pivots = m.Allocate(DiagonalOf(a->dims), DType::kInt32);
  const TensorRef beside[] = {lu, pivots, m.Allocate(BatchOf(a->dims), DType::kInt32)};
  for (size_t i = 1; i < out.size() && i < 4; ++i) out[i] = beside[i - 1];
  for (const TensorRef& saved : {a, lu, pivots, out[0]}) node.Save(saved);
  node.Output(out[0]);
  node.Formula([dims, strides, flops, matrix = a->dims](Backward& back) {
    const DType dtype = back.grad()->dtype;
    const TensorRef solved = back.m.New("linalg_lu_solve", dims, dtype, strides, flops);
    if (back.needs(0)) {
      const TensorRef made = back.m.New(dims.size() == 2 ? "mm" : "bmm", matrix, dtype, flops);
      back.result(0, back.m.NewLike("neg", *made));
    }
    if (back.needs(1)) back.result(1, solved);
  });
}

// X of A X = B, or of X A = B: G_B solves with A^H, and A's gradient is the triangle of a product with it.
// linalg_solve_triangular's result is column-major.
void EnactSolveTriangular(Machine& m, const Call& call, Outputs& out) {
  const TensorRef a = call.input(0), b = call.input(1);
  NodeRef node = m.MakeNode("LinalgSolveTriangularBackward0", {a, b});
  const auto solve = [](Machine& at, const Dims& dims, const Dims& matrix, DType dtype) {
    const int64_t flops = Saturated({NumElements(dims), matrix.back()});
    return at.New("linalg_solve_triangular", dims, dtype, ColumnMajorStrides(dims), flops);
  };
  const Dims dims = call.output_dims();
  out[0] = solve(m, dims, a->dims, b->dtype);
  node.Save(a);
  node.Save(out[0]);
  node.Output(out[0]);
  node.Formula([solve, dims, matrix = a->dims](Backward& back) {
    const DType dtype = back.grad()->dtype;
    const TensorRef grad = solve(back.m, dims, matrix, dtype);
    if (back.needs(0)) {
      const int64_t flops = Saturated({2, NumElements(dims), matrix.back()});
      TensorRef made = back.m.New(dims.size() == 2 ? "mm" : "bmm", matrix, dtype, flops);
      made = back.m.NewLike("neg", *made);
      back.result(0, back.m.NewLike("tril", *made));
    }
    if (back.needs(1)) back.result(1, grad);
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

// _grouped_mm:
//   [T, K] x [E, K, N] -> [T, N]    rows are dealt to the matrices
//   [M, T] x [T, N] -> [E, M, N]    the inner dimension is: gradients of the matrices
constexpr std::string_view kGroupedMm = "_grouped_mm";

TensorRef GroupedProduct(Machine& m, const Dims& a, const Dims& b, int64_t groups, DType dtype) {
  const int64_t rows = a[a.size() - 2], inner = a.back(), columns = b.back();
  const bool both = a.size() == b.size(), batched = both && a.size() == 3;
  const Dims dims = both ? Dims{batched ? a[0] : groups, rows, columns} : Dims{rows, columns};
  return m.New(kGroupedMm, dims, dtype, Saturated({2, batched ? a[0] : 1, rows, inner, columns}));
}

// The gradient of a factor: first x second, or where it was column-major their transposes the other way round, viewed
// back.
TensorRef FactorGradient(Machine& m, const MatrixLayout& of, const Dims& first, const Dims& second, int64_t groups,
                         DType dtype) {
  if (!of.column_major) return GroupedProduct(m, first, second, groups, dtype);
  return TransposeLast(m, GroupedProduct(m, Swapped(second), Swapped(first), groups, dtype));
}

void EnactGroupedMm(Machine& m, const Call& call, Outputs& out) {
  const TensorRef a = call.input(0), b = call.input(1), ends = call.input(2);
  const int64_t groups = ends != nullptr ? ends->dims[0] : 1;
  NodeRef node = m.MakeNode("GroupedMmBackward0", {a, b});
  node.Save(node.needs(0) ? b : nullptr);
  node.Save(node.needs(1) ? a : nullptr);
  node.Save(ends);
  out[0] = GroupedProduct(m, a->dims, b->dims, groups, a->dtype);
  node.Output(out[0]);
  node.Formula([left = LayoutOf(*a), right = LayoutOf(*b), groups](Backward& back) {
    const Dims grad = back.grad()->dims;
    const DType dtype = back.grad()->dtype;
    if (back.needs(1)) back.result(1, FactorGradient(back.m, right, Swapped(left.dims), grad, groups, dtype));
    if (back.needs(0)) back.result(0, FactorGradient(back.m, left, grad, Swapped(right.dims), groups, dtype));
  });
}

bool IsSystem(const CallShape& call) { return call.rank(1) >= 2 && call.output_rank() >= 2; }

bool IsSystemOfEqualRank(const CallShape& call) {
  return call.rank(0) == call.rank(1) && call.output_rank() == call.rank(0);
}

bool AreGrouped(const CallShape& call) {
  const auto is_matrix = [&](size_t i) { return call.rank(i) == 2 || call.rank(i) == 3; };
  return is_matrix(0) && is_matrix(1) && call.rank(2) != 0 && call.rank(2) <= 1;
}

}  // namespace

std::span<const OpRow> LinearAlgebraOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"det", EnactDet, 1, 2},
      {"grouped_mm", EnactGroupedMm, 2, 2, AreGrouped},
      {"inverse", EnactInverse, 1, 2},
      {"logdet", EnactLogDet, 1, 2},
      {"norm", EnactNorm},
      {"solve", EnactSolve, 2, 2, IsSystemOfEqualRank},
      {"solve_triangular", EnactSolveTriangular, 2, 2, IsSystem},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
