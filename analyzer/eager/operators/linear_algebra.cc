// Determinants and inverses of batches of matrices, by LU decomposition, which is saved.
// Sources: tools/autograd/derivatives.yaml (_linalg_det, _linalg_slogdet, linalg_inv_ex), torch/csrc/autograd/
// FunctionsManual.cpp (linalg_det_backward, slogdet_backward, linalg_inv_backward).
#include <array>

#include "analyzer/eager/operators/families.h"

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

}  // namespace

std::span<const OpRow> LinearAlgebraOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"det", EnactDet, 1, 2},
      {"inverse", EnactInverse, 1, 2},
      {"logdet", EnactLogDet, 1, 2},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
