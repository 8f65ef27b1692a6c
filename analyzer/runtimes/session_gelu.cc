#include <algorithm>
#include <vector>

#include "analyzer/lower/facts/standard_operator.h"
#include "analyzer/runtimes/session_fusions.h"

namespace onnx_mem {
namespace {

// x * (1 + f(...)) / 2: what it is made of, f first.
struct GeluParts {
  std::vector<Node*> nodes;
  TensorId x, result;

  bool Has(const Node& node) const { return std::find(nodes.begin(), nodes.end(), &node) != nodes.end(); }
};

// Forward from f: the sum with 1, then products, of which one has x.
bool FindProducts(SessionEdits& edits, GeluParts& parts) {
  for (Node* next = edits.OnlyReader(*parts.nodes.front()); next != nullptr;
       next = edits.OnlyReader(*parts.nodes.back())) {
    if (next->inputs.size() != 2) break;
    const bool first = parts.nodes.size() == 1;
    const bool sum =
        IsStandard(*next, "Add") && first && (edits.IsScalar(next->inputs[0]) || edits.IsScalar(next->inputs[1]));
    const bool product = IsStandard(*next, "Mul") && !first;
    if (!sum && !product) break;
    if (product && !edits.ScaledOperand(*next)) {
      if (parts.x.valid()) break;
      parts.x = OtherOperand(*next, parts.nodes.back()->outputs.front());
    }
    parts.nodes.push_back(next);
    parts.result = next->outputs.front();
    if (parts.x.valid() && parts.nodes.size() >= 4) break;
  }
  if (!parts.x.valid()) return false;
  // x may have been halved first.
  if (Node* half = edits.OnlyMaker(parts.x); half != nullptr && edits.ScaledOperand(*half)) {
    parts.nodes.push_back(half);
    parts.x = *edits.ScaledOperand(*half);
  }
  return true;
}

// Backward from f: everything that its argument was made of, up to x.
bool FindArgument(SessionEdits& edits, GeluParts& parts) {
  constexpr size_t kMostParts = 12;
  TensorIds open = {parts.nodes.front()->inputs.front()};
  while (!open.empty()) {
    const TensorId argument = open.back();
    open.pop_back();
    if (argument == parts.x || edits.IsConstant(argument)) continue;
    const NodeId maker = edits.MakerOf(argument);
    if (!maker.valid() || edits.IsGone(maker) || edits.IsOutput(argument)) return false;
    Node& node = edits.node(maker);
    if (parts.Has(node)) continue;
    const bool arithmetic =
        IsStandard(node, "Mul") || IsStandard(node, "Div") || IsStandard(node, "Add") || IsStandard(node, "Pow");
    if (!arithmetic || !HasOneOutput(node) || parts.nodes.size() >= kMostParts) return false;
    parts.nodes.push_back(&node);
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  return true;
}

bool IsReadInside(SessionEdits& edits, const GeluParts& parts, TensorId id) {
  const NodeIds& readers = edits.tensor(id).consumers;
  return std::all_of(readers.begin(), readers.end(), [&](NodeId reader) { return parts.Has(edits.node(reader)); });
}

// Nothing inside is read from outside.
bool IsClosed(SessionEdits& edits, const GeluParts& parts) {
  return std::all_of(parts.nodes.begin(), parts.nodes.end(), [&](const Node* part) {
    const TensorId output = part->outputs.front();
    return output == parts.result || IsReadInside(edits, parts, output);
  });
}

// A bias that is added first is merged too (bias_gelu_fusion.cc).
bool TakeBias(SessionEdits& edits, GeluParts& parts) {
  const NodeId maker = parts.x.valid() ? edits.MakerOf(parts.x) : NodeId();
  if (!maker.valid() || edits.IsGone(maker) || edits.IsOutput(parts.x) || !IsReadInside(edits, parts, parts.x)) {
    return false;
  }
  Node& sum = edits.node(maker);
  if (!IsStandard(sum, "Add") || !HasOneOutput(sum) || sum.inputs.size() != 2) return false;
  for (size_t i = 0; i < 2; ++i) {
    const TensorId bias = sum.inputs[1 - i];
    if (!bias.valid() || !edits.IsConstant(bias) || edits.tensor(bias).shape.rank() != 1) continue;
    parts.nodes.push_back(&sum);
    parts.x = sum.inputs[i];
    return true;
  }
  return false;
}

}  // namespace

// All between x and the last product is one node.
void FuseGelu(SessionEdits& edits, NodeId f) {
  if (edits.node(f).inputs.empty()) return;
  GeluParts parts{.nodes = {&edits.node(f)}, .x = {}, .result = {}};
  if (!FindProducts(edits, parts) || !FindArgument(edits, parts) || !IsClosed(edits, parts)) return;
  const SessionPass pass = IsStandard(edits.node(f), "Tanh") ? SessionPass::kFastGelu : SessionPass::kGelu;
  const bool biased = TakeBias(edits, parts);
  const NodeId last = edits.MakerOf(parts.result);
  for (const Node* part : parts.nodes) {
    if (part->outputs.front() != parts.result) edits.Remove(*part);
  }
  MakeContributed(edits.node(last), biased ? "BiasGelu" : "Gelu");
  edits.node(last).inputs = {parts.x};
  edits.SetPass(last, biased ? std::max(pass, SessionPass::kBiasGelu) : pass);
}

// x * sigmoid(x), or of x times a number (quick_gelu_fusion.cc).
void FuseQuickGelu(SessionEdits& edits, NodeId id) {
  Node& sigmoid = edits.node(id);
  Node* product = edits.OnlyReader(sigmoid);
  if (product == nullptr || !IsStandard(*product, "Mul") || sigmoid.inputs.empty()) return;
  const TensorId x = OtherOperand(*product, sigmoid.outputs.front()), argument = sigmoid.inputs.front();
  if (!x.valid()) return;
  if (argument != x) {
    const Node* scaled = edits.OnlyMaker(argument);
    if (scaled == nullptr || edits.ScaledOperand(*scaled) != x) return;
    edits.Remove(*scaled);
  }
  edits.Remove(sigmoid);
  MakeContributed(*product, "QuickGelu");
  product->inputs = {x};
  edits.SetPass(edits.MakerOf(product->outputs.front()), SessionPass::kQuickGelu);
}

}  // namespace onnx_mem
