// Sums, products and logarithms of sums along an axis. Their gradients are scans too, from the other end.
// Sources: tools/autograd/derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp (cumprod_backward,
// logcumsumexp_backward).
#include <array>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/operators/reduce.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

void EnactCumSum(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("CumsumBackward0", {x});
  const bool floating = IsFloating(x->dtype) || call.output().dtype == DType::kUnknown;
  out[0] = m.NewLike("cumsum", *x, floating ? WideType(m, *x) : call.output().dtype);  // of truth values: int64
  node.Output(out[0]);
  node.Formula([dtype = x->dtype](Backward& b) {
    const TensorRef g = ToCopy(b.m, b.grad(), dtype);
    b.result(0, RunPointwise(b.m, {"flip", "cumsum", "flip"}, {g}));
  });
}

// cummax, cummin: values and where they are. The gradient is added into zeros there, in place (cummaxmin_backward of
// aten/src/ATen/native/ReduceOps.cpp).
void EnactCumulativeExtremum(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("CummaxBackward0", {x});
  node.Save(x);
  out[0] = m.NewLike("cummax", *x);
  const TensorRef indices = m.Allocate(x->dims, DType::kInt64);
  node.Save(indices);
  node.Output(out[0]);
  if (out.size() > 1) out[1] = indices;
  node.Formula([dims = x->dims, dtype = x->dtype](Backward& b) {
    const TensorRef zeros = b.m.New("zeros", dims, dtype);
    b.result(0, OverwriteUnlessObserved(b.m, "scatter_add_", zeros));
  });
}

// grad * result, a look for zeros in the input, and without any the reversed sum of the products over the input.
void CumProdBackward(Backward& b) {
  const TensorRef x = b.saved(0);
  const TensorRef products = NewPointwise(b.m, "mul", {b.saved(1), b.grad()});
  const TensorRef zeros = b.m.NewLike("eq", *x, DType::kBool);
  b.m.New("any", Dims{}, DType::kBool);
  const TensorRef sums = RunPointwise(b.m, {"flip", "cumsum", "flip"}, {products});
  b.result(0, NewPointwise(b.m, "div", {sums, x}));
}

void EnactCumProd(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("CumprodBackward0", {x});
  node.Save(x);
  out[0] = m.NewLike("cumprod", *x, WideType(m, *x));
  node.Save(out[0]);
  node.Output(out[0]);
  node.Formula(CumProdBackward);
}

// log(exp(g).sum over what follows), for the positive and the negative part of g apart.
void LogCumSumExpBackward(Backward& b) {
  const TensorRef x = b.saved(0);
  TensorRef parts[2];
  {
    TensorRef logarithm;
    {
      const TensorRef magnitude = b.m.NewLike("abs", *x);
      logarithm = b.m.NewLike("log", *x);
    }
    for (size_t i = 0; i < 2; ++i) {
      const TensorRef mask = b.m.NewLike(i == 0 ? "gt" : "lt", *x, DType::kBool);
      parts[i] = b.m.NewLike("where", *x);
    }
    TensorRef sums[2];
    for (TensorRef& sum : sums) {
      const TensorRef difference = b.m.NewLike("sub", *x);
      TensorRef reversed;
      {
        const TensorRef flipped = b.m.NewLike("flip", *x);
        const TensorRef scanned = b.m.NewLike("logcumsumexp", *x);
        reversed = b.m.NewLike("flip", *x);
      }
      const TensorRef exponent = b.m.NewLike("add", *x);
      sum = b.m.NewLike("exp", *x);
    }
    b.result(0, b.m.NewLike("sub", *x));
  }
}

void EnactLogCumSumExp(Machine& m, const Call& call, Outputs& out) {
  const TensorRef x = m.AutocastHigh(call.input(0));
  NodeRef node = m.MakeNode("LogcumsumexpBackward0", {x});
  node.Save(x);
  out[0] = m.NewLike("logcumsumexp", *x);
  node.Save(out[0]);
  node.Output(out[0]);
  node.Formula(LogCumSumExpBackward);
}

}  // namespace

std::span<const OpRow> CumulativeOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"cumulative_extremum", EnactCumulativeExtremum},
      {"cumprod", EnactCumProd},
      {"cumsum", EnactCumSum},
      {"logcumsumexp", EnactLogCumSumExp},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
