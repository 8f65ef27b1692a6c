#include "analyzer/eager/frames.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace onnx_mem::eager {
namespace {

// One call of a module: a run of nodes, from its first to its last.
struct CallSpan {
  int32_t end = -1;
};

struct Calls {
  std::vector<CallSpan> spans;
  std::vector<std::vector<int32_t>> of_node;  // the calls that enclose each node, outermost first
};

// Nodes in order: a call goes on while its name stays at the same depth of the nodes' paths. A node without a path
// (an operator of the outermost forward) belongs to no call and ends none.
Calls FindCalls(const Graph& graph) {
  Calls calls;
  std::vector<int32_t> open;
  const std::vector<std::string>* open_path = nullptr;
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    const std::vector<std::string>& path = graph.nodes[NodeId(i)].calls;
    if (path.empty()) {
      calls.of_node.emplace_back();
      continue;
    }
    size_t common = 0;
    while (open_path != nullptr && common < path.size() && common < open.size() && path[common] == (*open_path)[common]) {
      ++common;
    }
    open.resize(common);
    for (size_t depth = common; depth < path.size(); ++depth) {
      open.push_back(static_cast<int32_t>(calls.spans.size()));
      calls.spans.push_back({});
    }
    for (int32_t call : open) calls.spans[static_cast<size_t>(call)].end = i;
    open_path = &path;
    calls.of_node.push_back(open);
  }
  return calls;
}

// The last node of the outermost call that encloses `reader` but not `maker` (-1: made before all nodes); nullopt if
// there is no such call.
std::optional<int32_t> HeldByArguments(const Calls& calls, int32_t maker, int32_t reader) {
  const std::vector<int32_t>& inside = calls.of_node[static_cast<size_t>(reader)];
  static const std::vector<int32_t> kNone;
  const std::vector<int32_t>& outside = maker >= 0 ? calls.of_node[static_cast<size_t>(maker)] : kNone;
  for (size_t depth = 0; depth < inside.size(); ++depth) {
    if (depth < outside.size() && outside[depth] == inside[depth]) continue;
    return calls.spans[static_cast<size_t>(inside[depth])].end;
  }
  return std::nullopt;
}

// Last node of the innermost call that encloses `node`; the model's own call encloses everything.
int32_t EndOfInnermostCall(const Calls& calls, int32_t node) {
  const std::vector<int32_t>& inside = calls.of_node[static_cast<size_t>(node)];
  if (inside.empty()) return static_cast<int32_t>(calls.of_node.size()) - 1;
  return calls.spans[static_cast<size_t>(inside.back())].end;
}

// The innermost call that encloses `node` encloses `reader` too: both belong to one function's code.
bool EnclosesReader(const Calls& calls, int32_t node, int32_t reader) {
  const std::vector<int32_t>& outer = calls.of_node[static_cast<size_t>(node)];
  const std::vector<int32_t>& inner = calls.of_node[static_cast<size_t>(reader)];
  return inner.size() >= outer.size() && std::equal(outer.begin(), outer.end(), inner.begin());
}

bool IsOneOf(const std::string& op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

// Where code of the usual forms keeps `id` in a local variable beyond its last reader: the pieces of a split (a tuple),
// the parts of a concatenation that are used elsewhere too (a list), query, key and value, and the operands of a sum
// that is itself the argument of the next module call (LayerNorm(a + b)). Heuristics, measured in rules.md 2.6.
int32_t HeldByLocals(const Graph& graph, const Calls& calls, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  int32_t last = -1;
  const int32_t maker = tensor.producer.value();
  if (maker >= 0 && IsOneOf(graph.nodes[tensor.producer].op, {"split", "unbind"})) {
    last = EndOfInnermostCall(calls, maker);
  }
  for (NodeId reader : tensor.consumers) {
    const Node& node = graph.nodes[reader];
    if (IsOneOf(node.op, {"matmul", "bmm", "sdpa"}) || (node.op == "cat" && tensor.consumers.size() >= 2)) {
      last = std::max(last, EndOfInnermostCall(calls, reader.value()));
    }
    if (node.op != "add" || !node.outputs[0].valid()) continue;
    const std::vector<NodeId>& next = graph.tensors[node.outputs[0]].consumers;
    if (next.size() != 1 || !EnclosesReader(calls, reader.value(), next[0].value())) continue;
    last = std::max(last, HeldByArguments(calls, reader.value(), next[0].value()).value_or(-1));
  }
  return last;
}

}  // namespace

IdVector<TensorId, int32_t> ReleaseAfter(const Graph& graph, FrameRules rules) {
  IdVector<TensorId, int32_t> release(graph.tensors.size(), -1);
  const Calls calls = rules == FrameRules::kStraightLine ? Calls{} : FindCalls(graph);
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph.tensors[id];
    int32_t last = tensor.producer.value();
    for (NodeId reader : tensor.consumers) {
      last = std::max(last, reader.value());
      if (rules == FrameRules::kStraightLine) continue;
      last = std::max(last, HeldByArguments(calls, tensor.producer.value(), reader.value()).value_or(-1));
    }
    if (rules == FrameRules::kLocals) last = std::max(last, HeldByLocals(graph, calls, id));
    release[id] = last;
  }
  for (TensorId id : graph.outputs) release[id] = static_cast<int32_t>(graph.nodes.size());
  return release;
}

}  // namespace onnx_mem::eager
