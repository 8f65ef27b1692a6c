// View operators. Forward shares the storage; backward is where they cost: zeros of the whole input per slice or
// select, one cat per split, a sum per expand. Sources: tools/autograd/derivatives.yaml, torch/csrc/autograd/
// FunctionsManual.cpp.
#include "analyzer/eager/views/views.h"

#include <array>

#include "analyzer/eager/engine/copy_slices.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"

namespace onnx_mem::eager {
namespace {

Dims ToDims(const std::vector<int64_t>& values) { return Dims(values.begin(), values.end()); }

Dims InversePermutation(const Dims& perm) {
  Dims inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return inverse;
}

TensorRef PermuteAlias(Machine& m, const TensorRef& t, const Dims& perm) {
  Dims dims(perm.size()), strides(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    dims[i] = t->dims[static_cast<size_t>(perm[i])];
    strides[i] = t->strides[static_cast<size_t>(perm[i])];
  }
  return m.Alias(t, dims, strides);
}

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
  TensorRef t = call.input(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const int64_t count = call.output_dims()[axis];
    const int64_t step = i < steps.size() ? steps[i] : 1;
    if (count == t->dims[axis] && step == 1) continue;  // x[:] of everything makes no slice
    t = SliceView(m, t, axes[i], starts[i], count, step);
  }
  out[0] = t == call.input(0) ? Alias(m, t) : t;
}

void EnactSelect(Machine& m, const Call& call, Outputs& out) {
  out[0] = SelectView(m, call.input(0), IntAttribute(call.node, "axis", 0), IntAttribute(call.node, "index", 0));
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
  node.Formula([meta, n = out.size()](Backward& b) {
    std::vector<TensorRef> pieces;
    for (size_t i = 0; i < n; ++i) {
      const bool missing = b.grad(i) == nullptr;
      pieces.push_back(missing ? b.m.New("zeros", b.output_meta(i).dims, b.output_meta(i).dtype) : b.grad(i));
    }
    b.result(0, b.m.New("cat", meta.dims, meta.dtype));
  });
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
  NodeRef node = m.MakeNode("AsStridedBackward0", {x});
  out[0] = m.Alias(x, dims, strides);
  KnowAsView(m, x, out[0]);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) { b.result(0, b.m.New("new_zeros", dims, b.grad()->dtype)); });
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
  NodeRef node = m.MakeNode("DiagonalBackward0", {x});
  Dims strides(x->strides.begin(), x->strides.end() - 2);
  strides.push_back(x->strides[x->strides.size() - 2] + x->strides.back());
  out[0] = m.Alias(x, call.output_dims(), strides);
  KnowAsView(m, x, out[0]);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) { b.result(0, b.m.New("diagonal_backward", dims, b.grad()->dtype)); });
}

// Tensor.unfold: windows along an axis, their elements in a new last dimension.
void EnactUnfold(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const Dims& dims = call.output_dims();
  const auto axis = static_cast<size_t>(IntAttribute(call.node, "axis", 0));
  const int64_t windows = dims[axis], step = windows > 1 ? Quotient(x->dims[axis] - dims.back(), windows - 1) : 1;
  NodeRef node = m.MakeNode("UnfoldBackward0", {x});
  Dims strides = x->strides;
  strides.push_back(strides[axis]);
  strides[axis] *= step;
  out[0] = m.Alias(x, dims, strides);
  KnowAsView(m, x, out[0]);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) { b.result(0, b.m.New("unfold_backward", dims, b.grad()->dtype)); });
}

// The same bytes read as another type, without a gradient.
void EnactViewDtype(Machine& m, const Call& call, Outputs& out) {
  EnactDetach(m, call, out);
  out[0]->dtype = call.output().dtype;
}

}  // namespace

TensorRef View(Machine& m, const TensorRef& t, const Dims& dims, std::string_view backward) {
  const std::optional<Dims> strides = ViewStrides(*t, dims);
  if (!strides) return Reshape(m, t, dims);
  NodeRef node = m.MakeNode(backward, {t});
  TensorRef view = m.Alias(t, dims, *strides);
  KnowAsView(m, t, view);
  node.Output(view);
  node.Formula([original = t->dims](Backward& b) { b.result(0, Reshape(b.m, b.grad(), original)); });
  return view;
}

TensorRef UnsafeView(Machine& m, const TensorRef& t, const Dims& dims) {
  NodeRef node = m.MakeNode("UnsafeViewBackward0", {t});
  TensorRef view = m.Alias(t, dims, ContiguousStrides(dims), t->is_view);
  node.Output(view);
  node.Formula([original = t->dims](Backward& b) { b.result(0, Reshape(b.m, b.grad(), original)); });
  return view;
}

TensorRef Reshape(Machine& m, const TensorRef& t, const Dims& dims) {
  if (ViewStrides(*t, dims)) return View(m, t, dims);
  return UnsafeView(m, Clone(m, t, /*contiguous=*/true), dims);
}

