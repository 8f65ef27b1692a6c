#include "analyzer/eager/calls.h"

namespace onnx_mem::eager {

Calls::Calls(const Graph& graph) {
  std::vector<int32_t> open;
  const std::vector<std::string>* open_path = nullptr;
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    const std::vector<std::string>& path = graph.nodes[NodeId(i)].calls;
    if (path.empty()) {
      of_node_.emplace_back();
      continue;
    }
    size_t common = 0;
    while (open_path != nullptr && common < path.size() && common < open.size() && path[common] == (*open_path)[common]) {
      ++common;
    }
    open.resize(common);
    for (size_t depth = common; depth < path.size(); ++depth) {
      open.push_back(static_cast<int32_t>(spans_.size()));
      spans_.push_back({path[depth], i, i});
    }
    for (int32_t call : open) spans_[static_cast<size_t>(call)].end = i;
    open_path = &path;
    of_node_.push_back(open);
  }
  // A node that an optimizer put in says no path; it runs inside the calls that go on around it.
  for (size_t i = 1; i < of_node_.size(); ++i) {
    if (!graph.nodes[NodeId(static_cast<int32_t>(i))].calls.empty()) continue;
    for (int32_t call : of_node_[i - 1]) {
      if (spans_[static_cast<size_t>(call)].end <= static_cast<int32_t>(i)) break;
      of_node_[i].push_back(call);
    }
  }
}

std::span<const int32_t> Calls::of_node(int32_t node) const {
  if (node < 0 || node >= static_cast<int32_t>(of_node_.size())) return {};
  return of_node_[static_cast<size_t>(node)];
}

std::optional<int32_t> Calls::EndOfCallEntered(int32_t maker, int32_t reader) const {
  const std::span<const int32_t> inside = of_node(reader), outside = of_node(maker);
  for (size_t depth = 0; depth < inside.size(); ++depth) {
    if (depth < outside.size() && outside[depth] == inside[depth]) continue;
    return span(inside[depth]).end;
  }
  return std::nullopt;
}

int32_t Calls::EndOfFrame(int32_t node) const { return EndOfFrameAt(node, of_node(node).size()); }

int32_t Calls::UnitCall(int32_t node, size_t depth) const {
  const std::span<const int32_t> inside = of_node(node);
  return depth < inside.size() ? inside[depth] : -1;
}

int32_t Calls::UnitEnd(int32_t node, size_t depth) const {
  const int32_t call = UnitCall(node, depth);
  return call < 0 ? node : span(call).end;
}

int32_t Calls::EndOfFrameAt(int32_t node, size_t depth) const {
  if (depth == 0) return static_cast<int32_t>(of_node_.size()) - 1;
  return span(of_node(node)[depth - 1]).end;
}

}  // namespace onnx_mem::eager
