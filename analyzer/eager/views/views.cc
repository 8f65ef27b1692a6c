// View operators. Forward shares the storage; backward is where they cost: zeros of the whole input per slice or
// select, one cat per split, a sum per expand. Sources: tools/autograd/derivatives.yaml, torch/csrc/autograd/
// FunctionsManual.cpp.
#include "analyzer/eager/views/views.h"

#include <algorithm>
#include <array>

#include "analyzer/eager/engine/copy_slices.h"

namespace onnx_mem::eager {
namespace {

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

void JoinGradients(Backward& b, std::string_view op, size_t count, const TensorMeta& meta) {
  std::vector<TensorRef> pieces;
  for (size_t i = 0; i < count; ++i) {
    const bool missing = b.grad(i) == nullptr;
    pieces.push_back(missing ? b.m.New("zeros", b.output_meta(i).dims, b.output_meta(i).dtype) : b.grad(i));
  }
  b.result(0, b.m.New(op, meta.dims, meta.dtype));
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
  node.Formula(
      [meta = TensorMeta{x->dims, x->dtype}, n = pieces.size()](Backward& b) { JoinGradients(b, "stack", n, meta); });
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

TensorRef PartView(Machine& m, const TensorRef& t, const Dims& dims, const Dims& strides, std::string_view node,
                   std::string_view backward) {
  NodeRef made = m.MakeNode(node, {t});
  TensorRef view = m.Alias(t, dims, strides);
  KnowAsView(m, t, view);
  made.Output(view);
  made.Formula([backward, whole = t->dims](Backward& b) { b.result(0, b.m.New(backward, whole, b.grad()->dtype)); });
  return view;
}

TensorRef SliceView(Machine& m, const TensorRef& t, int64_t axis, int64_t count, int64_t step) {
  Dims dims = t->dims, strides = t->strides;
  dims[static_cast<size_t>(axis)] = count;
  strides[static_cast<size_t>(axis)] *= step;
  return PartView(m, t, dims, strides, "SliceBackward0", "slice_backward");
}

TensorRef SelectView(Machine& m, const TensorRef& t, int64_t axis) {
  Dims dims = t->dims, strides = t->strides;
  dims.erase(dims.begin() + axis);
  strides.erase(strides.begin() + axis);
  return PartView(m, t, dims, strides, "SelectBackward0", "select_backward");
}

}  // namespace onnx_mem::eager
