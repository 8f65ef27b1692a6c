// Elementwise choice: where, masked_fill, masked_scatter, masked_select, index_fill, xlogy, prelu, lerp.
// Sources: tools/autograd/derivatives.yaml, aten/src/ATen/native/cuda/IndexKernel.cpp and IndexKernel.cu.
#include <array>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

constexpr size_t kSelf = 0, kOther = 1;

// One `where` per operand that wants a gradient; the zeros are a scalar tensor.
void WhereBackward(Backward& b) {
  const TensorRef condition = b.saved(0);
  for (size_t edge : {kOther, kSelf}) {
    if (!b.needs(edge)) continue;
    const TensorRef zero = b.m.New("scalar_tensor", Dims{}, b.grad()->dtype);
    b.result(edge, NewPointwise(b.m, "where", {condition, b.grad()}, b.grad()->dtype));
  }
}

// Inputs: condition, a, b; a missing a or b was a Python number.
void EnactWhere(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &condition = call.input(0), &a = call.input(1), &b = call.input(2);
  const DType dtype = a == nullptr && b == nullptr ? call.output().dtype : ResultType({a, b});
  TensorRef number;
  if (a == nullptr || b == nullptr) number = m.New("scalar_tensor", Dims{}, dtype);
  NodeRef node = m.MakeNode("WhereBackward0", {a, b});
  node.Save(condition);
  out[0] = NewPointwise(m, "where", {condition, a, b}, dtype);
  node.Output(out[0]);
  node.Formula(WhereBackward);
}

void EnactMaskedFill(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &mask = call.input(1);
  NodeRef node = m.MakeNode("MaskedFillBackward0", {x});
  node.Save(mask);
  out[0] = call.inplace() ? InPlace(m, "masked_fill", x) : NewPointwise(m, "masked_fill", {x, mask}, x->dtype);
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    const TensorRef mask = b.saved(0);
    b.result(0, NewPointwise(b.m, "masked_fill", {b.grad(), mask}, b.grad()->dtype));
  });
}

// What the kernel on a card makes beside `x` (masked_scatter__cuda of IndexKernel.cpp, launch_masked_scatter_kernel of
// IndexKernel.cu): the running sums of the mask, and a dense copy of a mask or source that is not. cub's own storage,
// some bytes for each thousand of elements, is not counted.
std::vector<int64_t> ScatterTakes(const EagerTensor& x, const EagerTensor& mask, const EagerTensor* source) {
  std::vector<int64_t> takes = {DenseBytes(x.dims, DType::kInt64)};
  if (mask.dims != x.dims || !IsContiguous(mask)) takes.push_back(DenseBytes(x.dims, DType::kBool));
  if (source != nullptr && !IsContiguous(*source)) takes.push_back(DenseBytes(source->dims, source->dtype));
  return takes;
}

// masked_select_out_cuda_impl of IndexKernel.cpp: the places of the elements, a number for each dimension.
void TakePlaces(Machine& m, const Dims& found, const Dims& mask) {
  m.recorder().KernelTakes({Saturated({DenseBytes(found, DType::kInt64), static_cast<int64_t>(mask.size())})});
}

// Inputs: x, mask, source, whose values are put in order where the mask is true. Backward picks them out again
// (masked_scatter_backward of FunctionsManual.cpp; the source is taken for as long as what it fills).
void EnactMaskedScatter(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &mask = call.input(1), &source = call.input(2);
  NodeRef node = m.MakeNode("MaskedScatterBackward0", {x, source});
  node.Save(mask);
  out[0] = call.inplace() ? InPlace(m, "masked_scatter_", x) : NewPointwise(m, "masked_scatter", {x, mask}, x->dtype);
  m.recorder().KernelTakes(ScatterTakes(*out[0], *mask, source.get()));
  node.Output(out[0]);
  node.Formula([dims = source->dims](Backward& b) {
    const TensorRef mask = b.saved(0);
    if (b.needs(kSelf)) b.result(kSelf, NewPointwise(b.m, "masked_fill", {b.grad(), mask}, b.grad()->dtype));
    if (!b.needs(kOther)) return;
    b.result(kOther, b.m.New("masked_select", dims, b.grad()->dtype));
    TakePlaces(b.m, dims, b.grad()->dims);
  });
}

// Keeps its input, though only the shape is needed (masked_select_backward of FunctionsManual.cpp).
void EnactMaskedSelect(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &mask = call.input(1);
  NodeRef node = m.MakeNode("MaskedSelectBackward0", {x});
  node.Save(x);
  node.Save(mask);
  out[0] = m.New("masked_select", call.output_dims(), x->dtype);
  TakePlaces(m, out[0]->dims, BroadcastDims(x->dims, mask->dims));
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    const TensorRef x = b.saved(0), mask = b.saved(1);
    const TensorRef zeros = NewPointwise(b.m, "zeros_like", {x, mask}, b.grad()->dtype);
    b.result(0, OverwriteUnlessObserved(b.m, "masked_scatter_", zeros));
    b.m.recorder().KernelTakes(ScatterTakes(*zeros, *mask, nullptr));
  });
}

