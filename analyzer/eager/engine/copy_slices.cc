#include "analyzer/eager/engine/copy_slices.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace onnx_mem::eager {
namespace {

// Views by one operator with one result. Several results (split, unbind) may not be written over at all, and an unsafe
// view is none to autograd.
constexpr auto kViews = std::to_array<std::string_view>({"ViewBackward0", "PermuteBackward0", "ExpandBackward0",
                                                         "SliceBackward0", "SelectBackward0", "UnsqueezeBackward0"});

bool IsView(const AutogradNode& node) { return std::find(kViews.begin(), kViews.end(), node.name) != kViews.end(); }

Edge BaseOf(Machine& m, Edge edge) {
  while (IsView(m.node(edge.node))) edge = m.node(edge.node).edges[0];
  return edge;
}

}  // namespace

Edge ViewEdge(Machine& m, const EagerTensor& x) {
  if (!x.is_view || x.grad_edge.node < 0 || !IsView(m.node(x.grad_edge.node))) return {};
  return x.grad_edge;
}

void RebaseHistory(Machine& m, int32_t node, const TensorRef& result) {
  const Edge base = BaseOf(m, result->view_edge);
  const TensorMeta base_meta = m.node(base.node).outputs[static_cast<size_t>(base.output_nr)];
  AutogradNode& slices = m.node(node);
  slices.name = "CopySlices";
  slices.edges[0] = base;
  slices.outputs = {base_meta};
  slices.view = TensorMeta{result->dims, result->dtype};
  result->view_edge = {};
  result->grad_edge = Edge{node, 0};
  result->requires_grad = true;
  NodeRef strided = m.MakeNode("AsStridedBackward0", {result});
  strided.Output(result);
  strided.Formula([base_meta](Backward& b) { b.result(0, b.m.New("new_zeros", base_meta.dims, base_meta.dtype)); });
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
