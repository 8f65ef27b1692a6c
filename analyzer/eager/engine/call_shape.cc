#include "analyzer/eager/engine/call_shape.h"

#include <algorithm>
#include <vector>

namespace onnx_mem::eager {

bool CallShape::AxisWithin(std::string_view name, int64_t rank, int64_t fallback) const {
  const int64_t axis = IntAttribute(node, name, fallback);
  return axis >= -rank && axis < rank;
}

bool CallShape::AxesWithin(std::string_view name, int64_t rank) const {
  const std::vector<int64_t> axes = IntsAttribute(node, name);
  return std::all_of(axes.begin(), axes.end(), [rank](int64_t axis) { return axis >= -rank && axis < rank; });
}

CallShape ShapeOfCall(const FrameworkGraph& graph, const FrameworkNode& node) {
  CallShape call{.node = node, .inputs = {}};
  for (TensorId id : node.inputs) call.inputs.push_back(id.valid() ? &graph.tensors[id].shape.dims : nullptr);
  const auto made = std::find_if(node.outputs.begin(), node.outputs.end(), [](TensorId id) { return id.valid(); });
  if (made != node.outputs.end()) call.output = &graph.tensors[*made].shape.dims;
  return call;
}

}  // namespace onnx_mem::eager