// x * log(y), zero where x is.
void EnactXlogy(Machine& m, const Call& call, Outputs& out) {
  NodeRef node = m.MakeNode("XlogyBackward0", {call.input(0), call.input(1)});
  node.Save(call.input(0));
  node.Save(call.input(1));
  out[0] = NewPointwise(m, "xlogy", {call.input(0), call.input(1)});
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    const TensorRef x = b.saved(0), y = b.saved(1);
    if (b.needs(kOther)) b.result(kOther, RunPointwise(b.m, {"mul", "div"}, {b.grad(), x, y}));
    if (!b.needs(kSelf)) return;
    const TensorRef grad = NewPointwise(b.m, "xlogy", {b.grad(), y});
    const TensorRef masks = RunPointwise(b.m, {"le", "eq", "logical_and"}, {x, y});
    b.result(kSelf, OverwriteUnlessObserved(b.m, "masked_fill_", grad));
  });
}

// x.index_fill(dim, index, number): a copy, and of the gradient another. Inputs: x, index.
void EnactIndexFill(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("IndexFillBackward0", {x});
  node.Save(call.input(1));
  out[0] = call.inplace() ? InPlace(m, "index_fill", x) : m.NewLike("index_fill", *x);
  node.Output(out[0]);
  node.Formula([](Backward& b) { b.result(0, b.m.NewLike("index_fill", *b.grad())); });
}

// The slopes are viewed as [1, C, 1, ...]; one kernel makes dx and a slope gradient of x's size, which is summed.
void EnactPrelu(Machine& m, const Call& call, Outputs& out) {
  const TensorRef x = m.AutocastLow(call.input(0));
  TensorRef slope = m.AutocastLow(call.input(1));
  Dims view(x->dims.size(), 1);
  if (view.size() > 1) view[1] = NumElements(slope->dims);
  if (slope->dims != view && NumElements(view) == NumElements(slope->dims)) slope = View(m, slope, view);
  NodeRef node = m.MakeNode("PreluKernelBackward0", {x, slope});
  node.Save(x);
  node.Save(slope);
  out[0] = NewPointwise(m, "_prelu_kernel", {x, slope});
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    const TensorRef x = b.saved(0);
    TensorRef dx = NewPointwise(b.m, "_prelu_kernel_backward", {x, b.grad()});
    TensorRef dslope = b.m.Allocate(dx->dims, dx->dtype, dx->strides);
    b.result(0, dx);
    b.result(1, dslope);
  });
}

// lerp by a tensor: g * w for the end, g * (1 - w) for the start, g * (end - start) for the weight.
TensorRef LerpByTensor(Machine& m, const TensorRef& start, const TensorRef& end, const TensorRef& weight,
                       bool in_place) {
  NodeRef node = m.MakeNode("LerpBackward1", {start, end, weight});
  node.Save(node.needs(2) ? end : nullptr);
  if (node.needs(2)) {
    node.Save(in_place ? m.NewLike("clone", *start) : start);
  } else {
    node.Save(nullptr);
  }
  node.Save(weight);
  TensorRef y = in_place ? InPlace(m, "lerp_", start) : NewPointwise(m, "lerp", {start, end, weight});
  node.Output(y);
  node.Formula([](Backward& b) {
    const TensorRef end = b.saved(0), start = b.saved(1), weight = b.saved(2);
    if (b.needs(1)) b.result(1, NewPointwise(b.m, "mul", {b.grad(), weight}));
    if (b.needs(0)) b.result(0, RunPointwise(b.m, {"rsub", "mul"}, {b.grad(), weight}));
    if (b.needs(2)) b.result(2, RunPointwise(b.m, {"sub", "mul"}, {b.grad(), start, end}));
  });
  return y;
}

// lerp by a number: g * (1 - w) and g * w.
void EnactLerp(Machine& m, const Call& call, Outputs& out) {
  if (call.input(2) != nullptr) {
    out[0] = LerpByTensor(m, call.input(0), call.input(1), call.input(2), call.inplace());
    return;
  }
  NodeRef node = m.MakeNode("LerpBackward0", {call.input(0), call.input(1)});
  out[0] =
      call.inplace() ? InPlace(m, "lerp_", call.input(0)) : NewPointwise(m, "lerp", {call.input(0), call.input(1)});
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    for (size_t edge : {kOther, kSelf}) {
      if (b.needs(edge)) b.result(edge, b.m.NewLike("mul", *b.grad()));
    }
  });
}

}  // namespace

std::span<const OpRow> SelectionOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"index_fill", EnactIndexFill, 2},
      {"lerp", EnactLerp, 2},
      {"masked_fill", EnactMaskedFill, 2},
      {"masked_scatter", EnactMaskedScatter, 3},
      {"masked_select", EnactMaskedSelect, 2},
      {"prelu", EnactPrelu, 2},
      {"where", EnactWhere},
      {"xlogy", EnactXlogy, 2},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