TensorRef Permute(Machine& m, const TensorRef& t, const Dims& perm) {
  NodeRef node = m.MakeNode("PermuteBackward0", {t});
  TensorRef view = PermuteAlias(m, t, perm);
  KnowAsView(m, t, view);
  node.Output(view);
  node.Formula(
      [inverse = InversePermutation(perm)](Backward& b) { b.result(0, PermuteAlias(b.m, b.grad(), inverse)); });
  return view;
}

TensorRef Transpose(Machine& m, const TensorRef& t, int64_t dim0, int64_t dim1) {
  Dims perm(t->dims.size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[static_cast<size_t>(dim0)], perm[static_cast<size_t>(dim1)]);
  return Permute(m, t, perm);
}

TensorRef Expand(Machine& m, const TensorRef& t, const Dims& dims) {
  NodeRef node = m.MakeNode("ExpandBackward0", {t});
  TensorRef view = m.Alias(t, dims, ExpandStrides(*t, dims));
  KnowAsView(m, t, view);
  node.Output(view);
  node.Formula([original = t->dims](Backward& b) {
    // at::sum_to: the very same tensor where nothing was expanded; leading dimensions are summed even when they are 1.
    const TensorRef& g = b.grad();
    if (g->dims == original) return b.result(0, g);
    const TensorRef sum = b.m.New("sum", original, g->dtype);
    sum->is_view = g->dims.size() > original.size();  // as Validate in engine/autograd.cc
    b.result(0, sum);
  });
  return view;
}

std::vector<TensorRef> Unbind(Machine& m, const TensorRef& x, int64_t axis) {
  NodeRef node = m.MakeNode("UnbindBackward0", {x});
  Dims dims = x->dims, strides = x->strides;
  dims.erase(dims.begin() + axis);
  strides.erase(strides.begin() + axis);
  std::vector<TensorRef> pieces(static_cast<size_t>(x->dims[static_cast<size_t>(axis)]));
  for (TensorRef& piece : pieces) {
    piece = m.Alias(x, dims, strides);
    node.Output(piece);
  }
  node.Formula([meta = TensorMeta{x->dims, x->dtype}, n = pieces.size()](Backward& b) {
    std::vector<TensorRef> grads;
    for (size_t i = 0; i < n; ++i) {
      const bool missing = b.grad(i) == nullptr;
      grads.push_back(missing ? b.m.New("zeros", b.output_meta(i).dims, b.output_meta(i).dtype) : b.grad(i));
    }
    b.result(0, b.m.New("stack", meta.dims, meta.dtype));
  });
  return pieces;
}

TensorRef Clone(Machine& m, const TensorRef& t, bool contiguous) {
  return CloneAs(m, t, contiguous ? ContiguousStrides(t->dims) : LikeStrides(*t));
}

TensorRef CloneAs(Machine& m, const TensorRef& t, const Dims& strides) {
  NodeRef node = m.MakeNode("CloneBackward0", {t});
  TensorRef copy = m.New("clone", t->dims, t->dtype, strides);
  node.Output(copy);
  node.Formula([](Backward& b) { b.result(0, b.grad()); });
  return copy;
}

TensorRef Contiguous(Machine& m, const TensorRef& t) { return IsContiguous(*t) ? t : Clone(m, t, /*contiguous=*/true); }

TensorRef SliceView(Machine& m, const TensorRef& t, int64_t axis, int64_t /*start*/, int64_t count, int64_t step) {
  NodeRef node = m.MakeNode("SliceBackward0", {t});
  Dims dims = t->dims, strides = t->strides;
  dims[static_cast<size_t>(axis)] = count;
  strides[static_cast<size_t>(axis)] *= step;
  TensorRef view = m.Alias(t, dims, strides);
  KnowAsView(m, t, view);
  node.Output(view);
  node.Formula([meta = t->dims](Backward& b) { b.result(0, b.m.New("slice_backward", meta, b.grad()->dtype)); });
  return view;
}

TensorRef SelectView(Machine& m, const TensorRef& t, int64_t axis, int64_t /*index*/) {
  NodeRef node = m.MakeNode("SelectBackward0", {t});
  Dims dims = t->dims, strides = t->strides;
  dims.erase(dims.begin() + axis);
  strides.erase(strides.begin() + axis);
  TensorRef view = m.Alias(t, dims, strides);
  KnowAsView(m, t, view);
  node.Output(view);
  node.Formula([meta = t->dims](Backward& b) { b.result(0, b.m.New("select_backward", meta, b.grad()->dtype)); });
  return view;
}

namespace {

bool HasAxis(const CallShape& call) { return call.AxisWithin("axis", call.rank(0)); }
bool SlidesAlongAxis(const CallShape& call) { return HasAxis(call) && call.output_rank() == call.rank(0) + 1; }

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
      {"unsafe_view", EnactUnsafeView},
      {"unsqueeze", EnactViewOfOutputShape},
      {"view_dtype", EnactViewDtype},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
