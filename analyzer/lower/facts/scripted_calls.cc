#include "analyzer/lower/facts/scripted_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace onnx_mem {
namespace {

// Nodes that are joined by what they hand to each other, each group named by one of its nodes.
class JoinedNodes {
 public:
  explicit JoinedNodes(size_t count) {
    while (parent_.size() < count) parent_.Add(parent_.next_id());
  }
  NodeId Of(NodeId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void Join(NodeId a, NodeId b) { parent_[Of(a)] = Of(b); }

 private:
  IdVector<NodeId, NodeId> parent_;
};

std::string OwnerOf(const std::string& parameter) {
  const size_t dot = parameter.rfind('.');
  const bool made_up = parameter.find_first_of("/:") != std::string::npos;
  return dot == std::string::npos || made_up ? std::string() : parameter.substr(0, dot);
}

// The module's call, and those of the modules around it that the file shows.
CallScope ScopeOf(const std::string& module, const std::set<std::string>& calls) {
  CallScope scope;
  scope.module = module;
  for (size_t dot = module.find('.'); dot != std::string::npos; dot = module.find('.', dot + 1)) {
    if (calls.contains(module.substr(0, dot))) scope.calls.push_back(module.substr(0, dot));
  }
  scope.calls.push_back(module);
  return scope;
}

using Owners = std::map<NodeId, std::set<std::string>>;  // by group

// The one module of each group that no other group has.
std::map<NodeId, std::string> OwnModules(const Owners& owners) {
  std::map<std::string, int> groups;
  for (const auto& [group, modules] : owners) {
    for (const std::string& module : modules) ++groups[module];
  }
  std::map<NodeId, std::string> own;
  for (const auto& [group, modules] : owners) {
    if (modules.size() == 1 && groups[*modules.begin()] == 1) own[group] = *modules.begin();
  }
  return own;
}

}  // namespace

void PlaceScriptedCalls(const Graph& graph, const IdVector<NodeId, bool>& runs, IdVector<NodeId, CallScope>& scopes) {
  const auto is_scripted = [&](NodeId id) {
    return id.valid() && runs[id] && graph.nodes[id].op != "Constant" && !graph.nodes[id].name.starts_with('/');
  };
  // dynamo's files have scopes as metadata, and nodes without any that an optimizer put in.
  if (std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return !node.metadata.empty(); }))
    return;
  std::set<std::string> calls;
  for (const CallScope& scope : scopes) calls.insert(scope.calls.begin(), scope.calls.end());
  if (calls.empty()) return;
  JoinedNodes groups(graph.nodes.size());
  std::vector<std::pair<NodeId, std::string>> readers;
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    if (!is_scripted(id)) continue;
    for (TensorId input : graph.nodes[id].inputs) {
      if (!input.valid()) continue;
      const Tensor& tensor = graph.tensors[input];
      if (is_scripted(tensor.producer)) groups.Join(id, tensor.producer);
      if (tensor.role != TensorRole::kInitializer) continue;
      if (std::string owner = OwnerOf(tensor.name); !owner.empty()) readers.emplace_back(id, std::move(owner));
    }
  }
  Owners owners;
  for (auto& [id, owner] : readers) owners[groups.Of(id)].insert(std::move(owner));
  const std::map<NodeId, std::string> modules = OwnModules(owners);
  for (NodeId id(0); !modules.empty() && graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const auto module = is_scripted(id) ? modules.find(groups.Of(id)) : modules.end();
    if (module != modules.end()) scopes[id] = ScopeOf(module->second, calls);
  }
}

}  // namespace onnx_mem
