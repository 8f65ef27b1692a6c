#include "analyzer/runtimes/session_layout.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "analyzer/lower/facts/standard_operator.h"
#include "analyzer/runtimes/execution_order.h"

namespace onnx_mem {
namespace {

constexpr int64_t kBlock = 16;          // MlasNchwcGetBlockSize with AVX-512; 8 with AVX2
constexpr int64_t kCopiedChannels = 4;  // ReorderInput copies channels in fours
constexpr std::string_view kBlockedDomain = "com.microsoft.nchwc";

constexpr auto kPoolings =
    std::to_array<std::string_view>({"AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool"});
constexpr auto kBlockedActivations = std::to_array<std::string_view>({"Relu", "Sigmoid", "Tanh"});
// Only as a part of the convolution before.
constexpr auto kConvolutionActivations = std::to_array<std::string_view>({"Clip", "HardSigmoid", "LeakyRelu"});

class BlockedLayout {
 public:
  explicit BlockedLayout(Graph graph)
      : graph_(std::move(graph)),
        blocked_(graph_.tensors.size()),
        reordered_(graph_.tensors.size()),
        made_at_(graph_.tensors.size(), 0),
        copied_back_(graph_.tensors.size(), false) {}

  Graph Run() {
    plain_.resize(graph_.nodes.size());
    for (NodeId id : ExecutionOrder(graph_)) {
      Node& node = graph_.nodes[id];
      if (Block(node)) continue;
      KeepPlain(node);
      plain_[id.index()] = std::move(node);
    }
    for (TensorId output : graph_.outputs) CopyBack(output);
    return Numbered();
  }

 private:
  const Shape& ShapeOf(TensorId id) const { return graph_.tensors[id].shape; }
  bool IsBlocked(TensorId id) const { return id.valid() && blocked_[id].valid(); }

  bool IsReadOnce(TensorId id) const {
    return graph_.tensors[id].consumers.size() == 1 &&
           std::find(graph_.outputs.begin(), graph_.outputs.end(), id) == graph_.outputs.end();
  }

  // Whether the node's operands let it compute in blocks; if so it and its result are.
  bool Block(Node& node) {
    if (node.inputs.empty() || node.outputs.size() != 1 || !node.outputs.front().valid()) return false;
    const TensorId x = node.inputs.front(), y = node.outputs.front();
    constexpr int64_t kMostChannels = int64_t{1} << 40;
    if (!ShapeOf(y).known() || ShapeOf(y).rank() < 2 || ShapeOf(y).dims[1] > kMostChannels) return false;
    if (!x.valid() || !ShapeOf(x).known() || ShapeOf(x).rank() < 2 || ShapeOf(x).dims[1] > kMostChannels) return false;
    if (ShapeOf(y).rank() != 4 || graph_.tensors[y].dtype != DType::kFloat32) return false;
    if (IsStandard(node, "Conv")) return BlockConvolution(node);
    if (IsStandard(node, kPoolings)) return BlockPooling(node);
    if (IsStandard(node, "Add") || IsStandard(node, "Mul")) return BlockArithmetic(node);
    if (IsStandard(node, "Concat")) return BlockConcatenation(node);
    if (!IsBlocked(x)) return false;
    const bool normalizes = IsStandard(node, "BatchNormalization") && IntAttribute(node, "training_mode", 0) == 0;
    const bool ends_convolution = IsStandard(node, kConvolutionActivations) && IsReadOnce(x) && MadeByConvolution(x);
    if (!normalizes && !ends_convolution && !IsStandard(node, kBlockedActivations)) return false;
    node.inputs.front() = blocked_[x];
    Emit(std::move(node), y);
    return true;
  }

  bool BlockConvolution(Node& node) {
    const TensorId x = node.inputs.front();
    if (node.inputs.size() < 2 || !node.inputs[1].valid()) return false;
    const Shape& weight = ShapeOf(node.inputs[1]);
    if (!weight.known() || weight.rank() != 4 || !IsStored(node.inputs[1])) return false;
    const int64_t groups = IntAttribute(node, "group", 1), out = weight.dims[0], in = weight.dims[1];
    bool reorders = true;
    if (groups > 1) {
      const bool depthwise = in == 1 && out == groups;
      if (depthwise && out % kCopiedChannels != 0) return false;
      if (!depthwise && (in % kBlock != 0 || out % groups != 0 || out / groups % kBlock != 0)) return false;
    } else if (in < kBlock) {
      reorders = false;
    } else if (in % kCopiedChannels != 0) {
      return false;
    }
    if (reorders) {
      node.inputs.front() = InBlocks(x);
    } else {
      CopyBack(x);
    }
    const TensorId y = node.outputs.front();
    node.domain = kBlockedDomain;
    Emit(std::move(node), y);
    return true;
  }

  bool BlockPooling(Node& node) {
    const TensorId x = node.inputs.front(), y = node.outputs.front();
    if (ShapeOf(x).dims[1] % kBlock != 0) return false;
    node.inputs.front() = InBlocks(x);
    node.domain = kBlockedDomain;
    Emit(std::move(node), y);
    return true;
  }

