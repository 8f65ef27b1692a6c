#include "analyzer/assume/choices/copies.h"

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/lower/draft/match.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// The operator promotes the result of `cast` by itself.
bool Promotes(const FrameworkGraph& graph, const FrameworkNode& reader, TensorId cast) {
  if (!IsTensorArithmetic(reader.op) || reader.inputs.size() != 2) return false;
  const TensorId other = OtherOperand(reader, cast);
  return other.valid() && other != cast && graph.tensors[other].dtype == graph.tensors[cast].dtype;
}

// Nothing but other casts runs between `cast` and what reads it.
bool StandsRightBefore(const FrameworkGraph& graph, NodeId cast, NodeId reader) {
  for (NodeId id(cast.value() + 1); id < reader; id = NodeId(id.value() + 1)) {
    if (graph.nodes[id].op != "cast") return false;
  }
  return true;
}

// Files of dynamo name the call that a cast is (lower/fuse/spelled_out.cc, DropPromotions).
bool MayPromote(const FrameworkGraph& graph, NodeId id) {
  const FrameworkNode& node = graph.nodes[id];
  if (node.op != "cast" || !node.framework_op.empty()) return false;
  const Tensor &from = graph.tensors[node.inputs[0]], &to = graph.tensors[node.outputs[0]];
  if (IsFloating(from.dtype) || !IsFloating(to.dtype) || to.consumers.size() != 1) return false;
  const NodeId reader = to.consumers[0];
  return Promotes(graph, graph.nodes[reader], node.outputs[0]) && StandsRightBefore(graph, id, reader);
}

bool PadsNothing(const FrameworkNode& node) {
  if (node.op != "pad") return false;
  const std::vector<int64_t> pads = IntsAttribute(node, "pads");
  return !pads.empty() && std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
}

// The parameter that `node` adds noise to, where the result has its shape and type; invalid otherwise. A product is a
// mask's, which is for both modes.
TensorId ParameterOf(const Lowered& lowered, const FrameworkNode& node) {
  if (node.op != "add" || node.inputs.size() != 2) return {};
  const Tensor& made = lowered.graph.tensors[node.outputs[0]];
  const auto found = std::find_if(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
    const Tensor& input = lowered.graph.tensors[id];
    return !input.producer.valid() && lowered.kinds[id] == TensorKind::kParameter && input.shape == made.shape &&
           input.dtype == made.dtype;
  });
  return found == node.inputs.end() ? TensorId() : *found;
}

bool IsOfStored(const Lowered& lowered, const FrameworkNode& node, const IdVector<TensorId, bool>& is_of_stored) {
  return !node.inputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
    if (!id.valid() || is_of_stored[id]) return true;
    const bool is_static = lowered.kinds[id] == TensorKind::kParameter || lowered.kinds[id] == TensorKind::kBuffer;
    return is_static && !lowered.graph.tensors[id].producer.valid();
  });
}

// A view, which takes nothing.
void MakeView(FrameworkNode& node, TensorId of) {
  node.op = "identity";
  node.inputs = {of};
}

}  // namespace

bool LeaveOutCopies(Lowered& lowered) {
  bool any = false;
  for (FrameworkNode& node : lowered.graph.nodes) {
    if (IntAttribute(node, std::string(kMaybeCopied), 0) == 0) continue;
    node.op = "identity";
    any = true;
  }
  return any;
}

bool WriteIntoBuffers(Lowered& lowered) {
  bool any = false;
  for (FrameworkNode& node : lowered.graph.nodes) {
    if ((node.op != "index_put" && node.op != "scatter") || node.inputs.empty() || !node.inputs[0].valid()) continue;
    const TensorId into = node.inputs[0];
    if (lowered.kinds[into] != TensorKind::kBuffer || lowered.graph.tensors[into].producer.valid()) continue;
    any |= node.attributes.insert({"inplace", int64_t{1}}).second;
  }
  return any;
}

int64_t BytesOfMergedCopies(const Lowered& lowered) {
  int64_t bytes = 0;
  for (const FrameworkNode& node : lowered.graph.nodes) {
    if (!PadsNothing(node)) continue;
    const Tensor& copy = lowered.graph.tensors[node.outputs[0]];
    const auto others = static_cast<int64_t>(std::max<size_t>(copy.consumers.size(), 1)) - 1;
    bytes += others * NumBytes(copy.shape, copy.dtype).value_or(0);
  }
  return bytes;
}

bool PromoteAsRead(Lowered& lowered) {
  bool any = false;
  for (NodeId id(0); lowered.graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    if (!MayPromote(lowered.graph, id)) continue;
    lowered.graph.nodes[id].op = "identity";
    any = true;
  }
  return any;
}

bool LeaveOutNoise(Lowered& lowered) {
  FrameworkGraph& graph = lowered.graph;
  IdVector<TensorId, bool> is_of_stored(graph.tensors.size(), false), is_read(graph.tensors.size(), false);
  bool any = false;
  for (FrameworkNode& node : graph.nodes) {
    if (!IsOfStored(lowered, node, is_of_stored)) continue;
    for (TensorId id : node.outputs) is_of_stored[id] = true;
    const TensorId parameter = ParameterOf(lowered, node);
    if (parameter.valid()) MakeView(node, parameter);
    any |= parameter.valid();
  }
  if (!any) return false;
  // What nothing reads any more, the noise, is not made.
  for (TensorId id : graph.outputs) is_read[id] = true;
  for (NodeId id(static_cast<int32_t>(graph.nodes.size()) - 1); id.valid(); id = NodeId(id.value() - 1)) {
    FrameworkNode& node = graph.nodes[id];
    const auto read = [&](TensorId made) { return made.valid() && is_read[made]; };
    const bool is_noise = !node.outputs.empty() && is_of_stored[node.outputs[0]] &&
                          std::none_of(node.outputs.begin(), node.outputs.end(), read);
    if (is_noise) MakeView(node, node.inputs[0]);
    for (TensorId input : is_noise ? TensorIds() : node.inputs) {
      if (input.valid()) is_read[input] = true;
    }
  }
  return true;
}

}  // namespace onnx_mem
