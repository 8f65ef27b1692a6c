// Operators of two tensors whose gradients are written with the result: magnitudes and signs, distances between rows,
// and the decomposition of a matrix into a triangle. Sources: tools/autograd/derivatives.yaml (copysign, hypot, ldexp,
// _cdist_forward, _pdist_forward, linalg_cholesky_ex), torch/csrc/autograd/FunctionsManual.cpp
// (copysign_tensor_self_backward, cholesky_backward).
#include <array>
#include <string_view>
#include <vector>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

constexpr size_t kLeft = 0, kRight = 1;

// result / self, 0 where self is; the sign that is taken over has a gradient of zeros. Inputs: x, sign? (a number).
void EnactCopysign(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &sign = call.input(1);
  NodeRef node = m.MakeNode("CopysignBackward0", {x, sign});
  const bool needed = node.needs(kLeft);
  node.Save(needed ? x : nullptr);
  out[0] = NewPointwise(m, "copysign", {x, sign});
  node.Save(needed ? out[0] : nullptr);
  node.Output(out[0]);
  node.Formula([dims = sign != nullptr ? sign->dims : Dims{}](Backward& b) {
    if (b.needs(kRight)) b.result(kRight, b.m.New("zeros_like", dims, b.grad()->dtype));
    if (!b.needs(kLeft)) return;
    const TensorRef x = b.saved(0);
    const TensorRef ratio = NewPointwise(b.m, "div", {b.saved(1), x});
    b.m.NewLike("eq", *x, DType::kBool);
    b.result(kLeft, NewPointwise(b.m, "mul", {b.grad(), ratio}));
  });
}

// g * self / result, g * other / result.
void EnactHypot(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &a = call.input(0), &b = call.input(1);
  NodeRef node = m.MakeNode("HypotBackward0", {a, b});
  node.Save(node.needs(kRight) ? b : nullptr);
  node.Save(node.needs(kLeft) ? a : nullptr);
  out[0] = NewPointwise(m, "hypot", {a, b});
  node.Save(out[0]);
  node.Output(out[0]);
  node.Formula([](Backward& back) {
    const TensorRef result = back.saved(2);
    for (size_t edge : {kRight, kLeft}) {
      if (back.needs(edge)) back.result(edge, RunPointwise(back.m, {"mul", "div"}, {back.grad(), result}));
    }
  });
}

// x * 2 ** exponent.
void EnactLdexp(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &exponent = call.input(1);
  NodeRef node = m.MakeNode("LdexpBackward0", {x, exponent});
  node.Save(node.needs(kLeft) ? exponent : nullptr);
  out[0] = NewPointwise(m, "ldexp", {x, exponent});
  node.Save(node.needs(kRight) ? out[0] : nullptr);
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    if (b.needs(kRight)) b.result(kRight, RunPointwise(b.m, {"mul", "mul"}, {b.grad(), b.saved(1)}));
    if (!b.needs(kLeft)) return;
    const TensorRef power = b.m.NewLike("pow", *b.saved(0), b.grad()->dtype);
    b.result(kLeft, NewPointwise(b.m, "mul", {b.grad(), power}));
  });
}

// Distances between the rows of the two inputs, which are saved with them: saved(2).
NodeRef MakeDistances(Machine& m, const Call& call, std::string_view name, std::string_view op, Outputs& out) {
  const TensorRef &a = call.input(0), &b = call.input(1);
  NodeRef node = m.MakeNode(name, {a, b});
  node.Save(a);
  node.Save(b);
  out[0] = m.New(op, call.output_dims(), a->dtype);
  node.Save(out[0]);
  node.Output(out[0]);
  return node;
}

