#include "analyzer/runtimes/session_graph.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/lower/facts/standard_operator.h"
#include "analyzer/runtimes/execution_order.h"
#include "analyzer/runtimes/planned_runtime.h"
#include "analyzer/runtimes/session_layout.h"

namespace onnx_mem {
namespace {

// Results that differ from run to run, or that the optimizer leaves to the operators around them.
constexpr auto kNeverFolded =
    std::to_array<std::string_view>({"Bernoulli", "DequantizeLinear", "Dropout", "Multinomial", "QuantizeLinear",
                                     "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"});

constexpr auto kFusedActivations =
    std::to_array<std::string_view>({"Clip", "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Tanh"});

constexpr auto kGemmActivations = std::to_array<std::string_view>(
    {"Elu", "HardSigmoid", "LeakyRelu", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu"});

// In the order in which the session runs them (graph_transformer_utils.cc): nodes that a pass makes are numbered behind
// all that were there, and the order of execution hangs on the numbers.
enum Pass {
  kOfTheFile,
  kGemmActivationPass,
  kIntegerProductPass,
  kConvActivationPass,
  kGeluPass,
  kGatherPass,
  kBiasGeluPass,
  kFastGeluPass,
  kQuickGeluPass,
  kMatMulScalePass,
};

class SessionOptimizer {
 public:
  SessionOptimizer(Graph graph, bool on_cpu, bool free_dims)
      : graph_(std::move(graph)),
        on_cpu_(on_cpu),
        free_dims_(free_dims),
        gone_(graph_.nodes.size(), false),
        pass_(graph_.nodes.size(), kOfTheFile),
        split_before_(graph_.nodes.size(), -1),
        constant_(graph_.tensors.size(), false),
        same_as_(graph_.tensors.size()) {
    for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
      const TensorRole role = graph_.tensors[id].role;
      constant_[id] = role == TensorRole::kInitializer || role == TensorRole::kConstant;
    }
  }

  Graph Run() {
    for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) {
      for (auto* reads : {&graph_.nodes[id].inputs, &graph_.nodes[id].captures}) {
        for (TensorId& input : *reads) {
          if (input.valid() && same_as_[input].valid()) input = same_as_[input];
        }
      }
      if (!FoldConstant(id)) RemoveIdentity(id);
    }
    LinkTensors(graph_);
    knows_shape_ = free_dims_ ? ShapesKnownToSession(graph_) : IdVector<TensorId, bool>(graph_.tensors.size(), true);
    for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) {
      if (gone_[id]) continue;
      for (TensorId output : graph_.nodes[id].outputs) FuseGathers(output);
      if (IsStandard(graph_.nodes[id], "BatchNormalization")) DropStatistics(id);
      if (IsStandard(graph_.nodes[id], "Conv")) FuseActivation(id);
      if (IsStandard(graph_.nodes[id], "Gemm")) FuseGemm(id);
      if (IsStandard(graph_.nodes[id], "MatMulInteger")) FuseIntegerProduct(id);
      if (IsStandard(graph_.nodes[id], "MatMul")) FoldScale(id);
      if (!on_cpu_ && IsStandard(graph_.nodes[id], "Add")) FuseSum(id);
      if (IsStandard(graph_.nodes[id], "Erf") || IsStandard(graph_.nodes[id], "Tanh")) FuseGelu(id);
      if (IsStandard(graph_.nodes[id], "Sigmoid")) FuseQuickGelu(id);
    }
    return Compacted();
  }

 private:
  bool IsConstant(TensorId id) const { return !id.valid() || constant_[id]; }

  bool IsOutput(TensorId id) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
  }

