#include "analyzer/runtimes/session_fusions.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/lower/facts/standard_operator.h"
#include "analyzer/runtimes/session_layout.h"

namespace onnx_mem {
namespace {

constexpr auto kConvActivations =
    std::to_array<std::string_view>({"Clip", "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Tanh"});

constexpr auto kGemmActivations = std::to_array<std::string_view>(
    {"Elu", "HardSigmoid", "LeakyRelu", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu"});

// Which slice of how many the node takes alone, as a constant says; -1 for any other node.
int64_t GatheredSlice(const SessionEdits& edits, const Node& node, TensorId from, size_t axis, int64_t slices) {
  if (!IsStandard(node, "Gather") || node.inputs.size() != 2 || node.inputs[0] != from || !HasOneOutput(node)) {
    return -1;
  }
  const LiteralPtr& index = edits.tensor(node.inputs[1]).value;
  if (!edits.IsConstant(node.inputs[1]) || index == nullptr || index->ints() == nullptr) return -1;
  const int64_t rank = static_cast<int64_t>(edits.tensor(from).shape.rank()), at = IntAttribute(node, "axis", 0);
  if ((at < 0 ? at + rank : at) != static_cast<int64_t>(axis) || index->ints()->size() != 1) return -1;
  if (!index->dims.empty()) return -1;
  const int64_t slice = index->ints()->front();
  return slice < 0 ? slice + slices : slice;
}

// The Split of `from`, of which each gather, in the order of slices, becomes a view.
Node SplitInto(SessionEdits& edits, TensorId from, size_t axis, const NodeIds& gathers) {
  Node split;
  split.op = "Split";
  split.attributes["axis"] = static_cast<int64_t>(axis);
  split.inputs = {from};
  for (NodeId gather : gathers) {
    Node& view = edits.node(gather);
    Tensor slice;
    slice.name = edits.tensor(view.outputs.front()).name + " split";
    slice.dtype = edits.tensor(from).dtype;
    slice.shape = edits.tensor(from).shape;
    slice.shape.dims[axis] = 1;
    split.outputs.push_back(edits.AddTensor(std::move(slice)));
    view.op = "Squeeze";
    view.attributes.clear();
    view.inputs = {split.outputs.back()};
    edits.SetPass(gather, SessionPass::kGather);
  }
  return split;
}

}  // namespace

// One node for both (conv_activation_fusion.cc). It overwrites the result anyway, so that only the order hangs on it.
void FuseConvActivation(SessionEdits& edits, NodeId conv) {
  const Node* activation = edits.OnlyReader(edits.node(conv));
  if (activation == nullptr || !IsStandard(*activation, kConvActivations)) return;
  edits.SetPass(conv, SessionPass::kConvActivation);
  edits.SetPass(edits.MakerOf(activation->outputs.front()), SessionPass::kConvActivation);
}

void FuseGemmActivation(SessionEdits& edits, NodeId gemm) {
  const Node* activation = edits.OnlyReader(edits.node(gemm));
  if (activation == nullptr || !IsStandard(*activation, kGemmActivations)) return;
  edits.Remove(*activation);
  edits.SetResult(gemm, activation->outputs.front());
  edits.SetPass(gemm, SessionPass::kGemmActivation);
}

// What brings a product of integers back to numbers, its scale and a bias, is a part of it: no result of 32-bit
// integers is stored (matmul_integer_to_float.cc).
void FuseIntegerProduct(SessionEdits& edits, NodeId product) {
  const Node* cast = edits.OnlyReader(edits.node(product));
  if (cast == nullptr || !IsStandard(*cast, "Cast")) return;
  const Node* scaled = edits.OnlyReader(*cast);
  if (scaled == nullptr || !IsStandard(*scaled, "Mul")) return;
  const TensorId scale = OtherOperand(*scaled, cast->outputs.front());
  if (!scale.valid()) return;
  TensorId result = scaled->outputs.front();
  edits.SetReader(scale, edits.MakerOf(result), product);
  edits.SetGone(edits.MakerOf(cast->outputs.front()));
  edits.SetGone(edits.MakerOf(result));
  const Node* sum = edits.OnlyReader(*scaled);
  if (sum != nullptr && IsStandard(*sum, "Add") && edits.IsConstant(OtherOperand(*sum, result))) {
    result = sum->outputs.front();
    edits.SetGone(edits.MakerOf(result));
  }
  MakeContributed(edits.node(product), "MatMulIntegerToFloat");
  edits.node(product).inputs.push_back(scale);
  edits.SetResult(product, result);
  edits.SetPass(product, SessionPass::kIntegerProduct);
}

// The sum is merged into the convolution, which adds to its other operand where that lies (nchwc_transformer.cc).
void FuseSum(SessionEdits& edits, NodeId id) {
  const Node& sum = edits.node(id);
  if (!HasOneOutput(sum)) return;
  for (size_t i = 0; i < 2 && sum.inputs.size() == 2; ++i) {
    const TensorId other = sum.inputs[1 - i], result = sum.outputs.front();
    Node* maker = edits.OnlyMaker(sum.inputs[i]);
    if (maker == nullptr || !IsStandard(*maker, "Conv") || maker->inputs.size() > kConvolutionSum ||
        edits.IsConstant(other)) {
      continue;
    }
    const Shape& shape = edits.tensor(result).shape;
    if (shape.rank() != 4 || edits.tensor(other).shape != shape) continue;
    const NodeId conv = edits.MakerOf(sum.inputs[i]);
    maker->inputs.resize(kConvolutionSum);
    maker->inputs.push_back(other);
    maker->domain = "com.microsoft.nchwc";
    edits.SetGone(id);
    edits.SetResult(conv, result);
    edits.SetReader(other, id, conv);
    return;
  }
}

// One Split and views of what it makes (gather_slice_fusion.cc).
void FuseGathers(SessionEdits& edits, TensorId from) {
  const NodeIds readers = edits.tensor(from).consumers;
  const Shape& shape = edits.tensor(from).shape;
  if (edits.IsOutput(from) || !shape.known() || readers.size() < 2) return;
  const Node& first = edits.node(readers.front());
  if (!IsStandard(first, "Gather")) return;
  const int64_t rank = static_cast<int64_t>(shape.rank()), at = IntAttribute(first, "axis", 0);
  const size_t axis = static_cast<size_t>(at < 0 ? at + rank : at);
  const int64_t slices = static_cast<int64_t>(readers.size());
  if (axis >= static_cast<size_t>(rank) || shape.dims[axis] != slices) return;
  NodeIds gathers(readers.size());
  for (NodeId reader : readers) {
    const int64_t slice = GatheredSlice(edits, edits.node(reader), from, axis, slices);
    if (slice < 0 || slice >= slices || gathers[static_cast<size_t>(slice)].valid()) return;
    gathers[static_cast<size_t>(slice)] = reader;
  }
  const NodeId first_view = *std::min_element(gathers.begin(), gathers.end());
  edits.AddBefore(first_view, SplitInto(edits, from, axis, gathers), SessionPass::kGather);
}

// The product takes a scaled operand as it was before, and makes what is its scaled result: its alpha does the scaling.
void FoldScale(SessionEdits& edits, NodeId product) {
  for (TensorId& input : edits.node(product).inputs) {
    const Node* maker = edits.OnlyMaker(input);
    if (maker == nullptr) continue;
    const std::optional<TensorId> operand = edits.ScaledOperand(*maker);
    if (!operand || edits.tensor(*operand).shape != edits.tensor(input).shape) continue;
    edits.Remove(*maker);
    input = *operand;
    edits.SetPass(product, SessionPass::kMatMulScale);
  }
  const Node* reader = edits.OnlyReader(edits.node(product));
  if (reader == nullptr || !edits.ScaledOperand(*reader)) return;
  edits.Remove(*reader);
  edits.SetResult(product, reader->outputs.front());
  edits.SetPass(product, SessionPass::kMatMulScale);
}

}  // namespace onnx_mem
