// What a program calls that gives a view of its operand, or a copy of it as another layout: the operators over views.h.
#include <algorithm>
#include <array>

#include "analyzer/eager/engine/copy_slices.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

Dims ToDims(const std::vector<int64_t>& values) { return Dims(values.begin(), values.end()); }

void EnactReshape(Machine& m, const Call& call, Outputs& out) {
  out[0] = Reshape(m, call.input(0), call.output_dims());
}

// A tensor of other dimensions, which a malformed file may permute, leaves the result to what the file says.
void EnactPermute(Machine& m, const Call& call, Outputs& out) {
  const Dims perm = ToDims(IntsAttribute(call.node, "perm"));
  if (perm.size() == call.input(0)->dims.size()) out[0] = Permute(m, call.input(0), perm);
}

void EnactExpand(Machine& m, const Call& call, Outputs& out) { out[0] = Expand(m, call.input(0), call.output_dims()); }

// at::alias, which x[:] gives (torch/csrc/autograd/python_variable_indexing.cpp): a view with the gradient of what it
// views, a parameter's too.
TensorRef Alias(Machine& m, const TensorRef& t) {
  NodeRef node = m.MakeNode("AliasBackward0", {t});
  TensorRef view = m.Alias(t, t->dims, t->strides);
  KnowAsView(m, t, view);
  node.Output(view);
  node.Formula([](Backward& b) { b.result(0, b.grad()); });
  return view;
}

void EnactSlice(Machine& m, const Call& call, Outputs& out) {
  const auto axes = IntsAttribute(call.node, "axes"), starts = IntsAttribute(call.node, "starts"),
             steps = IntsAttribute(call.node, "steps");
  const bool of_everything = IntAttribute(call.node, "of_everything", 0) != 0;
  TensorRef t = call.input(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const int64_t count = call.output_dims()[axis];
    const int64_t step = i < steps.size() ? steps[i] : 1;
    if (count == t->dims[axis] && step == 1 && !of_everything) continue;  // x[:] makes no slice
    t = SliceView(m, t, axes[i], count, step);
  }
  out[0] = t == call.input(0) ? Alias(m, t) : t;
}

void EnactSelect(Machine& m, const Call& call, Outputs& out) {
  out[0] = SelectView(m, call.input(0), IntAttribute(call.node, "axis", 0));
}

// split: views; backward concatenates the pieces' gradients (zeros for those without) once.
void EnactSplit(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("SplitBackward0", {x});
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = m.Alias(x, call.output_dims(i), x->strides);
    node.Output(out[i]);
  }
  const TensorMeta meta{x->dims, x->dtype};
  node.Formula([meta, n = out.size()](Backward& b) { JoinGradients(b, "cat", n, meta); });
}

void EnactUnbind(Machine& m, const Call& call, Outputs& out) {
  std::vector<TensorRef> pieces = Unbind(m, call.input(0), IntAttribute(call.node, "axis", 0));
  for (size_t i = 0; i < out.size() && i < pieces.size(); ++i) out[i] = std::move(pieces[i]);
}

// squeeze, unsqueeze: the output's shape says which axes; always a view.
void EnactViewOfOutputShape(Machine& m, const Call& call, Outputs& out) {
  out[0] = View(m, call.input(0), call.output_dims(), "UnsqueezeBackward0");
}

void EnactContiguous(Machine& m, const Call& call, Outputs& out) { out[0] = Contiguous(m, call.input(0)); }
void EnactIdentity(Machine&, const Call& call, Outputs& out) { out[0] = call.input(0); }
void EnactUnsafeView(Machine& m, const Call& call, Outputs& out) {
  out[0] = UnsafeView(m, call.input(0), call.output_dims());
}

// Attribute "strides": of the result, in elements. Backward: zeros of the input's size, into which the gradient is
// written where no element is met twice.
void EnactAsStrided(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const Dims& dims = call.output_dims();
  const Dims strides = ToDims(IntsAttribute(call.node, "strides"));
  if (strides.size() != dims.size()) return;
  out[0] = PartView(m, x, dims, strides, "AsStridedBackward0", "new_zeros");
}

// Tensor.requires_grad_(): a leaf from here on, whose gradient stays.
void EnactLeaf(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  if (x->requires_grad || !m.run().training) {
    out[0] = x;
    return;
  }
  out[0] = m.Alias(x, x->dims, x->strides, x->is_view);
  out[0]->requires_grad = IsDifferentiable(x->dtype);
  out[0]->is_leaf_parameter = out[0]->requires_grad;
}

// Tensor.copy_() over all of x, which may be a view. Inputs: x, y.
void EnactCopy(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &y = call.input(1);
  NodeRef node = m.MakeNode("CopyBackwards", {x, y});
  out[0] = InPlace(m, "copy_", x);
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    if (b.needs(0)) b.result(0, b.m.NewLike("zeros_like", *b.grad()));
    b.result(1, b.grad());
  });
}