  // A node of constants alone becomes what it would compute. What is computed from the shape of an activation stays:
  // a session with a free batch does not know it, and the order of its nodes hangs on them.
  bool FoldConstant(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (node.inputs.empty() || !node.subgraphs.empty()) return false;
    if (IsOneOf(kNeverFolded, node.op)) return false;
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) { return IsConstant(input); })) {
      return false;
    }
    for (TensorId output : node.outputs) {
      if (output.valid() && (IsOutput(output) || !graph_.tensors[output].shape.known())) return false;
    }
    for (TensorId output : node.outputs) {
      if (!output.valid()) continue;
      constant_[output] = true;
      Tensor& tensor = graph_.tensors[output];
      if (tensor.value != nullptr) continue;
      tensor.role = TensorRole::kInitializer;
      graph_.initializers.push_back(output);
    }
    gone_[id] = true;
    return true;
  }

  void RemoveIdentity(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (node.inputs.empty() || node.outputs.empty() || !node.inputs.front().valid()) return;
    // Even one exported in training mode: a session for inference has none (measured: 38 of a BERT's 38 are gone).
    const bool dropout =
        IsStandard(node, "Dropout") && std::all_of(node.outputs.begin() + 1, node.outputs.end(),
                                                   [&](TensorId mask) { return !mask.valid() || !IsRead(mask); });
    if (!IsStandard(node, "Identity") && !dropout) return;
    const TensorId from = node.inputs.front(), to = node.outputs.front();
    if (!to.valid() || IsOutput(to)) return;
    same_as_[to] = from;
    gone_[id] = true;
  }

  bool IsRead(TensorId id) const { return !graph_.tensors[id].consumers.empty() || IsOutput(id); }

  static bool HasOneOutput(const Node& node) { return node.outputs.size() == 1 && node.outputs.front().valid(); }

  // The node that makes `id` when nobody else reads it; nullptr otherwise.
  Node* OnlyMaker(TensorId id) {
    if (!id.valid() || IsOutput(id)) return nullptr;
    const Tensor& tensor = graph_.tensors[id];
    if (!tensor.producer.valid() || gone_[tensor.producer] || tensor.consumers.size() != 1) return nullptr;
    Node& maker = graph_.nodes[tensor.producer];
    return HasOneOutput(maker) ? &maker : nullptr;
  }

  Node* OnlyReader(const Node& node) {
    if (!HasOneOutput(node)) return nullptr;
    const TensorId output = node.outputs.front();
    if (IsOutput(output) || graph_.tensors[output].consumers.size() != 1) return nullptr;
    Node& reader = graph_.nodes[graph_.tensors[output].consumers.front()];
    return HasOneOutput(reader) ? &reader : nullptr;
  }

  // Statistics that nobody reads lie where the stored ones do (providers/cpu/nn/batch_norm.cc, Alias(3, 1), (4, 2)).
  void DropStatistics(NodeId id) {
    TensorIds& outputs = graph_.nodes[id].outputs;
    for (size_t i = 1; i < outputs.size(); ++i) {
      if (outputs[i].valid() && !IsRead(outputs[i])) outputs[i] = TensorId();
    }
  }

  // On the CPU, the node that alone reads `id` if it is one of `activations`; else null.
  template <class Names>
  const Node* ActivationBehind(NodeId id, const Names& activations) {
    const Node* reader = on_cpu_ ? OnlyReader(graph_.nodes[id]) : nullptr;
    return reader != nullptr && IsStandard(*reader, activations) ? reader : nullptr;
  }

  // The activation that alone reads a convolution is a part of it: another node for both (conv_activation_fusion.cc).
  // It overwrites the result anyway, so that only the order hangs on it.
  void FuseActivation(NodeId id) {
    const Node* activation = ActivationBehind(id, kFusedActivations);
    if (activation == nullptr) return;
    pass_[id] = kConvActivationPass;
    pass_[graph_.tensors[activation->outputs.front()].producer] = kConvActivationPass;
  }

  // The activation that alone reads a Gemm is merged into it (gemm_activation_fusion.cc).
  void FuseGemm(NodeId id) {
    const Node* activation = ActivationBehind(id, kGemmActivations);
    if (activation == nullptr) return;
    const TensorId result = activation->outputs.front();
    Remove(*activation);
    graph_.nodes[id].outputs.front() = result;
    graph_.tensors[result].producer = id;
    pass_[id] = kGemmActivationPass;
  }

  // The other operand of a node of two.
  static TensorId OtherOperand(const Node& node, TensorId of) {
    if (node.inputs.size() != 2) return TensorId();
    return node.inputs[0] == of ? node.inputs[1] : node.inputs[0];
  }

  // What brings a product of integers back to numbers, its scale and a bias, is a part of it: no result of 32-bit
  // integers is stored (matmul_integer_to_float.cc).
  void FuseIntegerProduct(NodeId id) {
    const Node* cast = on_cpu_ ? OnlyReader(graph_.nodes[id]) : nullptr;
    if (cast == nullptr || !IsStandard(*cast, "Cast")) return;
    const Node* scaled = OnlyReader(*cast);
    if (scaled == nullptr || !IsStandard(*scaled, "Mul")) return;
    const TensorId scale = OtherOperand(*scaled, cast->outputs.front());
    if (!scale.valid()) return;
    TensorId result = scaled->outputs.front();
    const Node* sum = OnlyReader(*scaled);
    if (sum != nullptr && IsStandard(*sum, "Add") && IsConstant(OtherOperand(*sum, result))) {
      result = sum->outputs.front();
      gone_[graph_.tensors[result].producer] = true;
    }
    NodeIds& readers = graph_.tensors[scale].consumers;
    std::replace(readers.begin(), readers.end(), graph_.tensors[scaled->outputs.front()].producer, id);
    gone_[graph_.tensors[cast->outputs.front()].producer] = true;
    gone_[graph_.tensors[scaled->outputs.front()].producer] = true;
    Node& product = graph_.nodes[id];
    product.op = "MatMulIntegerToFloat";
    product.domain = "com.microsoft";
    product.inputs.push_back(scale);
    product.outputs.front() = result;
    graph_.tensors[result].producer = id;
    pass_[id] = kIntegerProductPass;
  }

  // Which slice of how many the node takes alone, as a constant says; -1 for any other node.
  int64_t GatheredSlice(const Node& node, TensorId from, size_t axis, int64_t slices) const {
    if (!IsStandard(node, "Gather") || node.inputs.size() != 2 || node.inputs[0] != from || !HasOneOutput(node))
      return -1;
    const Tensor& index = graph_.tensors[node.inputs[1]];
    if (!IsConstant(node.inputs[1]) || index.value == nullptr || index.value->ints() == nullptr) return -1;
    const int64_t rank = static_cast<int64_t>(graph_.tensors[from].shape.rank()), at = IntAttribute(node, "axis", 0);
    if ((at < 0 ? at + rank : at) != static_cast<int64_t>(axis) || index.value->ints()->size() != 1) return -1;
    if (!index.value->dims.empty()) return -1;
    const int64_t slice = index.value->ints()->front();
    return slice < 0 ? slice + slices : slice;
  }

  // Gathers of all slices of a tensor are one Split and views of what it makes (gather_slice_fusion.cc).
  void FuseGathers(TensorId from) {
    if (!from.valid() || IsOutput(from) || !knows_shape_[from] || !graph_.tensors[from].shape.known()) return;
    const NodeIds readers = graph_.tensors[from].consumers;
    if (readers.size() < 2 || !IsStandard(graph_.nodes[readers.front()], "Gather")) return;
    const int64_t rank = static_cast<int64_t>(graph_.tensors[from].shape.rank());
    const int64_t at = IntAttribute(graph_.nodes[readers.front()], "axis", 0);
    const size_t axis = static_cast<size_t>(at < 0 ? at + rank : at);
    const int64_t slices = static_cast<int64_t>(readers.size());
    if (axis >= static_cast<size_t>(rank) || graph_.tensors[from].shape.dims[axis] != slices) return;
    NodeIds gathers(readers.size());
    for (NodeId reader : readers) {
      const int64_t slice = GatheredSlice(graph_.nodes[reader], from, axis, slices);
      if (slice < 0 || slice >= slices || gathers[static_cast<size_t>(slice)].valid()) return;
      gathers[static_cast<size_t>(slice)] = reader;
    }
    Node split;
    split.op = "Split";
    split.attributes["axis"] = static_cast<int64_t>(axis);
    split.inputs = {from};
    for (NodeId gather : gathers) {
      Node& view = graph_.nodes[gather];
      Tensor slice;
      slice.name = graph_.tensors[view.outputs.front()].name + " split";
      slice.dtype = graph_.tensors[from].dtype;
      slice.shape = graph_.tensors[from].shape;
      slice.shape.dims[axis] = 1;
      split.outputs.push_back(graph_.tensors.Add(std::move(slice)));
      constant_.Add(false);
      same_as_.Add(TensorId());
      view.op = "Squeeze";
      view.attributes.clear();
      view.inputs = {split.outputs.back()};
      pass_[gather] = kGatherPass;
    }
    // Before the first of its views.
    split_before_[*std::min_element(gathers.begin(), gathers.end())] = static_cast<int>(splits_.size());
    splits_.push_back(std::move(split));
  }

  bool IsScalar(TensorId id) const {
    if (!id.valid() || NumElements(graph_.tensors[id].shape).value_or(0) != 1) return false;
    return IsConstant(id) || graph_.tensors[id].value != nullptr;
  }

  // The operand of an arithmetic node with one constant number; nullopt for others.
  std::optional<TensorId> ScaledOperand(const Node& node) const {
    if (!(IsStandard(node, "Mul") || IsStandard(node, "Div")) || node.inputs.size() != 2) return std::nullopt;
    if (!node.inputs[0].valid() || !node.inputs[1].valid()) return std::nullopt;
    if (IsScalar(node.inputs[1])) return node.inputs[0];
    if (IsStandard(node, "Mul") && IsScalar(node.inputs[0])) return node.inputs[1];
    return std::nullopt;
  }

  // The node is removed, and with it what was made for it alone: a scale that was computed from a shape.
  void Remove(const Node& node) {
    NodeIds going = {graph_.tensors[node.outputs.front()].producer};
    while (!going.empty()) {
      const NodeId id = going.back();
      going.pop_back();
      gone_[id] = true;
      for (TensorId input : graph_.nodes[id].inputs) {
        if (!input.valid() || graph_.tensors[input].value == nullptr || IsOutput(input)) continue;
        const Tensor& tensor = graph_.tensors[input];
        const bool unread =
            std::all_of(tensor.consumers.begin(), tensor.consumers.end(), [&](NodeId reader) { return gone_[reader]; });
        if (unread && tensor.producer.valid() && !gone_[tensor.producer]) going.push_back(tensor.producer);
      }
    }
  }

  // The product takes a scaled operand as it was before: its alpha does the scaling.
  void FoldScale(NodeId id) {
    for (TensorId& input : graph_.nodes[id].inputs) {
      const Node* maker = OnlyMaker(input);
      if (maker == nullptr) continue;
      const std::optional<TensorId> operand = ScaledOperand(*maker);
      if (!operand || graph_.tensors[*operand].shape != graph_.tensors[input].shape) continue;
      Remove(*maker);
      input = *operand;
      pass_[id] = kMatMulScalePass;
    }
    const Node* reader = OnlyReader(graph_.nodes[id]);
    if (reader == nullptr || !ScaledOperand(*reader)) return;
    const TensorId result = reader->outputs.front();
    Remove(*reader);
    graph_.nodes[id].outputs.front() = result;
    graph_.tensors[result].producer = id;
    pass_[id] = kMatMulScalePass;
  }

  // The sum is merged into the convolution, which adds to its other operand where that lies (nchwc_transformer.cc).
  void FuseSum(NodeId id) {
    const Node& sum = graph_.nodes[id];
    if (!HasOneOutput(sum)) return;
    for (size_t i = 0; i < 2 && sum.inputs.size() == 2; ++i) {
      const TensorId other = sum.inputs[1 - i], result = sum.outputs.front();
      Node* maker = OnlyMaker(sum.inputs[i]);
      if (maker == nullptr || !IsStandard(*maker, "Conv") || maker->inputs.size() > kConvolutionSum ||
          IsConstant(other))
        continue;
      const Shape& shape = graph_.tensors[result].shape;
      if (shape.rank() != 4 || graph_.tensors[other].shape != shape) continue;
      maker->inputs.resize(kConvolutionSum);
      maker->inputs.push_back(other);
      maker->outputs.front() = result;
      maker->domain = "com.microsoft.nchwc";
      gone_[id] = true;
      const NodeId conv = graph_.tensors[sum.inputs[i]].producer;
      graph_.tensors[result].producer = conv;
      NodeIds& readers = graph_.tensors[other].consumers;
      std::replace(readers.begin(), readers.end(), id, conv);
      return;
    }
  }

  // The node of two operands that makes `id` when only `readers` read it; nullptr otherwise.
  Node* MakerReadBy(TensorId id, const std::vector<Node*>& readers) {
    const Tensor& tensor = graph_.tensors[id];
    if (!tensor.producer.valid() || gone_[tensor.producer] || IsOutput(id)) return nullptr;
    for (NodeId reader : tensor.consumers) {
      if (std::find(readers.begin(), readers.end(), &graph_.nodes[reader]) == readers.end()) return nullptr;
    }
    Node& maker = graph_.nodes[tensor.producer];
    return HasOneOutput(maker) && maker.inputs.size() == 2 ? &maker : nullptr;
  }

  // x * (1 + f(...)) / 2: what it is made of, f first.
  struct GeluParts {
    std::vector<Node*> nodes;
    TensorId x, result;

    bool Has(const Node& node) const { return std::find(nodes.begin(), nodes.end(), &node) != nodes.end(); }
  };

  // Forward from f: the sum with 1, then products, of which one has x.
  bool FindProducts(GeluParts& parts) {
    for (Node* next = OnlyReader(*parts.nodes.front()); next != nullptr; next = OnlyReader(*parts.nodes.back())) {
      if (next->inputs.size() != 2) break;
      const bool first = parts.nodes.size() == 1;
      const bool sum = IsStandard(*next, "Add") && first && (IsScalar(next->inputs[0]) || IsScalar(next->inputs[1]));
      const bool product = IsStandard(*next, "Mul") && !first;
      if (!sum && !product) break;
      if (product && !ScaledOperand(*next)) {
        if (parts.x.valid()) break;
        const TensorId made = parts.nodes.back()->outputs.front();
        parts.x = next->inputs[0] == made ? next->inputs[1] : next->inputs[0];
      }
      parts.nodes.push_back(next);
      parts.result = next->outputs.front();
      if (parts.x.valid() && parts.nodes.size() >= 4) break;
    }
    if (!parts.x.valid()) return false;
    // x may have been halved first.
    if (Node* half = OnlyMaker(parts.x); half != nullptr && ScaledOperand(*half)) {
      parts.nodes.push_back(half);
      parts.x = *ScaledOperand(*half);
    }
    return true;
  }

  // Backward from f: everything that its argument was made of, up to x.
  bool FindArgument(GeluParts& parts) {
    constexpr size_t kMostParts = 12;
    TensorIds open = {parts.nodes.front()->inputs.front()};
    while (!open.empty()) {
      const TensorId argument = open.back();
      open.pop_back();
      if (argument == parts.x || IsConstant(argument)) continue;
      const NodeId maker = graph_.tensors[argument].producer;
      if (!maker.valid() || gone_[maker] || IsOutput(argument)) return false;
      Node& node = graph_.nodes[maker];
      if (parts.Has(node)) continue;
      const bool arithmetic =
          IsStandard(node, "Mul") || IsStandard(node, "Div") || IsStandard(node, "Add") || IsStandard(node, "Pow");
      if (!arithmetic || !HasOneOutput(node) || parts.nodes.size() >= kMostParts) return false;
      parts.nodes.push_back(&node);
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    }
    return true;
  }

  // Nothing inside is read from outside.
  bool IsClosed(const GeluParts& parts) const {
    return std::all_of(parts.nodes.begin(), parts.nodes.end(), [&](const Node* part) {
      const TensorId output = part->outputs.front();
      const NodeIds& readers = graph_.tensors[output].consumers;
      return output == parts.result || std::all_of(readers.begin(), readers.end(),
                                                   [&](NodeId reader) { return parts.Has(graph_.nodes[reader]); });
    });
  }

  // A bias that is added first is merged too (bias_gelu_fusion.cc).
  bool TakeBias(GeluParts& parts) {
    Node* sum = parts.x.valid() ? MakerReadBy(parts.x, parts.nodes) : nullptr;
    if (sum == nullptr || !IsStandard(*sum, "Add")) return false;
    for (size_t i = 0; i < 2; ++i) {
      const TensorId bias = sum->inputs[1 - i];
      if (!bias.valid() || !IsConstant(bias) || graph_.tensors[bias].shape.rank() != 1) continue;
      parts.nodes.push_back(sum);
      parts.x = sum->inputs[i];
      return true;
    }
    return false;
  }

  // x * (1 + f(...)) / 2 around `id`, its f: all between x and the last product is one node.
  void FuseGelu(NodeId id) {
    if (graph_.nodes[id].inputs.empty()) return;
    GeluParts parts{.nodes = {&graph_.nodes[id]}, .x = {}, .result = {}};
    if (!FindProducts(parts) || !FindArgument(parts) || !IsClosed(parts)) return;
    const Pass pass = IsStandard(graph_.nodes[id], "Tanh") ? kFastGeluPass : kGeluPass;
    const bool biased = TakeBias(parts);
    const NodeId last = graph_.tensors[parts.result].producer;
    for (const Node* part : parts.nodes) {
      if (part->outputs.front() != parts.result) Remove(*part);
    }
    graph_.nodes[last].op = biased ? "BiasGelu" : "Gelu";
    graph_.nodes[last].domain = "com.microsoft";
    graph_.nodes[last].inputs = {parts.x};
    pass_[last] = biased ? std::max(pass, kBiasGeluPass) : pass;
  }

  // x * sigmoid(x), or of x times a number: one node (quick_gelu_fusion.cc).
  void FuseQuickGelu(NodeId id) {
    Node& sigmoid = graph_.nodes[id];
    Node* product = OnlyReader(sigmoid);
    if (product == nullptr || !IsStandard(*product, "Mul") || product->inputs.size() != 2 || sigmoid.inputs.empty())
      return;
    const TensorId made = sigmoid.outputs.front(), argument = sigmoid.inputs.front();
    const TensorId x = product->inputs[0] == made ? product->inputs[1] : product->inputs[0];
    if (!x.valid()) return;
    if (argument != x) {
      const Node* scaled = OnlyMaker(argument);
      if (scaled == nullptr || ScaledOperand(*scaled) != x) return;
      Remove(*scaled);
    }
    Remove(sigmoid);
    product->op = "QuickGelu";
    product->domain = "com.microsoft";
    product->inputs = {x};
    pass_[graph_.tensors[product->outputs.front()].producer] = kQuickGeluPass;
  }

  Graph Compacted() {
    IdVector<NodeId, Node> nodes;
    IdVector<NodeId, Pass> pass;
    for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) {
      if (gone_[id]) continue;
      if (split_before_[id] >= 0) {
        nodes.Add(std::move(splits_[static_cast<size_t>(split_before_[id])]));
        pass.Add(kGatherPass);
      }
      nodes.Add(std::move(graph_.nodes[id]));
      pass.Add(pass_[id]);
    }
    graph_.nodes = std::move(nodes);
    LinkTensors(graph_);
    for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
      Tensor& tensor = graph_.tensors[id];
      const bool stored = tensor.role == TensorRole::kInitializer || tensor.role == TensorRole::kConstant;
      if (stored && tensor.consumers.empty() && !IsOutput(id)) tensor.role = TensorRole::kActivation;
    }
    if (!on_cpu_) return std::move(graph_);
    SortByPass(pass);
    return WithBlockedLayout(std::move(graph_));
  }

  // A pass makes its nodes in the order of execution.
  void SortByPass(const IdVector<NodeId, Pass>& pass) {
    NodeIds order;
    for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) {
      if (pass[id] == kOfTheFile) order.push_back(id);
    }
    NodeIds made;
    for (NodeId id : ExecutionOrder(graph_)) {
      if (pass[id] != kOfTheFile) made.push_back(id);
    }
    std::stable_sort(made.begin(), made.end(), [&](NodeId a, NodeId b) { return pass[a] < pass[b]; });
    order.insert(order.end(), made.begin(), made.end());
    IdVector<NodeId, Node> nodes;
    for (NodeId id : order) nodes.Add(std::move(graph_.nodes[id]));
    graph_.nodes = std::move(nodes);
    LinkTensors(graph_);
  }

  Graph graph_;
  bool on_cpu_ = false;
  bool free_dims_ = false;
  IdVector<TensorId, bool> knows_shape_;  // the session; of the tensors of the file
  IdVector<NodeId, bool> gone_;
  IdVector<NodeId, Pass> pass_;         // that made the node
  std::vector<Node> splits_;            // of FuseGathers
  IdVector<NodeId, int> split_before_;  // of a node, which of them stands before it; -1: none
  IdVector<TensorId, bool> constant_;
  IdVector<TensorId, TensorId> same_as_;  // what an identity passed on
};

}  // namespace

Graph SessionGraph(Graph graph, bool on_cpu, bool free_dims) {
  if (on_cpu) {
    for (Tensor& tensor : graph.tensors) {
      const bool half = tensor.dtype == DType::kFloat16 && tensor.role != TensorRole::kInput;
      if (half) tensor.dtype = DType::kFloat32;
    }
  }
  return SessionOptimizer(std::move(graph), on_cpu, free_dims).Run();
}

}  // namespace onnx_mem
