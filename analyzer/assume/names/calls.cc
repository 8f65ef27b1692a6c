#include "analyzer/assume/names/calls.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analyzer/graph/absl_view.h"

namespace onnx_mem::names {
namespace {

// A module that is called again and again, with modules inside, is numbered by the exporter where its code continues
// after a call, but not inside, and not at all if it has no operators of its own: "group/layer/query_2",
// "group/layer_1", "group/layer/dense_2". The modules inside say which call it is.
class CallNumbers {
 public:
  explicit CallNumbers(const FrameworkGraph& graph) {
    for (const FrameworkNode& node : graph.nodes) {
      for (size_t i = 0; i < node.calls.size(); ++i) {
        const auto [plain, number] = SplitCallNumber(node.calls[i]);
        Module& module = modules_[View(plain)];
        module.numbers.insert(number);
        if (i + 1 < node.calls.size()) module.inside.insert(SplitCallNumber(node.calls[i + 1]).first);
        if (i + 1 == node.calls.size()) module.inside.insert("");
      }
    }
  }

  std::vector<std::string> Corrected(const std::vector<std::string>& path) const {
    std::vector<std::string> corrected = path;
    for (size_t i = path.size(); i-- > 1;) {
      const std::string_view outer = SplitCallNumber(path[i - 1]).first;
      const auto [inner, number] = SplitCallNumber(corrected[i]);
      if (inner.size() <= outer.size() || !inner.starts_with(outer) || inner[outer.size()] != '.') continue;
      const Module &around = modules_.at(View(outer)), &within = modules_.at(View(inner));
      if (!within.numbers.contains("")) continue;  // a name that ends in a number: "layers.layer_0"
      const bool is_numbered = around.numbers.size() > 1 && around.numbers == within.numbers;
      const bool only_passes_on = around.numbers.size() == 1 && around.inside.size() == 1;
      if (is_numbered || only_passes_on) corrected[i - 1] = std::string(outer) + std::string(number);
    }
    return corrected;
  }

 private:
  struct Module {
    std::set<std::string_view> numbers;  // of its calls
    std::set<std::string_view> inside;   // modules that it calls, "" where it has operators of its own
  };
  absl::flat_hash_map<absl::string_view, Module> modules_;
};

}  // namespace

bool IsElement(std::string_view name) {
  const std::string_view path = WithoutCallNumber(name);
  const size_t dot = path.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? path : path.substr(dot + 1);
  return !last.empty() && last.find_first_not_of("0123456789") == std::string_view::npos;
}

Calls::Calls(const FrameworkGraph& graph) {
  const CallNumbers numbers(graph);
  of_node_.reserve(graph.nodes.size());
  Around open;
  std::vector<std::string> open_path;
  const std::vector<std::string>* before = nullptr;  // of the last node with a path, as the graph has it
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    const FrameworkNode& node = graph.nodes[NodeId(i)];
    const std::vector<std::string>& calls = node.calls;
    if (calls.empty()) {
      of_node_.emplace_back();
      if (node.source_trace == nullptr) continue;
      open.clear();
      before = nullptr;
      continue;
    }
    if (before != nullptr && calls == *before) {  // as most: nodes of one call follow each other
      for (int32_t call : open) spans_[static_cast<size_t>(call)].end = i;
      of_node_.push_back(open);
      continue;
    }
    before = &calls;
    std::vector<std::string> path = numbers.Corrected(calls);
    size_t common = 0;
    while (common < path.size() && common < open.size() && path[common] == open_path[common]) ++common;
    open.resize(common);
    for (size_t depth = common; depth < path.size(); ++depth) {
      open.push_back(static_cast<int32_t>(spans_.size()));
      spans_.push_back({path[depth], i, i});
    }
    for (int32_t call : open) spans_[static_cast<size_t>(call)].end = i;
    open_path = std::move(path);
    of_node_.push_back(open);
  }
  PlaceInserted(graph);
}

// A node that an optimizer put in has no path; it runs inside the calls that go on around it.
void Calls::PlaceInserted(const FrameworkGraph& graph) {
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

size_t Calls::CommonDepth(const FrameworkGraph& graph, TensorId id) const {
  const Tensor& tensor = graph.tensors[id];
  const std::span<const int32_t> maker = of_node(tensor.producer.value());
  size_t depth = maker.size();
  for (NodeId reader : tensor.consumers) {
    const std::span<const int32_t> inside = of_node(reader.value());
    size_t common = 0;
    while (common < depth && common < inside.size() && inside[common] == maker[common]) ++common;
    depth = common;
  }
  return depth;
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

}  // namespace onnx_mem::names
