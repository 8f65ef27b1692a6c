// Reductions. The gradient of a sum is a view with strides 0; everything else materialises it.
// Sources: tools/autograd/derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp (sum_backward,
// scale_grad_by_count, prod_backward, std_backward, std_mean_backward, evenly_distribute_backward).
#include "analyzer/eager/operators/reduce.h"

#include <algorithm>
#include <array>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

// The gradient with its reduced axes back (a view), and expanded over the input's shape (strides 0).
TensorRef Restored(Backward& b, const Reduction& r) { return View(b.m, b.grad(), r.kept); }
TensorRef Expanded(Backward& b, const Reduction& r) { return Expand(b.m, Restored(b, r), r.x); }

Dims OutputDims(const EagerTensor& x, const ReductionArguments& a) { return ReducedDims(x.dims, a.axes, a.keep_dims); }

void EnactSum(Machine& m, const Call& call, Outputs& out) {
  const ReductionArguments a = ReductionArgumentsOf(call);
  out[0] = Sum(m, call.input(0), a.axes, a.keep_dims);
}

void EnactMean(Machine& m, const Call& call, Outputs& out) {
  const ReductionArguments a = ReductionArgumentsOf(call);
  out[0] = Mean(m, call.input(0), a.axes, a.keep_dims);
}

// Every element equal to the extremum gets its share: mask, count, quotient, product.
void EnactExtremum(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const ReductionArguments a = ReductionArgumentsOf(call);
  NodeRef node = m.MakeNode(call.node.op == "amax" ? "AmaxBackward0" : "AminBackward0", {x});
  node.Save(x);
  out[0] = m.New(call.node.op, OutputDims(*x, a), x->dtype);
  node.Save(out[0]);
  node.Output(out[0]);
  node.Formula([r = ReductionOf(*x, a.axes)](Backward& b) {
    const TensorRef x = b.saved(0);
    const TensorRef mask = b.m.NewLike("eq", *x, DType::kBool);
    const TensorRef count = b.m.New("sum", r.kept, DType::kInt64);
    const TensorRef share = b.m.New("div", r.kept, b.grad()->dtype);
    b.result(0, NewPointwise(b.m, "mul", {share, mask}));
  });
}

// Values and indices; the gradient is scattered into zeros, in place.
void EnactMaxDim(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const Dims dims = OutputDims(*x, ReductionArgumentsOf(call));
  NodeRef node = m.MakeNode("MaxBackward0", {x});
  out[0] = m.New("max", dims, x->dtype);
  TensorRef indices = m.Allocate(dims, DType::kInt64);
  node.Save(indices);
  node.Output(out[0]);
  if (out.size() > 1) out[1] = indices;
  node.Formula([dims = x->dims](Backward& b) {
    const TensorRef zeros = b.m.New("new_zeros", dims, b.grad()->dtype);
    b.result(0, OverwriteUnlessObserved(b.m, "scatter_", zeros));
  });
}

void ProdBackward(Backward& b, const Reduction& r, const Dims& axes) {
  const DType dtype = b.grad()->dtype;
  const TensorRef x = ToCopy(b.m, b.saved(0), dtype);
  const bool whole = axes.empty();
  const size_t axis = whole ? 0 : static_cast<size_t>(axes[0]);
  Dims dims = whole ? Dims{NumElements(r.x)} : r.x;
  Dims one = dims, rest = dims;
  one[axis] = 1;
  rest[axis] = std::max<int64_t>(dims[axis] - 1, 0);
  const TensorRef ones = b.m.New("ones", one, dtype);
  const TensorRef before = b.m.New("cat", dims, dtype);
  const TensorRef products = b.m.New("cumprod", dims, dtype);
  TensorRef after;
  {
    const TensorRef flipped = b.m.New("flip", rest, dtype);
    after = b.m.New("cat", dims, dtype);
  }
  TensorRef reversed;
  {
    const TensorRef reverse_products = b.m.New("cumprod", dims, dtype);
    reversed = b.m.New("flip", dims, dtype);
  }
  const TensorRef product = b.m.New("mul", dims, dtype);
  b.result(0, View(b.m, b.m.New("mul", dims, dtype), r.x));
}

