// Matrix products. mm and bmm save each operand only where the other's gradient needs it; the weight's gradient is made
// in the weight's own layout, so that the engine can steal it.
// Sources: aten/src/ATen/native/LinearAlgebra.cpp (_matmul_impl, should_fold), Linear.cpp, tools/autograd/
// derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp (mm_mat1_backward, mm_mat2_backward).
//
//   linear on x [B, T, K], weight [N, K], bias [N]
//     x contiguous   view -> addmm -> _unsafe_view     saves x's storage, no copy
//     x permuted     clone -> mm -> _unsafe_view, add_  saves the copy
#include "analyzer/eager/operators/matmul.h"

#include <array>

#include "analyzer/eager/operators/binary.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

int64_t MmFlops(int64_t m, int64_t n, int64_t k) { return Saturated({2, m, n, k}); }

// a [m,k] x b [k,n] without history: what the kernel gives.
TensorRef MmKernel(Machine& m, int64_t rows, int64_t inner, int64_t columns, DType dtype) {
  return m.New("mm", Dims{rows, columns}, dtype, MmFlops(rows, columns, inner));
}

// Gradient of a matrix [rows, columns]; made transposed and viewed back where the matrix was column-major.
TensorRef MmGrad(Backward& b, const MatrixLayout& layout, int64_t inner) {
  const int64_t rows = layout.dims[0], columns = layout.dims[1];
  const DType dtype = b.grad()->dtype;
  if (!layout.column_major) return MmKernel(b.m, rows, inner, columns, dtype);
  return Transpose(b.m, MmKernel(b.m, columns, inner, rows, dtype), 0, 1);
}

bool ShouldFold(const TensorRef& a, const TensorRef& b) {
  const bool a_larger = a->dims.size() >= b->dims.size();
  const TensorRef &larger = a_larger ? a : b, &smaller = a_larger ? b : a;
  if (larger->dims.size() < 3 || smaller->dims.size() > 2) return false;
  if (smaller->requires_grad) return true;  // else backward would make a batch of weight gradients
  if (a->dims.size() == 2) return false;
  Dims dims = larger->dims, strides = larger->strides;
  if (!a_larger) {
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  }
  for (size_t i = 0; i + 2 < dims.size(); ++i) {
    if (strides[i] != strides[i + 1] * dims[i + 1]) return false;
  }
  return true;
}

// mv: [m,k] x [k]. Saves as mm; the outer product is a mul.
TensorRef Mv(Machine& m, const TensorRef& a, const TensorRef& v) {
  NodeRef node = m.MakeNode("MvBackward0", {a, v});
  node.Save(node.needs(1) ? a : nullptr);
  node.Save(node.needs(0) ? v : nullptr);
  TensorRef y = m.New("mv", Dims{a->dims[0]}, a->dtype);
  node.Output(y);
  node.Formula([dims = a->dims](Backward& b) {
    if (b.needs(0)) b.result(0, b.m.New("mul", dims, b.grad()->dtype));
    if (b.needs(1)) b.result(1, b.m.New("mv", Dims{dims[1]}, b.grad()->dtype));
  });
  return y;
}

TensorRef Dot(Machine& m, const TensorRef& a, const TensorRef& b) {
  NodeRef node = m.MakeNode("DotBackward0", {a, b});
  node.Save(node.needs(1) ? a : nullptr);
  node.Save(node.needs(0) ? b : nullptr);
  TensorRef y = m.New("dot", Dims{}, a->dtype);
  node.Output(y);
  node.Formula([dims = a->dims](Backward& back) {
    for (size_t edge : {0, 1}) {
      if (back.needs(edge)) back.result(edge, back.m.New("mul", dims, back.grad()->dtype));
    }
  });
  return y;
}

