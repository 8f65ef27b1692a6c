#include "analyzer/onnx/load/order_nodes.h"

#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/infer/check_nodes.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

using Name = std::string_view;
using NameSet = absl::flat_hash_set<Name>;

absl::Status BadOrder(const std::string& what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadModel, what);
}

// One graph within its outer ones: what it defines itself, and which nodes make what.
class OrderedScope {
 public:
  OrderedScope(onnx::GraphProto& graph, const OrderedScope* outer) : graph_(graph), outer_(outer) {}

  absl::StatusOr<bool> Order();

 private:
  absl::Status Define();
  void FreeReads(const onnx::GraphProto& body, NameSet defined, std::vector<Name>& reads) const;
  std::vector<Name> ReadsOf(const onnx::NodeProto& node) const;
  absl::StatusOr<bool> OrderBodies(onnx::NodeProto& node) const;
  bool Knows(Name name) const {
    return given_.contains(name) || maker_.contains(name) || (outer_ != nullptr && outer_->Knows(name));
  }
  using Needs = std::vector<absl::InlinedVector<int, 4>>;  // by node, those that make what it reads
  absl::StatusOr<std::vector<int>> Sort(const Needs& needs) const;
  void Permute(const std::vector<int>& order);

  onnx::GraphProto& graph_;
  const OrderedScope* outer_;
  NameSet given_;                         // inputs and initializers
  absl::flat_hash_map<Name, int> maker_;  // node that makes a value
};

absl::Status OrderedScope::Define() {
  for (const auto& input : graph_.input()) given_.insert(input.name());
  for (const auto& tensor : graph_.initializer()) given_.insert(tensor.name());
  for (const auto& tensor : graph_.sparse_initializer()) given_.insert(tensor.values().name());
  maker_.reserve(static_cast<size_t>(graph_.node_size()));
  for (int i = 0; i < graph_.node_size(); ++i) {
    for (const std::string& output : graph_.node(i).output()) {
      if (output.empty()) continue;
      if (given_.contains(output) || !maker_.emplace(output, i).second) {
        return BadOrder(
            absl::StrCat("value '", output, "' is made twice, the second time by ", NameInGraph(graph_.node(i), i)));
      }
    }
  }
  return absl::OkStatus();
}

// Values that `body` takes from the graphs around it.
void OrderedScope::FreeReads(const onnx::GraphProto& body, NameSet defined, std::vector<Name>& reads) const {
  for (const auto& input : body.input()) defined.insert(input.name());
  for (const auto& tensor : body.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : body.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : body.node()) defined.insert(node.output().begin(), node.output().end());
  for (const auto& node : body.node()) {
    for (const std::string& input : node.input()) {
      if (!input.empty() && !defined.contains(input)) reads.push_back(input);
    }
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) FreeReads(attribute.g(), defined, reads);
      for (const auto& graph : attribute.graphs()) FreeReads(graph, defined, reads);
    }
  }
  for (const auto& output : body.output()) {
    if (!output.name().empty() && !defined.contains(output.name())) reads.push_back(output.name());
  }
}

// What `node` and its bodies read of this graph and of those around it.
std::vector<Name> OrderedScope::ReadsOf(const onnx::NodeProto& node) const {
  std::vector<Name> reads;
  for (const std::string& input : node.input()) {
    if (!input.empty()) reads.push_back(input);
  }
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) FreeReads(attribute.g(), {}, reads);
    for (const auto& graph : attribute.graphs()) FreeReads(graph, {}, reads);
  }
  return reads;
}

// Whether a body had to be sorted.
absl::StatusOr<bool> OrderedScope::OrderBodies(onnx::NodeProto& node) const {
  bool changed = false;
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) {
      ASSIGN_OR_RETURN(const bool inner, OrderedScope(*attribute.mutable_g(), this).Order());
      changed |= inner;
    }
    for (auto& graph : *attribute.mutable_graphs()) {
      ASSIGN_OR_RETURN(const bool inner, OrderedScope(graph, this).Order());
      changed |= inner;
    }
  }
  return changed;
}

absl::StatusOr<bool> OrderedScope::Order() {
  RETURN_IF_ERROR(Define());
  Needs needs(static_cast<size_t>(graph_.node_size()));
  bool sorted = true, changed = false;
  for (int i = 0; i < graph_.node_size(); ++i) {
    onnx::NodeProto& node = *graph_.mutable_node(i);
    for (Name read : ReadsOf(node)) {
      if (auto it = maker_.find(read); it != maker_.end()) {
        needs[i].push_back(it->second);
        sorted &= it->second < i;
      } else if (!Knows(read)) {
        return BadOrder(absl::StrCat(NameInGraph(node, i), " reads '", std::string(read), "', which nothing makes"));
      }
    }
    ASSIGN_OR_RETURN(const bool body_changed, OrderBodies(node));
    changed |= body_changed;
  }
  for (const auto& output : graph_.output()) {
    if (!output.name().empty() && !Knows(output.name())) {
      return BadOrder(absl::StrCat("graph output '", output.name(), "' is made by no node"));
    }
  }
  if (sorted) return changed;
  ASSIGN_OR_RETURN(const std::vector<int> order, Sort(needs));
  Permute(order);
  return true;
}

// Kahn's algorithm with the smallest ready index first.
absl::StatusOr<std::vector<int>> OrderedScope::Sort(const Needs& needs) const {
  std::vector<int> waiting(needs.size());
  std::vector<std::vector<int>> feeds(needs.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < needs.size(); ++i) {
    waiting[i] = static_cast<int>(needs[i].size());
    for (int j : needs[i]) feeds[j].push_back(static_cast<int>(i));
    if (waiting[i] == 0) ready.push(static_cast<int>(i));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (int next : feeds[order.back()]) {
      if (--waiting[next] == 0) ready.push(next);
    }
  }
  if (order.size() == needs.size()) return order;
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] > 0) {
      return BadOrder(absl::StrCat("the graph has a cycle through ",
                                   NameInGraph(graph_.node(static_cast<int>(i)), static_cast<int>(i))));
    }
  }
  return order;
}

void OrderedScope::Permute(const std::vector<int>& order) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> sorted(graph_.GetArena());
  sorted.Reserve(graph_.node_size());
  for (int from : order) sorted.Add()->Swap(graph_.mutable_node(from));
  graph_.mutable_node()->Swap(&sorted);
}

}  // namespace

absl::StatusOr<bool> OrderNodes(onnx::GraphProto& graph) { return OrderedScope(graph, nullptr).Order(); }

}  // namespace onnx_mem
