#include "analyzer/eager/engine/loss.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/eager/engine/workspace.h"
#include "analyzer/eager/operators/binary.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/operators/reduce.h"
#include "analyzer/eager/operators/softmax.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

// nll_loss and nll_loss2d: the loss and the sum of the weights, 4 bytes each; backward makes the whole [N, C, ...].
// `loss_dims`: empty, unless every element keeps its own loss.
// `weights`, if given, receives the sum; a target that is made within the model is saved as well.
TensorRef NllLoss(Machine& m, const TensorRef& log_probabilities, const Dims& loss_dims = {},
                  const TensorRef& target = nullptr, TensorRef* weights = nullptr) {
  const TensorRef x = m.AutocastHigh(log_probabilities);
  const bool is_2d = x->dims.size() == 4;
  NodeRef node = m.MakeNode(is_2d ? "NllLoss2DBackward0" : "NllLossBackward0", {x});
  node.Save(x);
  node.Save(target);
  TensorRef loss = m.New(is_2d ? "nll_loss2d_forward" : "nll_loss_forward", loss_dims, x->dtype);
  const TensorRef sum = m.Allocate(Dims{}, x->dtype);
  node.Save(sum);
  if (weights != nullptr) *weights = sum;
  node.Output(loss);
  node.Formula([is_2d, dims = x->dims](Backward& b) {
    b.result(0, b.m.New(is_2d ? "nll_loss2d_backward" : "nll_loss_backward", dims, b.grad()->dtype));
  });
  return loss;
}

// A loss inside the graph. Inputs: log-probabilities, target.
void EnactNllLoss(Machine& m, const Call& call, Outputs& out) {
  out[0] = NllLoss(m, call.input(0), call.output_dims(), call.input(1), out.size() > 1 ? &out[1] : nullptr);
}

struct PointLossRow {
  std::string_view name, node, backward;
};
constexpr auto kPointLosses = std::to_array<PointLossRow>({
    {"binary_cross_entropy", "BinaryCrossEntropyBackward0", "binary_cross_entropy_backward"},
    {"huber_loss", "HuberLossBackward0", "huber_loss_backward"},
    {"mse_loss", "MseLossBackward0", "mse_loss_backward"},
    {"smooth_l1_loss", "SmoothL1LossBackward0", "smooth_l1_loss_backward"},
    {"soft_margin_loss", "SoftMarginLossBackward0", "soft_margin_loss_backward"},
});

// A loss of each pair of numbers, or one of all. Inputs: x, target, of some a weight. All are saved.
void EnactPointLoss(Machine& m, const Call& call, Outputs& out) {
  const PointLossRow* row = kPointLosses.data();
  while (row->name != call.node.op) ++row;
  const TensorRef &x = call.input(0), &target = call.input(1);
  NodeRef node = m.MakeNode(row->node, {x, target});
  for (const TensorRef& saved : {x, target, call.input(2)}) node.Save(saved);
  out[0] = m.New(row->name, call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([backward = row->backward](Backward& b) {
    const TensorRef x = b.saved(0);
    for (size_t edge : {1, 0}) {
      if (b.needs(edge)) b.result(edge, b.m.NewLike(backward, *x));
    }
  });
}

// Inputs: x, target, weight?, pos_weight?. What it is made of is below autograd (Loss.cpp): log_sigmoid(x), and each
// loss before they are reduced. In backward the product with pos_weight, sigmoid(x) and what becomes the gradient
// (FunctionsManual.cpp).
void EnactLogitsLoss(Machine& m, const Call& call, Outputs& out) {
  const TensorRef x = m.AutocastHigh(call.input(0)), &target = call.input(1), &scale = call.input(3);
  NodeRef node = m.MakeNode("BinaryCrossEntropyWithLogitsBackward0", {x, target});
  for (const TensorRef& saved : {x, target, call.input(2), scale}) node.Save(saved);
  out[0] = m.New("binary_cross_entropy_with_logits", call.output_dims(), x->dtype);
  const size_t made = call.output_dims() == x->dims ? 1 : 2;
  m.recorder().KernelTakes(std::vector<int64_t>(made, DenseBytes(x->dims, x->dtype)));
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    const TensorRef &x = b.saved(0), &target = b.saved(1), &scale = b.saved(3);
    if (b.needs(1)) b.result(1, NewPointwise(b.m, "log_sigmoid_backward", {x, target}));
    if (scale == nullptr) return b.result(0, b.m.NewLike("sigmoid", *x));
    const TensorRef scaled = NewPointwise(b.m, "mul", {scale, target});
    const TensorRef grad = NewPointwise(b.m, "add", {scaled});
    const TensorRef sigmoid = b.m.NewLike("sigmoid", *x);
    b.result(0, grad);
  });
}

// Inputs: log-probabilities [steps, batch, labels], targets. Saved with both results, of which log_alpha is as wide as
// the longest target and stays inside (_ctc_loss of derivatives.yaml). Backward makes log_beta like it
// (ctc_loss_backward_gpu_template of LossCTC.cu, as the CPU's).
void EnactCtcLoss(Machine& m, const Call& call, Outputs& out) {
  const TensorRef x = m.AutocastHigh(call.input(0));
  const CtcKernel kernel{.log_probabilities = x->dims,
                         .log_alpha = call.output_dims(1),
                         .dtype = x->dtype,
                         .zero_infinity = IntAttribute(call.node, "zero_infinity", 0) != 0};
  NodeRef node = m.MakeNode("CtcLossBackward0", {x});
  node.Save(x);
  node.Save(call.input(1));
  out[0] = m.New("_ctc_loss", call.output_dims(), x->dtype);
  out[1] = m.Allocate(kernel.log_alpha, x->dtype);
  m.recorder().KernelTakes(ForwardTakes(kernel));
  node.Save(out[0]);
  node.Save(out[1]);
  node.Output(out[0]);
  node.Formula([kernel](Backward& b) {
    b.m.BeginStep("_ctc_loss_backward");
    const TensorRef log_beta = b.m.Allocate(kernel.log_alpha, kernel.dtype);
    b.result(0, b.m.Allocate(kernel.log_probabilities, kernel.dtype));
    b.m.recorder().KernelTakes(BackwardTakes(kernel));
  });
}