TensorRef Folded(Machine& m, const TensorRef& a, const TensorRef& b) {
  const bool transpose = b->dims.size() > a->dims.size();
  const TensorRef larger = transpose ? TransposeLast(m, b) : a;
  const TensorRef smaller = !transpose ? b : (a->dims.size() == 2 ? Transpose(m, a, 0, 1) : a);
  Dims out(larger->dims.begin(), larger->dims.end() - 1);
  const int64_t rows = NumElements(out);
  const TensorRef folded = Reshape(m, larger, Dims{rows, larger->dims.back()});
  if (smaller->dims.size() == 1) return UnsafeView(m, Mv(m, folded, smaller), out);
  out.push_back(smaller->dims[1]);
  TensorRef y = UnsafeView(m, Mm(m, folded, smaller), out);
  return transpose ? Contiguous(m, TransposeLast(m, y)) : y;
}

// Batch dimensions broadcast and merged into one; a copy where they do not merge.
TensorRef Batched(Machine& m, const TensorRef& t, const Dims& batch, int64_t rows, int64_t columns) {
  Dims dims = batch;
  dims.push_back(rows);
  dims.push_back(columns);
  return Reshape(m, Expand(m, t, dims), Dims{NumElements(batch), rows, columns});
}

TensorRef BroadcastMatmul(Machine& m, const TensorRef& a, const TensorRef& b) {
  const size_t rank_a = a->dims.size(), rank_b = b->dims.size();
  if (rank_a == 3 && rank_b == 3 && a->dims[0] != b->dims[0]) {
    if (a->dims[0] == 1 && a->requires_grad) return Matmul(m, View(m, a, Dims{a->dims[1], a->dims[2]}), b);
    if (b->dims[0] == 1 && b->requires_grad) return Matmul(m, a, View(m, b, Dims{b->dims[1], b->dims[2]}));
  }
  const int64_t n = rank_a > 1 ? a->dims[rank_a - 2] : 1, inner = a->dims.back();
  const int64_t p = rank_b > 1 ? b->dims.back() : 1;
  const Dims batch_a(a->dims.begin(), a->dims.begin() + static_cast<int64_t>(rank_a > 1 ? rank_a - 2 : 0));
  const Dims batch_b(b->dims.begin(), b->dims.begin() + static_cast<int64_t>(rank_b > 1 ? rank_b - 2 : 0));
  Dims out = BroadcastDims(batch_a, batch_b);
  const TensorRef left = Batched(m, a, out, n, inner);
  const TensorRef vector = rank_b > 1 ? b : View(m, b, Dims{inner, 1});
  const TensorRef right = Batched(m, vector, out, inner, p);
  if (rank_a > 1) out.push_back(n);
  if (rank_b > 1) out.push_back(p);
  return UnsafeView(m, Bmm(m, left, right), out);
}

// The transpose of a parameter that the file stores transposed: `stored` [in, out] stands for a parameter [out, in];
// gives its t(), [in, out] in column-major order.
TensorRef TransposeOfStored(Machine& m, const TensorRef& stored) {
  NodeRef node = m.MakeNode("TBackward0", {stored});
  const Dims dims = stored->dims;
  TensorRef view = m.Alias(stored, dims, Dims{1, dims[0]});
  node.Output(view);
  // In terms of the stored layout the parameter's own order is the contiguous one.
  node.Formula([](Backward& b) {
    const EagerTensor& g = *b.grad();
    const bool column_major = g.strides[0] == 1 && g.strides[1] == g.dims[0];
    b.result(0, b.m.Alias(b.grad(), g.dims, column_major ? ContiguousStrides(g.dims) : Dims{1, g.dims[0]}));
  });
  return view;
}

void EnactLinear(Machine& m, const Call& call, Outputs& out) {
  const TensorRef bias = m.AutocastLow(call.input(2));
  const TensorRef weight = m.AutocastLow(call.input(1));
  const TensorRef x = m.AutocastLow(call.input(0));
  const bool stored_transposed = IntAttribute(call.node, "transposed", 0) != 0;
  const TensorRef weight_t = stored_transposed ? TransposeOfStored(m, weight) : Transpose(m, weight, 0, 1);
  out[0] = Linear(m, x, weight_t, bias);
}

