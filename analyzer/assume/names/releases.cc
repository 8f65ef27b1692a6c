#include "analyzer/assume/names/releases.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
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
  TensorId storage;   // of which the value is a view, or the value
  PossibleName name;
  int32_t from = -1;  // the node after which it is likely gone
};

// Such values of one storage.
struct Named {
  TensorId storage;
  int64_t bytes = 0;
  int32_t until = -1;
  std::vector<const IdleName*> values = {};
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

// Of the values that a function has done with, only so many still have a name at a time: the largest. Small ones beside
// them do not count.
void NameTheLargest(const Graph& graph, std::vector<IdleName> idle, IdVector<TensorId, int32_t>& release) {
  constexpr int64_t kSmallIsOnePartIn = 8;
  constexpr size_t kMostSmall = 8;
  std::stable_sort(idle.begin(), idle.end(), [](const IdleName& a, const IdleName& b) { return a.from < b.from; });
  std::map<std::pair<int32_t, size_t>, std::vector<Named>> named;  // by frame, and how many it may have
  for (const IdleName& value : idle) {
    const int32_t now = value.from;
    release[value.id] = value.name.until;
    std::vector<Named>& all = named[{value.name.frame, value.name.most}];
    std::erase_if(all, [&](const Named& one) { return one.until <= now; });
    auto own = std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.storage == value.storage; });
    if (own == all.end()) {
      const Tensor& tensor = graph.tensors[value.storage];
      all.push_back({value.storage, NumBytes(tensor.shape, tensor.dtype).value_or(0)});
      own = all.end() - 1;
    }
    own->until = std::max(own->until, value.name.until);
    own->values.push_back(&value);
    if (all.size() <= value.name.most) continue;
    const auto less = [](const Named& a, const Named& b) { return a.bytes < b.bytes; };
    const int64_t largest = std::max_element(all.begin(), all.end(), less)->bytes;
    std::stable_sort(all.begin(), all.end(), less);
    const auto is_small = [&](const Named& one) { return one.bytes * kSmallIsOnePartIn < largest; };
    const auto least = std::find_if_not(all.begin(), all.end(), is_small);
    const auto count = static_cast<size_t>(all.end() - least);
    if (count <= value.name.most && all.size() <= value.name.most + kMostSmall) continue;
    const auto lost_one = count > value.name.most ? least : all.begin();
    for (const IdleName* lost : lost_one->values) release[lost->id] = std::max(lost->from, now);
    all.erase(lost_one);
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
    if (!names_more) continue;
    const PossibleName name = told ? locals->CallersListOf(id) : locals->PossibleNameOf(id);
    if (name.until <= last) continue;
    if (rules == NameRules::kEveryName || name.most == kAllNames) {
      release[id] = name.until;
    } else if (name.most > 0) {
      idle.push_back({id, StorageOf(graph, id), name, last});
    }
  }
  NameTheLargest(graph, std::move(idle), release);
  for (TensorId id : graph.outputs) release[id] = static_cast<int32_t>(graph.nodes.size());
  return release;
}

}  // namespace onnx_mem::names