void EnactProd(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const ReductionArguments a = ReductionArgumentsOf(call);
  NodeRef node = m.MakeNode("ProdBackward1", {x});
  node.Save(x);
  out[0] = m.New("prod", OutputDims(*x, a), WideType(m, *x));
  node.Save(out[0]);
  node.Output(out[0]);
  node.Formula([r = ReductionOf(*x, a.axes), axes = a.axes](Backward& b) { ProdBackward(b, r, axes); });
}

void EnactLogSumExp(Machine& m, const Call& call, Outputs& out) {
  const TensorRef x = m.AutocastHigh(call.input(0));
  const ReductionArguments a = ReductionArgumentsOf(call);
  NodeRef node = m.MakeNode("LogsumexpBackward0", {x});
  node.Save(x);
  out[0] = m.New("logsumexp", OutputDims(*x, a), x->dtype);
  node.Save(out[0]);
  node.Output(out[0]);
  node.Formula([](Backward& b) { b.result(0, RunPointwise(b.m, {"sub", "exp", "mul"}, {b.saved(0)})); });
}

TensorRef VarianceGradient(Machine& m, const Reduction& r, const TensorRef& x) {
  const TensorRef mean = m.New("mean", r.kept, x->dtype);
  const TensorRef centred = NewPointwise(m, "sub", {x, mean});
  const TensorRef scaled = m.New("mul", r.kept, x->dtype);
  return NewPointwise(m, "mul", {scaled, centred});
}

// From the gradient of a standard deviation to that of the variance.
TensorRef OfVariance(Machine& m, const EagerTensor& grad) {
  const TensorRef twice = m.NewLike("mul", grad);
  TensorRef scaled = m.NewLike("div", grad);
  const TensorRef zero = m.NewLike("eq", grad, DType::kBool);
  return scaled;
}

void EnactVariance(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const bool is_std = call.node.op == "std";
  const ReductionArguments a = ReductionArgumentsOf(call);
  NodeRef node = m.MakeNode(is_std ? "StdBackward0" : "VarBackward0", {x});
  node.Save(x);
  out[0] = m.New(call.node.op, OutputDims(*x, a), x->dtype);
  if (is_std) node.Save(out[0]);
  node.Output(out[0]);
  node.Formula([r = ReductionOf(*x, a.axes), is_std](Backward& b) {
    const TensorRef scaled = is_std ? OfVariance(b.m, *b.grad()) : nullptr;
    b.result(0, VarianceGradient(b.m, r, b.saved(0)));
  });
}

// One kernel gives the variance, or its root, which is saved, and the mean.
void EnactVarMean(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const bool is_std = call.node.op == "std_mean";
  const Dims dims = OutputDims(*x, ReductionArgumentsOf(call));
  NodeRef node = m.MakeNode(is_std ? "StdMeanBackward0" : "VarMeanBackward0", {x});
  node.Save(x);
  out[0] = m.New(call.node.op, dims, x->dtype);
  if (is_std) node.Save(out[0]);
  const TensorRef mean = m.Allocate(dims, x->dtype);
  node.Output(out[0]);
  node.Output(mean);
  if (out.size() > 1) out[1] = mean;
  node.Formula([r = ReductionOf(*x, ReductionArgumentsOf(call).axes), is_std](Backward& b) {
    TensorRef of_variance, of_mean;
    if (b.grad(0) != nullptr) {
      const TensorRef scaled = is_std ? OfVariance(b.m, *b.grad(0)) : nullptr;
      of_variance = VarianceGradient(b.m, r, b.saved(0));
    }
    if (b.grad(1) != nullptr) of_mean = b.m.New("div", r.x, r.x_dtype);
    if (of_variance != nullptr && of_mean != nullptr) {
      b.result(0, b.m.NewLike("add", *of_variance));
    } else {
      b.result(0, of_variance != nullptr ? of_variance : of_mean);
    }
  });
}