// Inputs: mat1, mat2, bias; trans_a and trans_b as in Gemm.
void EnactAddmm(Machine& m, const Call& call, Outputs& out) {
  const TensorRef bias = m.AutocastLow(call.input(2));
  TensorRef b = m.AutocastLow(call.input(1));
  TensorRef a = m.AutocastLow(call.input(0));
  if (IntAttribute(call.node, "trans_a", 0) != 0) a = Transpose(m, a, 0, 1);
  if (IntAttribute(call.node, "trans_b", 0) != 0) b = Transpose(m, b, 0, 1);
  out[0] = bias != nullptr ? Addmm(m, bias, a, b) : Mm(m, a, b);
}

void EnactMatmul(Machine& m, const Call& call, Outputs& out) {
  const TensorRef b = m.AutocastLow(call.input(1));
  const TensorRef a = m.AutocastLow(call.input(0));
  out[0] = Matmul(m, a, b);
}

void EnactBmm(Machine& m, const Call& call, Outputs& out) {
  const TensorRef b = m.AutocastLow(call.input(1));
  const TensorRef a = m.AutocastLow(call.input(0));
  out[0] = Bmm(m, a, b);
}

// beta * self + alpha * (batch1 x batch2). A factor of 1 is not multiplied by (maybe_multiply in derivatives.yaml).
void EnactBaddbmm(Machine& m, const Call& call, Outputs& out) {
  const TensorRef self = m.AutocastLow(call.input(0));
  const TensorRef second = m.AutocastLow(call.input(2));
  const TensorRef first = m.AutocastLow(call.input(1));
  NodeRef node = m.MakeNode("BaddbmmBackward0", {self, first, second});
  node.Save(node.needs(1) ? second : nullptr);
  node.Save(node.needs(2) ? first : nullptr);
  const Dims &a = first->dims, &b = second->dims;
  const int64_t flops = a[0] * MmFlops(a[1], a[2], b[2]);
  out[0] = call.inplace() ? InPlace(m, "baddbmm", self) : m.New("baddbmm", Dims{a[0], a[1], b[2]}, first->dtype, flops);
  node.Output(out[0]);
  const bool scales_self = FloatAttribute(call.node, "beta", 1.0) != 1.0;
  const bool scales = FloatAttribute(call.node, "alpha", 1.0) != 1.0;
  node.Formula([a, b, flops, scales_self, scales](Backward& back) {
    const auto scaled = [&](TensorRef t, bool by) { return by ? back.m.NewLike("mul", *t) : t; };
    if (back.needs(1)) back.result(1, scaled(back.m.New("bmm", a, back.grad()->dtype, flops), scales));
    if (back.needs(2)) back.result(2, scaled(back.m.New("bmm", b, back.grad()->dtype, flops), scales));
    if (back.needs(0)) back.result(0, scaled(back.grad(), scales_self));
  });
}

}  // namespace

MatrixLayout LayoutOf(const EagerTensor& t) {
  const size_t rank = t.dims.size();
  return {t.dims, t.strides[rank - 2] == 1 && t.strides[rank - 1] == t.dims[rank - 2]};
}

TensorRef TransposeLast(Machine& m, const TensorRef& t) {
  const auto rank = static_cast<int64_t>(t->dims.size());
  return Transpose(m, t, rank - 2, rank - 1);
}

TensorRef Mm(Machine& m, const TensorRef& a, const TensorRef& b) {
  NodeRef node = m.MakeNode("MmBackward0", {a, b});
  node.Save(node.needs(0) ? b : nullptr);
  node.Save(node.needs(1) ? a : nullptr);
  TensorRef y = MmKernel(m, a->dims[0], a->dims[1], b->dims[1], a->dtype);
  node.Output(y);
  node.Formula([left = LayoutOf(*a), right = LayoutOf(*b)](Backward& back) {
    if (back.needs(1)) back.result(1, MmGrad(back, right, left.dims[0]));
    if (back.needs(0)) back.result(0, MmGrad(back, left, right.dims[1]));
  });
  return y;
}

