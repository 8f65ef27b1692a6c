#include "analyzer/assume/names/expressions.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace onnx_mem::names {
namespace {

// A part of a statement: nodes [begin, end] at `depth` of the stack of calls, one call or one node.
struct Unit {
  int32_t begin = 0;
  int32_t end = 0;
  size_t depth = 0;
};

// The operands in the order in which code names them: x.masked_fill(mask, value), which is exported as where(mask, x).
std::vector<TensorId> Operands(const Node& node) {
  std::vector<TensorId> operands;
  std::copy_if(node.inputs.begin(), node.inputs.end(), std::back_inserter(operands),
               [](TensorId id) { return id.valid(); });
  if (node.op == "where" && operands.size() == 2) std::swap(operands[0], operands[1]);
  return operands;
}

class Replay {
 public:
  Replay(const Graph& graph, const Calls& calls) : graph_(graph), calls_(calls), named_(graph.tensors.size(), false) {}

  IdVector<TensorId, bool> Run() {
    for (int32_t i = 0; i < static_cast<int32_t>(graph_.nodes.size()); ++i) {
      const std::span<const int32_t> inside = calls_.of_node(i);
      for (size_t depth = 0; depth <= inside.size(); ++depth) {
        const int32_t call = depth < inside.size() ? inside[depth] : -1;
        if (call >= 0 && calls_.span(call).begin != i) continue;
        const int32_t frame = depth == 0 ? -1 : inside[depth - 1];
        Evaluate({i, call < 0 ? i : calls_.span(call).end, depth}, waiting_[frame]);
      }
    }
    return std::move(named_);
  }

 private:
  bool IsInFrame(int32_t node, const Unit& unit) const {
    const std::span<const int32_t> a = calls_.of_node(node), b = calls_.of_node(unit.begin);
    return a.size() >= unit.depth &&
           std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(unit.depth), b.begin());
  }

  // What the unit reads of what the code of the frame made before, in order.
  std::vector<TensorId> Arguments(const Unit& unit) const {
    std::vector<TensorId> arguments;
    absl::flat_hash_set<TensorId> seen;
    for (int32_t i = unit.begin; i <= unit.end; ++i) {
      for (TensorId id : Operands(graph_.nodes[NodeId(i)])) {
        if (!id.valid() || !graph_.tensors[id].producer.valid()) continue;
        if (graph_.tensors[id].producer.value() >= unit.begin) continue;
        if (seen.insert(id).second) arguments.push_back(id);
      }
    }
    return arguments;
  }

  // All that reads `id` is one other unit of the frame.
  bool IsReadOnce(TensorId id, const Unit& unit) const {
    const auto& readers = graph_.tensors[id].consumers;
    int32_t only = -1;
    for (NodeId reader : readers) {
      if (reader.value() <= unit.end || !IsInFrame(reader.value(), unit)) return false;
      const int32_t end = calls_.UnitEnd(reader.value(), unit.depth);
      if (only >= 0 && end != only) return false;
      only = end;
    }
    return only >= 0;
  }

  // What no later part has read yet, first made first.
  struct Waiting {
    std::list<TensorId> order;
    absl::flat_hash_map<TensorId, std::list<TensorId>::iterator> places;
  };

  void Evaluate(const Unit& unit, Waiting& waiting) {
    const std::vector<TensorId> arguments = Arguments(unit);
    for (auto it = arguments.rbegin(); it != arguments.rend(); ++it) {
      const auto place = waiting.places.find(*it);
      if (place == waiting.places.end()) continue;
      if (std::next(place->second) != waiting.order.end()) named_[*it] = true;
      waiting.order.erase(place->second);
      waiting.places.erase(place);
    }
    std::vector<TensorId> results;
    for (int32_t i = unit.begin; i <= unit.end; ++i) {
      for (TensorId id : graph_.nodes[NodeId(i)].outputs) {
        if (!id.valid()) continue;
        const auto& readers = graph_.tensors[id].consumers;
        if (std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return r.value() > unit.end; }))
          results.push_back(id);
      }
    }
    if (results.size() != 1 || !IsReadOnce(results[0], unit)) return;
    waiting.places[results[0]] = waiting.order.insert(waiting.order.end(), results[0]);
  }

  const Graph& graph_;
  const Calls& calls_;
  IdVector<TensorId, bool> named_;
  std::map<int32_t, Waiting> waiting_;  // by frame
};

}  // namespace

IdVector<TensorId, bool> NeedNames(const Graph& graph, const Calls& calls) { return Replay(graph, calls).Run(); }

}  // namespace onnx_mem::names