// The extremum of a whole tensor: its gradient is shared by all that equal it, NaNs among themselves.
void EnactExtremumOfAll(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("MaxBackward1", {x});
  node.Save(x);
  out[0] = m.New(call.node.op, {}, x->dtype);
  node.Save(out[0]);
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    const TensorRef x = b.saved(0);
    const TensorRef not_a_number = b.m.NewLike("isnan", *x, DType::kBool);
    const TensorRef result_is_none = b.m.NewLike("isnan", *b.grad(), DType::kBool);
    const TensorRef mask = b.m.NewLike("eq", *x, DType::kBool);
    const TensorRef count = b.m.NewLike("sum", *b.grad(), DType::kInt64);
    const TensorRef share = b.m.NewLike("div", *b.grad());
    b.result(0, NewPointwise(b.m, "mul", {mask, share}));
  });
}

// Indices and truth values: no gradient.
void EnactIndices(Machine& m, const Call& call, Outputs& out) {
  out[0] = m.New(call.node.op, call.output_dims(), DType::kInt64);
}
void EnactTruth(Machine& m, const Call& call, Outputs& out) {
  out[0] = m.New(call.node.op, call.output_dims(), DType::kBool);
}

}  // namespace

Reduction ReductionOf(const EagerTensor& x, const Dims& axes) {
  return {x.dims, ReducedDims(x.dims, axes, /*keep_dims=*/true), x.dtype};
}

ReductionArguments ReductionArgumentsOf(const Call& call) {
  const auto rank = static_cast<int64_t>(call.input(0)->dims.size());
  ReductionArguments arguments;
  for (int64_t axis : IntsAttribute(call.node, "axes")) arguments.axes.push_back(axis < 0 ? axis + rank : axis);
  if (call.node.attributes.contains("axis")) {
    const int64_t axis = IntAttribute(call.node, "axis", 0);
    arguments.axes.push_back(axis < 0 ? axis + rank : axis);
  }
  arguments.keep_dims = call.output_dims().size() == call.input(0)->dims.size();
  return arguments;
}

DType WideType(const Machine& m, const EagerTensor& x) {
  return m.autocast() && IsHalf(x.dtype) ? DType::kFloat32 : x.dtype;
}

Dims ReducedDims(const Dims& x_dims, const Dims& axes, bool keep_dims) {
  Dims dims;
  for (size_t d = 0; d < x_dims.size(); ++d) {
    const bool reduced = axes.empty() || std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (!reduced) {
      dims.push_back(x_dims[d]);
    } else if (keep_dims) {
      dims.push_back(1);
    }
  }
  return dims;
}

TensorRef Sum(Machine& m, const TensorRef& x, const Dims& axes, bool keep_dims) {
  NodeRef node = m.MakeNode("SumBackward1", {x});
  const DType dtype = IsFloating(x->dtype) ? WideType(m, *x) : DType::kInt64;
  TensorRef y = m.New("sum", ReducedDims(x->dims, axes, keep_dims), dtype);
  node.Output(y);
  node.Formula([r = ReductionOf(*x, axes)](Backward& b) { b.result(0, Expanded(b, r)); });
  return y;
}

TensorRef Mean(Machine& m, const TensorRef& x, const Dims& axes, bool keep_dims) {
  NodeRef node = m.MakeNode("MeanBackward1", {x});
  TensorRef y = m.New("mean", ReducedDims(x->dims, axes, keep_dims), x->dtype);
  node.Output(y);
  node.Formula([r = ReductionOf(*x, axes)](Backward& b) { b.result(0, b.m.NewLike("div", *Expanded(b, r))); });
  return y;
}

namespace {

bool HasAxes(const CallShape& call) {
  const bool all = !call.node.attributes.contains("axis");
  return call.AxesWithin("axes", call.rank(0)) && (all || call.AxisWithin("axis", call.rank(0)));
}

}  // namespace

std::span<const OpRow> ReduceOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"all", EnactTruth},
      {"amax", EnactExtremum},
      {"amin", EnactExtremum},
      {"any", EnactTruth},
      {"argmax", EnactIndices},
      {"argmin", EnactIndices},
      {"logsumexp", EnactLogSumExp},
      {"max_all", EnactExtremumOfAll},
      {"max_dim", EnactMaxDim},
      {"mean", EnactMean},
      {"prod", EnactProd, 1, 0, HasAxes},
      {"std", EnactVariance},
      {"std_mean", EnactVarMean},
      {"sum", EnactSum},
      {"var", EnactVariance},
      {"var_mean", EnactVarMean},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