  bool BlockArithmetic(Node& node) {
    if (node.inputs.size() != 2 || !IsBlocked(node.inputs[0]) || !IsBlocked(node.inputs[1])) return false;
    const TensorId y = node.outputs.front();
    const auto fits = [&](TensorId x) { return ShapeOf(x) == ShapeOf(y); };
    if (!fits(node.inputs[0]) || !fits(node.inputs[1])) return false;
    if (node.op == "Add" && AddInConvolution(node)) return true;
    for (TensorId& input : node.inputs) input = blocked_[input];
    Emit(std::move(node), y);
    return true;
  }

  // The sum is merged into the convolution that made an operand, which adds to the other where that lies.
  bool AddInConvolution(const Node& sum) {
    for (size_t i = 0; i < 2; ++i) {
      const TensorId made = sum.inputs[i];
      if (!MadeByConvolution(made) || !IsReadOnce(made)) continue;
      Node& maker = blocks_[made_at_[made]];
      maker.inputs.resize(kConvolutionSum);
      maker.inputs.push_back(blocked_[sum.inputs[1 - i]]);
      blocked_[sum.outputs.front()] = blocked_[made];
      made_at_[sum.outputs.front()] = made_at_[made];
      return true;
    }
    return false;
  }

  bool BlockConcatenation(Node& node) {
    if (IntAttribute(node, "axis", 0) != 1) return false;
    for (TensorId input : node.inputs) {
      if (!IsBlocked(input) || ShapeOf(input).dims[1] % kBlock != 0) return false;
    }
    const TensorId y = node.outputs.front();
    for (TensorId& input : node.inputs) input = blocked_[input];
    Emit(std::move(node), y);
    return true;
  }

  bool IsStored(TensorId id) const {
    const TensorRole role = graph_.tensors[id].role;
    return role == TensorRole::kInitializer || role == TensorRole::kConstant;
  }

  // A blocked tensor that is the result of a convolution and of nothing behind it.
  bool MadeByConvolution(TensorId id) const {
    const Node& maker = blocks_[made_at_[id]];
    return maker.op == "Conv" && maker.inputs.size() <= kConvolutionSum;
  }

  // The tensor in blocks: as it was made, or through a copy.
  TensorId InBlocks(TensorId id) {
    if (IsBlocked(id)) return blocked_[id];
    if (!reordered_[id].valid()) {
      reordered_[id] = NewBlockedTensor(id, " reordered");
      Node copy;
      copy.op = "ReorderInput";
      copy.domain = kBlockedDomain;
      copy.inputs = {id};
      copy.outputs = {reordered_[id]};
      blocks_.push_back(std::move(copy));
    }
    return reordered_[id];
  }

  TensorId NewBlockedTensor(TensorId of, std::string_view suffix) {
    Tensor tensor = Unlinked(graph_.tensors[of]);
    tensor.name.append(suffix);
    tensor.role = TensorRole::kActivation;
    tensor.value = nullptr;
    if (tensor.shape.rank() > 1) tensor.shape.dims[1] = (tensor.shape.dims[1] + kBlock - 1) / kBlock * kBlock;
    return graph_.tensors.Add(std::move(tensor));
  }

  void Emit(Node node, TensorId result) {
    blocked_[result] = NewBlockedTensor(result, " in blocks");
    node.outputs = {blocked_[result]};
    made_at_[result] = blocks_.size();
    blocks_.push_back(std::move(node));
  }

  void KeepPlain(Node& node) {
    // A transposition to channels last is what the copy back writes.
    const auto perm = node.attributes.find("perm");
    const bool to_channels_last = IsStandard(node, "Transpose") && perm != node.attributes.end() &&
                                  perm->second == Attribute(std::vector<int64_t>{0, 2, 3, 1}) &&
                                  node.inputs.size() == 1 && IsBlocked(node.inputs.front());
    if (to_channels_last) {
      node.inputs.front() = blocked_[node.inputs.front()];
    } else {
      for (TensorId input : node.inputs) CopyBack(input);
      for (TensorId capture : node.captures) CopyBack(capture);
    }
  }

  void CopyBack(TensorId id) {
    if (!IsBlocked(id) || copied_back_[id]) return;
    copied_back_[id] = true;
    Node copy;
    copy.op = "ReorderOutput";
    copy.domain = kBlockedDomain;
    copy.inputs = {blocked_[id]};
    copy.outputs = {id};
    back_.push_back(std::move(copy));
  }

  Graph Numbered() {
    IdVector<NodeId, Node> nodes;
    for (std::vector<Node>* some : {&plain_, &blocks_, &back_}) {
      for (Node& node : *some) {
        if (!node.outputs.empty()) nodes.Add(std::move(node));
      }
    }
    graph_.nodes = std::move(nodes);
    LinkTensors(graph_);
    return std::move(graph_);
  }

  Graph graph_;
  IdVector<TensorId, TensorId> blocked_;    // of a tensor of the file, its blocked form as made by a node
  IdVector<TensorId, TensorId> reordered_;  // and as a copy
  IdVector<TensorId, size_t> made_at_;      // of a blocked tensor, its maker in blocks_
  IdVector<TensorId, bool> copied_back_;
  std::vector<Node> plain_, blocks_, back_;
};

}  // namespace

Graph WithBlockedLayout(Graph graph) { return BlockedLayout(std::move(graph)).Run(); }

}  // namespace onnx_mem
