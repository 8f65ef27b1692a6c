// The TorchScript exporter turns x.sigmoid_() into a new tensor, and to be allowed to it moves the operator that made x
// down to just before it (torch/csrc/jit/passes/remove_mutation.cpp, tryMakeCreationAndMutationAtomic).
// Where other modules ran in between, the file shows it: a call goes on after others have begun, without the number
// that a second call would have. The operator goes back to its call, and its reader writes over its result.
//
//   in the file   hm.0, hm.1, wh.0, wh.1, wh.2, hm.2, Sigmoid      heat, size = self.hm(x), self.wh(x)
//   as it ran     hm.0, hm.1, hm.2, wh.0, wh.1, wh.2, sigmoid_     return heat.sigmoid_(), size
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analyzer/lower/draft/inplace_form.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// The reader that overwrites the one result of `id`: the operator that runs next, outside the call.
NodeId OverwritingReader(const Draft& draft, NodeId id, NodeId next) {
  const Node& node = draft.node(id);
  if (node.outputs.size() != 1 || draft.OnlyReader(node.outputs[0]) != next) return NodeId();
  const Node& reader = draft.node(next);
  return HasInPlaceForm(reader.op) && reader.calls.size() < node.calls.size() ? next : NodeId();
}

}  // namespace

int64_t ReturnDisplaced(Lowering& lowering) {
  Draft& draft = lowering.draft;
  std::map<std::string, NodeId> last_of_call;  // by name of an outermost call
  std::set<std::string> begun;                 // innermost calls
  const std::vector<NodeId> order = draft.InOrder();
  int64_t count = 0;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    const NodeId id = order[i];
    const Node& node = draft.node(id);
    if (node.calls.empty() || !node.framework_op.empty()) continue;
    const auto earlier = last_of_call.find(node.calls[0]);
    const bool comes_back = earlier != last_of_call.end() && earlier->second != order[i - 1] &&
                            !begun.contains(node.calls.back()) && !draft.node(order[i - 1]).calls.empty();
    const NodeId maker = node.inputs.empty() || !node.inputs[0].valid() ? NodeId() : draft.producer(node.inputs[0]);
    const NodeId reader = OverwritingReader(draft, id, order[i + 1]);
    if (comes_back && reader.valid() && maker == earlier->second) {
      draft.SetRank(id, {draft.rank(maker).source, draft.rank(maker).place + 1});
      draft.mutable_node(reader).attributes[std::string(kOverwrites)] = int64_t{1};
      ++count;
    }
    last_of_call[node.calls[0]] = id;
    begun.insert(node.calls.back());
  }
  return count;
}

}  // namespace onnx_mem