// What writes numbers over x: fill_, zero_, bernoulli_, normal_.
void EnactOverwrite(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("FillBackward0", {x});
  out[0] = InPlace(m, "fill_", x);
  node.Output(out[0]);
  node.Formula([](Backward& b) { b.result(0, b.m.NewLike("zeros_like", *b.grad())); });
}

void EnactClone(Machine& m, const Call& call, Outputs& out) {
  if (IntAttribute(call.node, "channels_last", 0) != 0 && call.output_dims().size() >= 4) {
    out[0] = CloneAs(m, call.input(0), ChannelsLastStrides(call.input(0)->dims));
    return;
  }
  out[0] = Clone(m, call.input(0), IntAttribute(call.node, "contiguous", 0) != 0);
}

void EnactDetach(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  out[0] = m.Alias(x, x->dims, x->strides);
}

// The diagonal of the last two dimensions.
void EnactDiagonal(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  Dims strides(x->strides.begin(), x->strides.end() - 2);
  strides.push_back(x->strides[x->strides.size() - 2] + x->strides.back());
  out[0] = PartView(m, x, call.output_dims(), strides, "DiagonalBackward0", "diagonal_backward");
}

// Strides of `dims`, windows of x along an axis, their elements in a new last dimension.
Dims WindowStrides(const TensorRef& x, const Dims& dims, size_t axis) {
  const int64_t windows = dims[axis], step = windows > 1 ? Quotient(x->dims[axis] - dims.back(), windows - 1) : 1;
  Dims strides = x->strides;
  strides.push_back(strides[axis]);
  strides[axis] *= step;
  return strides;
}

// Tensor.unfold.
void EnactUnfold(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const Dims& dims = call.output_dims();
  const auto axis = static_cast<size_t>(IntAttribute(call.node, "axis", 0));
  out[0] = PartView(m, x, dims, WindowStrides(x, dims, axis), "UnfoldBackward0", "unfold_backward");
}

// The sum of windows that overlap, as torch.istft adds them. Its gradient is a view: the windows of the result's.
void EnactUnfoldBackward(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("UnfoldBackwardBackward0", {x});
  out[0] = m.New("unfold_backward", call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([dims = x->dims, axis = static_cast<size_t>(IntAttribute(call.node, "axis", 0))](Backward& b) {
    b.result(0, b.m.Alias(b.grad(), dims, WindowStrides(b.grad(), dims, axis)));
  });
}

// The same bytes read as another type, without a gradient.
void EnactViewDtype(Machine& m, const Call& call, Outputs& out) {
  EnactDetach(m, call, out);
  out[0]->dtype = call.output().dtype;
}

bool HasAxis(const CallShape& call) { return call.AxisWithin("axis", call.rank(0)); }
bool SlidesAlongAxis(const CallShape& call) { return HasAxis(call) && call.output_rank() == call.rank(0) + 1; }
bool AddsAlongAxis(const CallShape& call) {
  return call.AxisWithin("axis", call.output_rank()) && call.output_rank() + 1 == call.rank(0);
}

bool KeepsAxes(const CallShape& call) {
  return call.output_rank() == call.rank(0) && call.AxesWithin("axes", call.rank(0)) &&
         IntsAttribute(call.node, "starts").size() >= IntsAttribute(call.node, "axes").size();
}

// All are made, whatever the graph takes of them.
bool HasFewPieces(const CallShape& call) {
  constexpr int64_t kMostPieces = 4096;
  if (!HasAxis(call)) return false;
  const int64_t axis = IntAttribute(call.node, "axis", 0);
  const int64_t pieces = (*call.inputs[0])[static_cast<size_t>(axis)];
  return pieces <= std::max<int64_t>(kMostPieces, std::ssize(call.node.outputs));
}

}  // namespace

std::span<const OpRow> ViewOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"as_strided", EnactAsStrided},
      {"clone", EnactClone},
      {"contiguous", EnactContiguous},
      {"copy", EnactCopy, 2},
      {"detach", EnactDetach},
      {"diagonal", EnactDiagonal, 1, 2},
      {"expand", EnactExpand},
      {"identity", EnactIdentity},
      {"leaf", EnactLeaf},
      {"overwrite", EnactOverwrite},
      {"permute", EnactPermute},
      {"reshape", EnactReshape},
      {"select", EnactSelect, 1, 1, HasAxis},
      {"slice", EnactSlice, 1, 0, KeepsAxes},
      {"split", EnactSplit, 1, 1},
      {"squeeze", EnactViewOfOutputShape},
      {"unbind", EnactUnbind, 1, 1, HasFewPieces},
      {"unfold", EnactUnfold, 1, 1, SlidesAlongAxis},
      {"unfold_backward", EnactUnfoldBackward, 1, 2, AddsAlongAxis},
      {"unsafe_view", EnactUnsafeView},
      {"unsqueeze", EnactViewOfOutputShape},
      {"view_dtype", EnactViewDtype},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
