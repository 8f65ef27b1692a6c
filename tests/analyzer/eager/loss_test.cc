#include "analyzer/eager/engine/loss.h"

#include <gtest/gtest.h>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

TEST(CrossEntropyTest, SavesTheLogSoftmaxOnce) {
  OperatorRun run;
  const TensorRef logits = run.Static({{8, 1000}});
  const TensorRef loss = CrossEntropy(run.machine(), logits, 1);
  EXPECT_TRUE(loss->dims.empty());
  EXPECT_EQ(run.SavedBytes(true), 32000 + 4);
  EXPECT_EQ(run.Backward(loss), "nll_loss_backward:32000 _log_softmax_backward_data:32000");
}

TEST(CrossEntropyTest, ClassesThatStandLastAreFlattened) {
  OperatorRun run;
  const TensorRef logits = run.Static({{2, 4, 1000}});
  const TensorRef loss = CrossEntropy(run.machine(), logits, 2);
  EXPECT_EQ(run.SavedBytes(true), 32000 + 4);
  EXPECT_EQ(run.Backward(loss), "nll_loss_backward:32000 _log_softmax_backward_data:32000");
}

TEST(CrossEntropyTest, ImagesOfClasses) {
  OperatorRun run;
  const TensorRef loss = CrossEntropy(run.machine(), run.Static({{2, 10, 4, 4}}), 1);
  EXPECT_EQ(run.Backward(loss), "nll_loss2d_backward:1280 _log_softmax_backward_data:1280");
}

TEST(CrossEntropyTest, StepsOfClassesAreAnImageOfOneLine) {
  OperatorRun run;
  const TensorRef loss = CrossEntropy(run.machine(), run.Static({{2, 10, 4}}), 1);
  EXPECT_EQ(run.Backward(loss), "nll_loss2d_backward:320 _log_softmax_backward_data:320");
}

TEST(CrossEntropyTest, OfNothingIsNothing) {
  for (const Dims& dims : {Dims{2, 0, 3}, Dims{2, 3, 0}, Dims{0, 3}, Dims{0, 0, 4, 4}, Dims{3, 4, 0, 5, 6}}) {
    for (const size_t axis : {size_t{1}, dims.size() - 1}) {
      OperatorRun run;
      const TensorRef loss = CrossEntropy(run.machine(), run.Static({dims}), axis);
      EXPECT_EQ(run.Backward(loss), "");
    }
  }
}

TEST(CrossEntropyTest, UnderAutocastTheLogSoftmaxIsHalfAndNllIsNot) {
  onnx_mem::Run options;
  options.autocast = DType::kFloat16;
  OperatorRun run(options);
  const size_t before = run.buffers() + 1;
  const TensorRef loss = CrossEntropy(run.machine(), run.Static({{8, 1000}, true, DType::kFloat16}), 1);
  EXPECT_EQ(run.Allocations(before), "_log_softmax:16000 _to_copy:32000");
  EXPECT_EQ(run.SavedBytes(true), 16000 + 32000 + 4);
  EXPECT_EQ(run.Backward(loss), "nll_loss_backward:32000 _to_copy:16000 _log_softmax_backward_data:16000");
}

TEST(MseLossTest, SavesThePredictionAndWidensItUnderAutocast) {
  OperatorRun run;
  const TensorRef loss = MseLoss(run.machine(), run.Static({{8, 1000}}));
  EXPECT_EQ(run.SavedBytes(true), 32000);
  EXPECT_EQ(run.Backward(loss), "mse_loss_backward:32000");
  onnx_mem::Run options;
  options.autocast = DType::kBFloat16;
  OperatorRun half(options);
  const TensorRef wide = MseLoss(half.machine(), half.Static({{8, 1000}, true, DType::kBFloat16}));
  EXPECT_EQ(wide->dtype, DType::kFloat32);
  EXPECT_EQ(half.Backward(wide), "mse_loss_backward:32000 _to_copy:16000");
}

