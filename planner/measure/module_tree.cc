#include "planner/measure/module_tree.h"

#include <algorithm>
#include <charconv>

namespace onnx_mem {
namespace {

// A call as scopes name it ("layer1.0.relu_1", "net@1") against the path of a module; containers that node names do
// not show ("a.fc" for "d.a.fc") are allowed for.
bool IsCallOf(std::string_view call, std::string_view path) {
  const auto same = [&](std::string_view text) {
    return path == text || (path.size() > text.size() && path.substr(path.size() - text.size()) == text &&
                            path[path.size() - text.size() - 1] == '.');
  };
  if (same(call)) return true;
  const size_t mark = call.find_last_of("_@");
  if (mark == std::string_view::npos || mark + 1 == call.size()) return false;
  const std::string_view digits = call.substr(mark + 1);
  return digits.find_first_not_of("0123456789") == std::string_view::npos && same(call.substr(0, mark));
}

}  // namespace

std::optional<int> ChildNumber(std::string_view path) {
  const size_t dot = path.rfind('.');
  const std::string_view leaf = dot == std::string_view::npos ? path : path.substr(dot + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(leaf.data(), leaf.data() + leaf.size(), number);
  if (error != std::errc() || end != leaf.data() + leaf.size()) return std::nullopt;
  return number;
}

ModuleTree::ModuleTree(const FrameworkGraph& graph) : graph_(graph) {
  modules_.push_back({.called = true});
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) AddNode(graph.nodes[NodeId(i)], i);
}

bool ModuleTree::IsSequential(size_t index) const {
  const Module& module = modules_[index];
  if (!module.called || module.own_count > 0 || module.children.size() < 2) return false;
  int before = -1;
  for (size_t child : module.children) {
    const std::optional<int> number = ChildNumber(modules_[child].path);
    if (!number || *number <= before || !modules_[child].contiguous() || !modules_[child].called) return false;
    before = *number;
  }
  for (size_t i = 0; i < module.children.size(); ++i) {
    const std::set<TensorId> inputs = Incoming(modules_[module.children[i]]);
    if (inputs.size() != 1) return false;
    if (i > 0) {
      const Module& previous = modules_[module.children[i - 1]];
      const NodeId producer = graph_.tensors[*inputs.begin()].producer;
      if (!producer.valid() || producer.value() < previous.first || producer.value() > previous.last) return false;
    }
  }
  return true;
}

bool ModuleTree::CalledTwice(const Module& module) const {
  std::map<std::string, std::set<std::string>> calls_of;
  for (int32_t i = module.first; i <= module.last; ++i) {
    const FrameworkNode& node = graph_.nodes[NodeId(i)];
    if (!ReadsWeights(node) || node.calls.empty()) continue;
    calls_of[node.module].insert(node.calls.back());
  }
  return module.calls.size() > 1 ||
         (!calls_of.empty() &&
          std::all_of(calls_of.begin(), calls_of.end(), [](const auto& entry) { return entry.second.size() > 1; }));
}

bool ModuleTree::ReadsWeights(const FrameworkNode& node) const {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](TensorId id) { return id.valid() && graph_.tensors[id].role == TensorRole::kInitializer; });
}

size_t ModuleTree::Find(const std::string& path, size_t parent, int32_t node) {
  const auto [entry, is_new] = index_.try_emplace(path, modules_.size());
  if (is_new) {
    modules_.push_back({.path = path, .first = node});
    modules_[parent].children.push_back(entry->second);
  }
  return entry->second;
}

void ModuleTree::AddNode(const FrameworkNode& node, int32_t index) {
  size_t at = 0;
  Touch(0, index);
  size_t call = 0;
  for (size_t end = node.module.find('.'); !node.module.empty(); end = node.module.find('.', end + 1)) {
    at = Find(node.module.substr(0, end), at, index);
    Touch(at, index);
    if (call < node.calls.size() && IsCallOf(node.calls[call], modules_[at].path)) {
      modules_[at].called = true;
      modules_[at].calls.insert(node.calls[call++]);
    }
    if (end == std::string::npos) break;
  }
  ++modules_[at].own_count;
}

void ModuleTree::Touch(size_t at, int32_t index) {
  modules_[at].last = index;
  ++modules_[at].count;
}

std::set<TensorId> ModuleTree::Incoming(const Module& module) const {
  std::set<TensorId> inputs;
  for (int32_t i = module.first; i <= module.last; ++i) {
    for (TensorId id : graph_.nodes[NodeId(i)].inputs) {
      if (!id.valid()) continue;
      const Tensor& tensor = graph_.tensors[id];
      if (tensor.role == TensorRole::kInitializer || tensor.role == TensorRole::kConstant) continue;
      if (tensor.producer.valid() && tensor.producer.value() >= module.first) continue;
      inputs.insert(id);
    }
  }
  return inputs;
}

}  // namespace onnx_mem
