#include "analyzer/assume/names/releases.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/assume/names/calls.h"
#include "analyzer/assume/names/kept_results.h"
#include "analyzer/assume/names/locals.h"
#include "analyzer/assume/names/source_names.h"
#include "analyzer/graph/shape.h"

namespace onnx_mem::names {

namespace {

// True if the value is one on the way of a framework operator that the exporter wrote as several nodes: no name holds
// it.
bool IsInsideOperator(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  const std::string& call = graph.nodes[tensor.producer].framework_op;
  return !call.empty() && std::any_of(tensor.consumers.begin(), tensor.consumers.end(), [&](NodeId reader) {
    return graph.nodes[reader].framework_op == call;
  });
}

// A value that its function no longer reads, and that may still have a name there.
struct IdleName {
  TensorId id;
  TensorId storage;    // of which the value is a view, or the value
  std::pair<int32_t, size_t> frame = {};  // and how many of them it may have at a time
  int64_t bytes = 0;
  int32_t from = -1;   // the node after which it is likely gone
  int32_t until = -1;  // and that after which it surely is
};

// What the value is a view of.
TensorId StorageOf(const Graph& graph, TensorId id) {
  constexpr auto kViews = std::to_array<std::string_view>(
      {"reshape", "permute", "squeeze", "unsqueeze", "slice", "select", "split", "unbind", "expand", "identity"});
  for (NodeId maker = graph.tensors[id].producer; maker.valid(); maker = graph.tensors[id].producer) {
    if (std::find(kViews.begin(), kViews.end(), graph.nodes[maker].op) == kViews.end()) break;
    id = graph.nodes[maker].inputs[0];
  }
  return id;
}

// Of the values that a function has done with, only so many still have a name at a time: the largest.
void NameTheLargest(std::vector<IdleName> idle, IdVector<TensorId, int32_t>& release) {
  std::stable_sort(idle.begin(), idle.end(), [](const IdleName& a, const IdleName& b) { return a.from < b.from; });
  std::map<std::pair<int32_t, size_t>, std::vector<IdleName>> named;  // by frame
  for (const IdleName& name : idle) {
    std::vector<IdleName>& others = named[name.frame];
    std::erase_if(others, [&](const IdleName& other) { return other.until <= name.from; });
    release[name.id] = name.until;
    others.push_back(name);
    std::set<TensorId> storages;
    for (const IdleName& other : others) storages.insert(other.storage);
    if (storages.size() <= name.frame.second) continue;
    const auto least = std::min_element(others.begin(), others.end(),
                                        [](const IdleName& a, const IdleName& b) { return a.bytes < b.bytes; });
    const TensorId given_up = least->storage;
    for (const IdleName& other : others) {
      if (other.storage == given_up) release[other.id] = std::max(other.from, name.from);
    }
    std::erase_if(others, [&](const IdleName& other) { return other.storage == given_up; });
  }
}

}  // namespace

IdVector<TensorId, int32_t> ReleaseAfter(const Graph& graph, NameRules rules) {
  IdVector<TensorId, int32_t> release(graph.tensors.size(), -1);
  const Calls calls(graph);
  std::optional<Locals> locals;
  std::optional<SourceNames> names;
  std::vector<IdleName> idle;
  if (rules != NameRules::kStraightLine) names.emplace(graph, calls);
  const bool names_more = rules == NameRules::kSomeNames || rules == NameRules::kEveryName;
  if (rules == NameRules::kLocals || names_more) locals.emplace(graph, calls);
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph.tensors[id];
    int32_t last = tensor.producer.value();
    for (NodeId reader : tensor.consumers) {
      last = std::max(last, reader.value());
      if (rules == NameRules::kStraightLine) continue;
      last = std::max(last, calls.EndOfCallEntered(tensor.producer.value(), reader.value()).value_or(-1));
    }
    if (rules != NameRules::kStraightLine && tensor.producer.valid() && IsInsideOperator(graph, id)) {
      release[id] = last;
      continue;
    }
    const std::optional<int32_t> told = names ? names->HeldUntil(id) : std::nullopt;
    if (told) last = std::max(last, *told);
    if (locals) last = std::max(last, KeptUntil(graph, calls, id, told.has_value()));
    if (locals && !told) last = std::max(last, locals->HeldUntil(id));
    release[id] = last;
    if (!names_more || told) continue;
    const PossibleName name = locals->PossibleNameOf(id);
    if (name.until <= last) continue;
    if (rules == NameRules::kEveryName) {
      release[id] = name.until;
      continue;
    }
    const TensorId storage = StorageOf(graph, id);
    const int64_t bytes = NumBytes(graph.tensors[storage].shape, graph.tensors[storage].dtype).value_or(0);
    idle.push_back({id, storage, {name.frame, name.most}, bytes, last, name.until});
  }
  NameTheLargest(std::move(idle), release);
  for (TensorId id : graph.outputs) release[id] = static_cast<int32_t>(graph.nodes.size());
  return release;
}

}  // namespace onnx_mem::names