TEST(PointLossTest, SavesPredictionTargetAndWeight) {
  for (const std::string loss : {"huber_loss", "smooth_l1_loss", "soft_margin_loss", "binary_cross_entropy"}) {
    OperatorRun run;
    const TensorRef x = run.Static({{8, 1000}}), target = run.Static({{8, 1000}, false});
    const bool weighted = loss == "binary_cross_entropy";
    const TensorRef y = run.One(loss, {x, target, weighted ? run.Static({{1000}, false}) : nullptr}, {});
    EXPECT_EQ(run.SavedBytes(true), weighted ? 68000 : 64000) << loss;
    EXPECT_EQ(run.Backward(y), loss + "_backward:32000");
  }
}

TEST(LogitsLossTest, MakesTwoTensorsBelowAutogradAndScalesInBackward) {
  for (const bool scaled : {false, true}) {
    OperatorRun run;
    const TensorRef x = run.Static({{8, 1000}}), target = run.Static({{8, 1000}, false});
    const TensorRef scale = scaled ? run.Static({{1000}, false}) : nullptr;
    const TensorRef loss = run.One("binary_cross_entropy_with_logits", {x, target, nullptr, scale}, {});
    const Recorder& recorder = run.machine().recorder();
    EXPECT_EQ(recorder.program().steps[recorder.current_step()].kernel_takes, std::vector<int64_t>(2, 32000));
    EXPECT_EQ(run.SavedBytes(true), scaled ? 68000 : 64000);
    EXPECT_EQ(run.Backward(loss), scaled ? "mul:32000 add:32000 sigmoid:32000" : "sigmoid:32000");
  }
}

// _ctc_loss gives the losses and log_alpha, which is saved; backward makes log_beta beside the gradient.
TEST(CtcLossTest, SavesLogAlphaAndMakesLogBeta) {
  OperatorRun run;
  const TensorRef targets = run.Static({{4, 6}, false, DType::kInt64});
  const TensorRef loss = run.Apply("ctc_loss", {run.Static({{20, 4, 10}}), targets}, {{4}, {4, 20, 13}})[0];
  const Recorder& recorder = run.machine().recorder();
  EXPECT_EQ(recorder.program().steps[recorder.current_step()].kernel_takes, std::vector<int64_t>(3, 32));
  EXPECT_EQ(run.SavedBytes(true), 3200 + 4 * 6 * 8 + 4 * 4 + 4160);
  EXPECT_EQ(run.Backward(loss), "_ctc_loss_backward:4160 _ctc_loss_backward:3200");
}

TEST(CtcLossTest, IsFloatUnderAutocast) {
  onnx_mem::Run options;
  options.autocast = DType::kFloat16;
  OperatorRun run(options);
  const TensorRef x = run.Static({{20, 4, 10}, true, DType::kFloat16});
  const TensorRef targets = run.Static({{4, 6}, false, DType::kInt64});
  const TensorRef loss = run.Apply("ctc_loss", {x, targets}, {{4}, {4, 20, 13}}, {}, DType::kFloat16)[0];
  EXPECT_EQ(loss->dtype, DType::kFloat32);
  EXPECT_EQ(run.Backward(loss), "_ctc_loss_backward:4160 _ctc_loss_backward:3200 _to_copy:1600");
}

TEST(TrafficTest, WhatIsAllocatedIsWrittenAndGradientsAndSavedTensorsAreRead) {
  OperatorRun run;
  const TensorRef y = run.One("relu", {run.Static({{8, 1000}})}, {8, 1000});
  Recorder& recorder = run.machine().recorder();
  EXPECT_EQ(recorder.program().steps[recorder.current_step()].moved_bytes, 32000);  // the executor adds the input
  run.Backward(y);
  EXPECT_EQ(recorder.program().steps[recorder.current_step()].moved_bytes, 3 * 32000);
}

TEST(LossesTest, SumsAndMeans) {
  OperatorRun run;
  const TensorRef a = SumLoss(run.machine(), run.Static({{8, 1000}}));
  const TensorRef b = MeanLoss(run.machine(), run.Static({{8, 1000}}));
  const TensorRef loss = AddLosses(run.machine(), a, b);
  EXPECT_EQ(run.Backward(loss), "div:32000 clone:32000");
}

}  // namespace
}  // namespace onnx_mem::eager
