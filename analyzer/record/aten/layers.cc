#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/ops/query_groups.h"
#include "analyzer/record/aten/call.h"
#include "analyzer/record/aten/readers.h"

namespace onnx_mem::record {

// --- matrices, convolutions

void Addmm(AtenCall& c) { c.TakeInputs({1, 2, 0}); }

void Baddbmm(AtenCall& c) {
  c.TakeInputs({0, 1, 2});
  c.node.attributes["beta"] = c.Float(c.num_arguments(), "beta", 1.0);
  c.node.attributes["alpha"] = c.Float(c.num_arguments(), "alpha", 1.0);
}

void Convolution(AtenCall& c) {
  c.TakeInputs({0, 1, 2});
  if (c.Flag(6, "transposed", false)) c.node.op = "conv_transpose";
  c.node.attributes["stride"] = c.Ints(3, "stride");
  c.node.attributes["pad"] = c.Ints(4, "padding");
  c.node.attributes["dilation"] = c.Ints(5, "dilation");
  c.node.attributes["group"] = c.Int(8, "groups", 1);
}

void UpsampleNearest(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["mode"] = std::string("nearest");
}
void UpsampleLinear(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["mode"] = std::string("linear");
}

void Pool(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["kernel"] = c.Ints(1, "kernel_size");
  c.node.attributes["stride"] = c.Ints(2, "stride");
}

// --- norms

void LayerNorm(AtenCall& c) {
  c.TakeInputs({0, 2, 3});
  c.node.attributes["axis"] = -static_cast<int64_t>(c.Ints(1, "normalized_shape").size());
}

void RmsNorm(AtenCall& c) {
  c.TakeInputs({0, 2});
  c.node.attributes["axis"] = -static_cast<int64_t>(c.Ints(1, "normalized_shape").size());
}

void BatchNorm(AtenCall& c) {
  c.TakeInputs({0, 1, 2, 3, 4});
  c.node.attributes["training"] = int64_t{c.Flag(5, "training", true)};
}

void BatchNormWithUpdate(AtenCall& c) {
  c.TakeInputs({0, 1, 2, 3, 4});
  c.node.attributes["training"] = int64_t{1};
}

void GroupNorm(AtenCall& c) {
  c.TakeInputs({0, 1, 2});
  c.node.attributes["groups"] = c.Int(6, "group", 1);
}

// --- softmax, dropout, attention

void Softmax(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["axis"] = c.Int(1, "dim", -1);
  c.node.attributes["half_to_float"] = int64_t{c.Flag(2, "half_to_float", false)};
}

// native_dropout makes a result and a mask, whatever `train` is (native_dropout_cuda in cuda/Dropout.cu).
void Dropout(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["p"] = c.Float(1, "p", 0.5);
  c.node.attributes["ran"] = int64_t{1};
}

// Another kernel runs in half precision, or where the user says so.
static std::string KernelOf(const AtenCall& c, std::string_view recorded) {
  switch (c.run.attention) {
    case AttentionKernel::kMath: return "math";
    case AttentionKernel::kFlash: return "flash";
    case AttentionKernel::kEfficient: return "efficient";
    case AttentionKernel::kAuto:
    case AttentionKernel::kEager: break;
  }
  const bool half = (c.run.dtype && IsHalf(*c.run.dtype)) || (c.run.autocast && IsHalf(*c.run.autocast));
  if (half && recorded == "efficient" && !c.IsTensor(3)) return "flash";
  return std::string(recorded);
}

static int64_t GroupsOf(const AtenCall& c) {
  const TensorId q = c.Tensor(0), k = c.Tensor(1);
  if (!q.valid() || !k.valid()) return 1;
  return QueryGroups(c.graph.tensors[q].shape.dims, c.graph.tensors[k].shape.dims);
}

void EfficientAttention(AtenCall& c) {
  c.TakeInputs({0, 1, 2, 3});
  c.node.attributes["gqa_groups"] = GroupsOf(c);
  c.node.attributes["dropout"] = c.Float(5, "dropout_p", 0.0);
  c.node.attributes["causal"] = int64_t{c.Flag(6, "is_causal", false)};
  c.node.attributes["kernel"] = KernelOf(c, "efficient");
}

void FlashAttention(AtenCall& c) {
  c.TakeInputs({0, 1, 2});
  c.node.attributes["gqa_groups"] = GroupsOf(c);
  c.node.attributes["dropout"] = c.Float(3, "dropout_p", 0.0);
  c.node.attributes["causal"] = int64_t{c.Flag(4, "is_causal", false)};
  c.node.attributes["kernel"] = KernelOf(c, "flash");
}

// --- recurrent layers: lstm(x, [h, c], [weights], has_biases, layers, dropout, train, bidirectional, batch_first)

void Recurrent(AtenCall& c) {
  c.TakeInputs({0});
  TensorIds states = c.Tensors(1, "hx");
  if (states.empty()) states.push_back(c.Tensor(1, "hx"));
  const TensorIds weights = c.Tensors(2, "params");
  c.node.inputs.insert(c.node.inputs.end(), states.begin(), states.end());
  c.node.inputs.insert(c.node.inputs.end(), weights.begin(), weights.end());
  c.node.attributes["states"] = static_cast<int64_t>(states.size());
  c.node.attributes["biases"] = int64_t{c.Flag(3, "has_biases", true)};
  c.node.attributes["layers"] = c.Int(4, "num_layers", 1);
  c.node.attributes["p"] = c.Flag(6, "train", false) ? c.Float(5, "dropout", 0.0) : 0.0;
  c.node.attributes["bidirectional"] = int64_t{c.Flag(7, "bidirectional", false)};
  c.node.attributes["batch_first"] = int64_t{c.Flag(8, "batch_first", false)};
  c.node.attributes["kind"] = c.line.name.substr(0, c.line.name.find('.'));
}

// (A, B, left, check_errors)
void Solve(AtenCall& c) {
  c.TakeInputs({0, 1});
  c.node.attributes["left"] = int64_t{c.Flag(2, "left", true)};
}

// (log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)
void CtcLoss(AtenCall& c) {
  c.TakeInputs({0, 1});
  c.node.attributes["zero_infinity"] = int64_t{c.Flag(5, "zero_infinity", false)};
}

}  // namespace onnx_mem::record