bool HasAlpha(const CallShape& call) {
  return call.rank(0) == 3 && call.node.outputs.size() == 2 && call.node.outputs[1].valid();
}

}  // namespace

TensorRef CrossEntropy(Machine& m, const TensorRef& logits, size_t class_axis) {
  TensorRef x = logits;
  const size_t rank = x->dims.size();
  if (rank > 2 && class_axis + 1 == rank) {
    x = Reshape(m, x, Dims{NumRows(x->dims), x->dims.back()});
  }
  // The composite names the dtype, so autocast does not widen: log_softmax runs in half, and nll_loss gets a cast copy.
  TensorRef log_probabilities = Softmax(m, "_log_softmax", x, x->dtype);
  const size_t flat_rank = log_probabilities->dims.size();
  if (flat_rank == 3 || flat_rank > 4) {  // nll_loss_nd: as an image
    const Dims& dims = log_probabilities->dims;
    const int64_t positions = ElementsFrom(dims, 2);
    log_probabilities = View(m, log_probabilities, Dims{dims[0], dims[1], 1, positions});
  }
  return NllLoss(m, log_probabilities);
}

// _nll_loss_and_log_softmax_backward: what it names lives to its end.
void SplitCrossEntropyBackward(Backward& b) {
  const TensorRef saved = b.saved(0);
  const Dims rows = {saved->dims[0]};
  const TensorRef target = b.m.New("where", rows, DType::kInt64);
  const TensorRef update = b.m.NewLike("zeros_like", *saved);
  const TensorRef mask = b.m.New("bitwise_or", rows, DType::kBool);
  const TensorRef masked_target = b.m.New("sub", rows, DType::kInt64);
  const TensorRef updates = b.m.New("sub", rows, saved->dtype);
  const TensorRef places = b.m.New("arange", rows, DType::kInt64);
  b.m.BeginStep("index_put_");
  const TensorRef incoming = b.m.New("where", rows, saved->dtype);
  TensorRef gradient;
  {
    const TensorRef powers = b.m.NewLike("exp", *saved);
    gradient = b.m.NewLike("add", *saved);
  }
  b.result(0, b.m.NewLike("mul", *gradient));
}

// torch/distributed/tensor/parallel/loss.py: one number per row is exchanged, all else is of the rank's classes.
TensorRef SplitCrossEntropy(Machine& m, const TensorRef& logits) {
  const TensorRef x = Reshape(m, logits, Dims{NumRows(logits->dims), logits->dims.back()});
  NodeRef node = m.MakeNode("LogSoftmaxBackward0", {x});
  const Dims rows = {x->dims[0], 1};
  TensorRef log_probabilities;
  {
    TensorRef largest = m.New("amax", rows, x->dtype);
    largest = m.New("all_reduce", rows, x->dtype);
    const TensorRef shifted = m.NewLike("sub", *x);
    TensorRef sum;
    {
      const TensorRef powers = m.NewLike("exp", *shifted);
      sum = m.New("sum", rows, x->dtype);
    }
    sum = m.New("all_reduce", rows, x->dtype);
    sum = m.New("log", rows, x->dtype);
    log_probabilities = m.NewLike("sub", *shifted);
  }
  node.Save(log_probabilities);
  const TensorRef loss = m.New("nll_loss_forward", Dims{}, x->dtype);
  node.Save(m.New("sum", Dims{}, x->dtype));  // of the weights
  node.Output(loss);
  node.Formula(SplitCrossEntropyBackward);
  return loss;
}

TensorRef MseLoss(Machine& m, const TensorRef& output) {
  const TensorRef x = m.AutocastHigh(output);
  NodeRef node = m.MakeNode("MseLossBackward0", {x});
  node.Save(x);
  TensorRef loss = m.New("mse_loss", Dims{}, x->dtype);
  node.Output(loss);
  node.Formula([](Backward& b) {
    const TensorRef x = b.saved(0);
    b.result(0, b.m.NewLike("mse_loss_backward", *x));
  });
  return loss;
}

TensorRef SumLoss(Machine& m, const TensorRef& output) { return Sum(m, output, {}, /*keep_dims=*/false); }

TensorRef MeanLoss(Machine& m, const TensorRef& output) { return Mean(m, output, {}, /*keep_dims=*/false); }

TensorRef AddLosses(Machine& m, const TensorRef& a, const TensorRef& b) { return Add(m, a, b); }

std::span<const OpRow> LossOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"binary_cross_entropy", EnactPointLoss, 2},
      {"binary_cross_entropy_with_logits", EnactLogitsLoss, 2},
      {"ctc_loss", EnactCtcLoss, 2, 3, HasAlpha},
      {"huber_loss", EnactPointLoss, 2},
      {"mse_loss", EnactPointLoss, 2},
      {"nll_loss", EnactNllLoss},
      {"smooth_l1_loss", EnactPointLoss, 2},
      {"soft_margin_loss", EnactPointLoss, 2},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
