#include "analyzer/eager/engine/copy_slices.h"

#include <utility>
#include <vector>

namespace onnx_mem::eager {
namespace {

const TensorRef& BaseNow(const EagerTensor& view) {
  const TensorRef* base = &view.base;
  while ((*base)->successor != nullptr) base = &(*base)->successor;
  return *base;
}

void MakeStrided(Machine& m, const TensorRef& view, const TensorRef& base) {
  const TensorMeta base_meta{base->dims, base->dtype};
  view->version = view->storage->version;
  NodeRef strided = m.MakeNode("AsStridedBackward0", {base});
  strided.Output(view);
  strided.Formula([base_meta](Backward& b) { b.result(0, b.m.New("new_zeros", base_meta.dims, base_meta.dtype)); });
}

}  // namespace

void KnowAsView(const Machine& m, const TensorRef& x, const TensorRef& view) {
  if (!m.grad_enabled() || !m.run().training) return;
  view->base = x->base != nullptr ? x->base : x;
  view->version = view->storage->version;
}

void WriteOver(const TensorRef& x, const TensorRef& result) {
  result->base = x->base;
  result->rebases = x->base != nullptr;
  result->version = ++result->storage->version;
  x->successor = result;
}

void RebaseHistory(Machine& m, int32_t node, const TensorRef& result) {
  result->rebases = false;
  const TensorRef& base = BaseNow(*result);
  const TensorMeta base_meta{base->dims, base->dtype};
  AutogradNode& slices = m.node(node);
  slices.name = "CopySlices";
  slices.edges[0] = base->grad_edge;
  slices.outputs = {base_meta};
  slices.view = std::make_unique<TensorMeta>(TensorMeta{result->dims, result->dtype});
  base->grad_edge = m.EdgeTo(node, 0);
  base->requires_grad = true;
  MakeStrided(m, result, base);
}

void RefreshHistory(Machine& m, const TensorRef& view) {
  if (view->base == nullptr || view->version == view->storage->version) return;
  const TensorRef base = BaseNow(*view);
  if (base->requires_grad) MakeStrided(m, view, base);
}

Formula ThroughView(Formula formula, TensorMeta base, TensorMeta view) {
  return [formula = std::move(formula), base = std::move(base), view = std::move(view)](Backward& b) {
    TensorRef result = b.m.New("new_empty_strided", base.dims, base.dtype);
    b.m.BeginStep("copy_");
    std::vector<TensorRef> slice = {b.m.New("clone", view.dims, view.dtype)};
    b.results() = b.ResultsOf(formula, slice);
    slice.clear();
    b.m.BeginStep("copy_");
    b.result(0, std::move(result));
  };
}

}  // namespace onnx_mem::eager
