#include "analyzer/runtimes/session_graph.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analyzer/lower/facts/standard_operator.h"
#include "analyzer/runtimes/planned_runtime.h"
#include "analyzer/runtimes/session_fusions.h"
#include "analyzer/runtimes/session_layout.h"

namespace onnx_mem {
namespace {

// Results that differ from run to run, or that the optimizer leaves to the operators around them.
constexpr auto kNeverFolded =
    std::to_array<std::string_view>({"Bernoulli", "DequantizeLinear", "Dropout", "Multinomial", "QuantizeLinear",
                                     "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"});

// A node of constants alone becomes what it would compute. What is computed from the shape of an activation stays:
// a session with a free batch does not know it, and the order of its nodes hangs on them.
bool FoldConstant(SessionEdits& edits, NodeId id) {
  const Node& node = edits.node(id);
  if (node.inputs.empty() || !node.subgraphs.empty() || IsOneOf(kNeverFolded, node.op)) return false;
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) { return edits.IsConstant(input); })) {
    return false;
  }
  for (TensorId output : node.outputs) {
    if (output.valid() && (edits.IsOutput(output) || !edits.tensor(output).shape.known())) return false;
  }
  for (TensorId output : node.outputs) {
    if (!output.valid()) continue;
    edits.SetConstant(output);
    Tensor& tensor = edits.tensor(output);
    if (tensor.value != nullptr) continue;
    tensor.role = TensorRole::kInitializer;
    edits.graph().initializers.push_back(output);
  }
  edits.SetGone(id);
  return true;
}

// Whether the node passes its operand on. Even a Dropout exported in training mode: a session for inference has none
// (measured: 38 of a BERT's 38 are gone).
bool IsIdentity(const SessionEdits& edits, const Node& node) {
  if (node.inputs.empty() || node.outputs.empty() || !node.inputs.front().valid()) return false;
  if (!node.outputs.front().valid() || edits.IsOutput(node.outputs.front())) return false;
  return IsStandard(node, "Identity") ||
         (IsStandard(node, "Dropout") && std::all_of(node.outputs.begin() + 1, node.outputs.end(), [&](TensorId mask) {
            return !mask.valid() || !edits.IsRead(mask);
          }));
}

void FoldConstantsAndIdentities(SessionEdits& edits) {
  Graph& graph = edits.graph();
  IdVector<TensorId, TensorId> same_as(graph.tensors.size());  // what an identity passed on
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    Node& node = graph.nodes[id];
    for (auto* reads : {&node.inputs, &node.captures}) {
      for (TensorId& input : *reads) {
        if (input.valid() && same_as[input].valid()) input = same_as[input];
      }
    }
    if (FoldConstant(edits, id) || !IsIdentity(edits, node)) continue;
    same_as[node.outputs.front()] = node.inputs.front();
    edits.SetGone(id);
  }
  LinkTensors(graph);
}

// Statistics that nobody reads lie where the stored ones do (providers/cpu/nn/batch_norm.cc, Alias(3, 1), (4, 2)).
void DropStatistics(SessionEdits& edits, Node& norm) {
  for (size_t i = 1; i < norm.outputs.size(); ++i) {
    if (norm.outputs[i].valid() && !edits.IsRead(norm.outputs[i])) norm.outputs[i] = TensorId();
  }
}

void FuseNode(SessionEdits& edits, NodeId id, bool on_cpu) {
  Node& node = edits.node(id);
  if (IsStandard(node, "BatchNormalization")) DropStatistics(edits, node);
  if (on_cpu && IsStandard(node, "Conv")) FuseConvActivation(edits, id);
  if (on_cpu && IsStandard(node, "Gemm")) FuseGemmActivation(edits, id);
  if (on_cpu && IsStandard(node, "MatMulInteger")) FuseIntegerProduct(edits, id);
  if (IsStandard(node, "MatMul")) FoldScale(edits, id);
  if (!on_cpu && IsStandard(node, "Add")) FuseSum(edits, id);
  if (IsStandard(node, "Erf") || IsStandard(node, "Tanh")) FuseGelu(edits, id);
  if (IsStandard(node, "Sigmoid")) FuseQuickGelu(edits, id);
}

}  // namespace

Graph SessionGraph(Graph graph, bool on_cpu, bool free_dims) {
  for (Tensor& tensor : graph.tensors) {
    const bool half = tensor.dtype == DType::kFloat16 && tensor.role != TensorRole::kInput;
    if (on_cpu && half) tensor.dtype = DType::kFloat32;
  }
  SessionEdits edits(std::move(graph));
  FoldConstantsAndIdentities(edits);
  const IdVector<TensorId, bool> knows_shape =
      free_dims ? ShapesKnownToSession(edits.graph()) : IdVector<TensorId, bool>(edits.graph().tensors.size(), true);
  for (NodeId id(0); edits.graph().nodes.contains(id); id = NodeId(id.value() + 1)) {
    if (edits.IsGone(id)) continue;
    for (TensorId output : edits.node(id).outputs) {
      if (output.valid() && knows_shape[output]) FuseGathers(edits, output);
    }
    FuseNode(edits, id, on_cpu);
  }
  Graph optimized = edits.Compacted(/*by_pass=*/on_cpu);
  return on_cpu ? WithBlockedLayout(std::move(optimized)) : optimized;
}

}  // namespace onnx_mem