// torch.cdist, where it is not by matrix products: the kernel reads the gradient row by row, and for the other rows
// it and the distances the other way round.
void EnactDistances(Machine& m, const Call& call, Outputs& out) {
  MakeDistances(m, call, "CdistBackward0", "_cdist_forward", out).Formula([](Backward& back) {
    const TensorRef a = back.saved(0), b = back.saved(1);
    if (back.needs(0)) {
      const TensorRef grad = Contiguous(back.m, back.grad());
      back.result(0, back.m.New("_cdist_backward", a->dims, a->dtype));
    }
    if (!back.needs(1)) return;
    const auto turned = [&back](const TensorRef& t) {
      const auto rank = static_cast<int64_t>(t->dims.size());
      return Contiguous(back.m, Transpose(back.m, t, rank - 2, rank - 1));
    };
    const TensorRef distances = turned(back.saved(2)), grad = turned(back.grad());
    back.result(1, back.m.New("_cdist_backward", b->dims, b->dtype));
  });
}

// torch.cdist by matrix products, of many rows: both gradients are made in one expression (_euclidean_dist_backward).
void EnactEuclidean(Machine& m, const Call& call, Outputs& out) {
  MakeDistances(m, call, "EuclideanDistBackward0", "_euclidean_dist", out).Formula([](Backward& back) {
    const TensorRef distances = back.saved(2);
    const TensorRef ratio = NewPointwise(back.m, "div", {back.grad(), distances});
    back.m.NewLike("eq", *distances, DType::kBool);
    std::vector<TensorRef> live;
    for (size_t edge : {kLeft, kRight}) {
      const Dims dims = back.saved(edge)->dims;
      Dims sums = dims;
      sums.back() = 1;
      live.push_back(back.m.New(dims.size() == 2 ? "mm" : "bmm", dims, ratio->dtype));
      live.push_back(back.m.New("sum", sums, ratio->dtype));
      live.push_back(back.m.New("mul", dims, ratio->dtype));
      live.push_back(back.m.New("sub", dims, ratio->dtype));
      if (back.needs(edge)) back.result(edge, live.back());
    }
  });
}

// torch.pdist: between the rows of one matrix.
void EnactOwnDistances(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("PdistBackward0", {x});
  node.Save(x);
  out[0] = m.New("_pdist_forward", call.output_dims(), x->dtype);
  node.Save(out[0]);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) { b.result(0, b.m.New("_pdist_backward", dims, b.grad()->dtype)); });
}

// The triangle L of A = L L^H: half of the sum of L^H g's triangles, from which two systems with L give A's gradient.
void EnactCholesky(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& a = call.input(0);
  const Dims dims = a->dims, batch(dims.begin(), dims.end() - 2);
  NodeRef node = m.MakeNode("LinalgCholeskyExBackward0", {a});
  out[0] = m.New("linalg_cholesky_ex", dims, a->dtype);
  const TensorRef info = m.Allocate(batch, DType::kInt32);
  if (out.size() > 1) out[1] = info;
  node.Save(out[0]);
  node.Output(out[0]);
  const int64_t flops = Saturated({2, NumElements(dims), dims.back()});
  node.Formula([dims, flops](Backward& b) {
    const DType dtype = b.grad()->dtype;
    const auto made = [&](std::string_view op, int64_t work) { return b.m.New(op, dims, dtype, work); };
    TensorRef half;
    {
      TensorRef lower;
      {
        const TensorRef product = made(dims.size() == 2 ? "mm" : "bmm", flops);
        lower = made("tril", 0);
      }
      const TensorRef strict = made("tril", 0), sum = made("add", 0);
      half = made("mul", 0);
    }
    TensorRef solved = made("linalg_solve_triangular", flops);
    half = nullptr;
    b.result(0, made("linalg_solve_triangular", flops));
  });
}

bool AreRows(const CallShape& call) { return call.rank(1) >= 2 && call.output_rank() >= 2; }

}  // namespace

std::span<const OpRow> WithResultOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"cholesky", EnactCholesky, 1, 2},
      {"copysign", EnactCopysign},
      {"distances", EnactDistances, 2, 2, AreRows},
      {"euclidean_distances", EnactEuclidean, 2, 2, AreRows},
      {"hypot", EnactHypot, 2},
      {"ldexp", EnactLdexp, 2},
      {"own_distances", EnactOwnDistances, 1, 2},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