TensorRef Addmm(Machine& m, const TensorRef& bias, const TensorRef& a, const TensorRef& b) {
  NodeRef node = m.MakeNode("AddmmBackward0", {bias, a, b});
  node.Save(node.needs(2) ? a : nullptr);
  node.Save(node.needs(1) ? b : nullptr);
  const int64_t rows = a->dims[0], columns = b->dims[1];
  TensorRef y = m.New("addmm", Dims{rows, columns}, a->dtype, MmFlops(rows, columns, a->dims[1]));
  node.Output(y);
  node.Formula([left = LayoutOf(*a), right = LayoutOf(*b)](Backward& back) {
    if (back.needs(1)) back.result(1, MmGrad(back, left, right.dims[1]));
    if (back.needs(2)) back.result(2, MmGrad(back, right, left.dims[0]));
    back.result(0, back.grad());  // summed to the bias by the engine
  });
  return y;
}

TensorRef Bmm(Machine& m, const TensorRef& a, const TensorRef& b) {
  NodeRef node = m.MakeNode("BmmBackward0", {a, b});
  node.Save(node.needs(0) ? b : nullptr);
  node.Save(node.needs(1) ? a : nullptr);
  const int64_t batch = a->dims[0], rows = a->dims[1], inner = a->dims[2], columns = b->dims[2];
  const int64_t flops = Saturated({batch, MmFlops(rows, columns, inner)});
  TensorRef y = m.New("bmm", Dims{batch, rows, columns}, a->dtype, flops);
  node.Output(y);
  node.Formula([da = a->dims, db = b->dims, flops](Backward& back) {
    if (back.needs(1)) back.result(1, back.m.New("bmm", db, back.grad()->dtype, flops));
    if (back.needs(0)) back.result(0, back.m.New("bmm", da, back.grad()->dtype, flops));
  });
  return y;
}

TensorRef Matmul(Machine& m, const TensorRef& a, const TensorRef& b) {
  const size_t rank_a = a->dims.size(), rank_b = b->dims.size();
  if (rank_a == 1 && rank_b == 1) return Dot(m, a, b);
  if (rank_a == 2 && rank_b == 1) return Mv(m, a, b);
  if (rank_a == 1 && rank_b == 2) {
    return View(m, Mm(m, View(m, a, Dims{1, a->dims[0]}), b), Dims{b->dims[1]});
  }
  if (rank_a == 2 && rank_b == 2) return Mm(m, a, b);
  return ShouldFold(a, b) ? Folded(m, a, b) : BroadcastMatmul(m, a, b);
}

TensorRef Linear(Machine& m, const TensorRef& x, const TensorRef& weight_t, const TensorRef& bias) {
  if (bias == nullptr) return Matmul(m, x, weight_t);
  if (x->dims.size() == 2) return Addmm(m, bias, x, weight_t);
  if (!IsContiguous(*x)) return Add(m, Matmul(m, x, weight_t), bias, /*in_place=*/!kObserved);
  Dims out = x->dims;
  out.back() = weight_t->dims[1];
  const TensorRef rows = Reshape(m, x, Dims{NumRows(x->dims), x->dims.back()});
  return UnsafeView(m, Addmm(m, bias, rows, weight_t), out);
}

namespace {

bool AreMatrices(const CallShape& call) { return call.rank(0) == 2 && call.rank(1) == 2; }
bool AreBatches(const CallShape& call) { return call.rank(0) == 3 && call.rank(1) == 3; }
bool AddsBatches(const CallShape& call) { return call.rank(1) == 3 && call.rank(2) == 3; }
bool HasMatrix(const CallShape& call) { return call.rank(1) == 2; }
bool HasNoScalar(const CallShape& call) { return call.rank(1) >= 1; }

}  // namespace

std::span<const OpRow> MatmulOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"addmm", EnactAddmm, 2, 2, AreMatrices},
      {"baddbmm", EnactBaddbmm, 3, 1, AddsBatches},
      {"bmm", EnactBmm, 2, 3, AreBatches},
      {"linear", EnactLinear, 2, 1, HasMatrix},
      {"matmul", EnactMatmul, 2, 1, HasNoScalar},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
