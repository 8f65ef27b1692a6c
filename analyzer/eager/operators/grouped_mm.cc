// Products of groups of rows with a matrix each, as the experts of a mixture are run.
// Sources: aten/src/ATen/native/GroupedMMUtils.h (create_grouped_gemm_output_tensor), tools/autograd/derivatives.yaml,
// torch/csrc/autograd/FunctionsManual.cpp (_grouped_mm_mat1_backward, _grouped_mm_mat2_backward).
//
//   [T, K] x [E, K, N] -> [T, N]    rows are dealt to the matrices
//   [M, T] x [T, N] -> [E, M, N]    the inner dimension is: gradients of the matrices
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

constexpr std::string_view kName = "_grouped_mm";

struct Operand {
  Dims dims;
  bool column_major;
};

Operand OperandOf(const EagerTensor& t) {
  const size_t rank = t.dims.size();
  return {t.dims, t.strides[rank - 2] == 1 && t.strides[rank - 1] == t.dims[rank - 2]};
}

Dims Swapped(Dims dims) {
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims;
}

TensorRef Product(Machine& m, const Dims& a, const Dims& b, int64_t groups, DType dtype) {
  const int64_t rows = a[a.size() - 2], inner = a.back(), columns = b.back();
  const bool both = a.size() == b.size(), batched = both && a.size() == 3;
  const Dims dims = both ? Dims{batched ? a[0] : groups, rows, columns} : Dims{rows, columns};
  return m.New(kName, dims, dtype, Saturated({2, batched ? a[0] : 1, rows, inner, columns}));
}

// The gradient of an operand: first x second, or where it was column-major their transposes the other way round, viewed
// back.
TensorRef Gradient(Machine& m, const Operand& of, const Dims& first, const Dims& second, int64_t groups, DType dtype) {
  if (!of.column_major) return Product(m, first, second, groups, dtype);
  const TensorRef made = Product(m, Swapped(second), Swapped(first), groups, dtype);
  const auto rank = static_cast<int64_t>(made->dims.size());
  return Transpose(m, made, rank - 2, rank - 1);
}

void EnactGroupedMm(Machine& m, const Call& call, Outputs& out) {
  const TensorRef a = call.input(0), b = call.input(1), ends = call.input(2);
  const int64_t groups = ends != nullptr ? ends->dims[0] : 1;
  NodeRef node = m.MakeNode("GroupedMmBackward0", {a, b});
  node.Save(node.needs(0) ? b : nullptr);
  node.Save(node.needs(1) ? a : nullptr);
  node.Save(ends);
  out[0] = Product(m, a->dims, b->dims, groups, a->dtype);
  node.Output(out[0]);
  node.Formula([left = OperandOf(*a), right = OperandOf(*b), groups](Backward& back) {
    const Dims grad = back.grad()->dims;
    const DType dtype = back.grad()->dtype;
    if (back.needs(1)) back.result(1, Gradient(back.m, right, Swapped(left.dims), grad, groups, dtype));
    if (back.needs(0)) back.result(0, Gradient(back.m, left, grad, Swapped(right.dims), groups, dtype));
  });
}

bool AreGrouped(const CallShape& call) {
  const auto is_matrix = [&](size_t i) { return call.rank(i) == 2 || call.rank(i) == 3; };
  return is_matrix(0) && is_matrix(1) && call.rank(2) <= 1;
}

}  // namespace

std::span<const OpRow> GroupedMmOps() {
  static constexpr auto kRows = std::to_array<OpRow>({{"grouped_mm", EnactGroupedMm, 2, 2, AreGrouped}});
  return kRows;
}

}  // namespace onnx_mem::eager
