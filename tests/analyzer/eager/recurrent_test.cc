// One layer over 3 steps of 8 samples, 64 features, 128 hidden units: sizes measured on PyTorch's native CUDA path.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

constexpr int64_t kT = 3, kB = 8, kI = 64, kH = 128;

Attributes LayerAttributes(int64_t weights, bool bidirectional = false) {
  return {{"hidden", kH}, {"bidirectional", static_cast<int64_t>(bidirectional)}, {"weights", weights}};
}

struct Layer {
  TensorRef x;
  std::vector<TensorRef> inputs;
};

// Weights as the framework keeps them: one tensor per matrix and bias.
Layer Make(OperatorRun& run, int64_t gates) {
  Layer layer;
  layer.x = run.Static({{kT, kB, kI}});
  layer.inputs = {layer.x,
                  run.Static({{gates * kH, kI}}),
                  run.Static({{gates * kH, kH}}),
                  run.Static({{gates * kH}}),
                  run.Static({{gates * kH}}),
                  run.Static({{1, kB, kH}, false})};
  return layer;
}

const std::vector<Dims>& Outputs1() {
  static const auto& dims = *new std::vector<Dims>{{kT, 1, kB, kH}, {1, kB, kH}, {1, kB, kH}};
  return dims;
}

TEST(LstmTest, StepsAsMeasured) {
  OperatorRun run;
  Layer layer = Make(run, 4);
  layer.inputs.push_back(layer.inputs.back());  // the same zeros serve h and c
  const size_t before = run.buffers();
  const std::vector<TensorRef> out = run.Apply("lstm", layer.inputs, Outputs1(), LayerAttributes(4));
  const std::string cell = "_thnn_fused_lstm_cell:";
  const std::string step = absl::StrCat("mm:16384 mm:16384 ", cell, "4096 ", cell, "4096 ", cell, "16384 ");
  EXPECT_EQ(run.Allocations(before), absl::StrCat(step, step, step, "stack:12288 stack:4096 stack:4096"));
  EXPECT_EQ(out[0]->dims, (Dims{kT, 1, kB, kH}));
  // Three steps of gates, workspace and c, and the two h that further steps read.
  EXPECT_EQ(run.SavedBytes(false), 3 * (3 * 16384 + 4096) + 2 * 4096);
}

TEST(LstmTest, BackwardAsMeasured) {
  OperatorRun run;
  Layer layer = Make(run, 4);
  layer.inputs.push_back(layer.inputs.back());
  const TensorRef y = run.Apply("lstm", layer.inputs, Outputs1(), LayerAttributes(4))[0];
  const std::string text = run.Backward(y);
  const std::string impl = "_thnn_fused_lstm_cell_backward_impl:";
  const std::string cell = absl::StrCat(impl, "16384 ", impl, "4096 ", impl, "2048 ");
  EXPECT_TRUE(absl::StartsWith(text, absl::StrCat(cell, "mm:262144 mm:4096 add:4096 mm:131072 mm:2048 ", cell)))
      << text;
  EXPECT_TRUE(absl::EndsWith(text, "mm:131072 mm:2048 stack:6144")) << text;
}

TEST(LstmTest, StoredInOnePieceGivesTheSameForward) {
  OperatorRun split, joined;
  Layer a = Make(split, 4);
  a.inputs.push_back(a.inputs.back());
  const TensorRef x = joined.Static({{kT, kB, kI}});
  const std::vector<TensorRef> inputs = {x,
                                         joined.Static({{1, 4 * kH, kI}}),
                                         joined.Static({{1, 4 * kH, kH}}),
                                         joined.Static({{1, 8 * kH}}),
                                         joined.Static({{1, kB, kH}, false}),
                                         joined.Static({{1, kB, kH}, false})};
  const size_t before_a = split.buffers(), before_b = joined.buffers();
  split.Apply("lstm", a.inputs, Outputs1(), LayerAttributes(4));
  joined.Apply("lstm", inputs, Outputs1(), LayerAttributes(3));
  EXPECT_EQ(split.Allocations(before_a), joined.Allocations(before_b));
}

TEST(LstmTest, DirectionsAreConcatenated) {
  OperatorRun run;
  const std::vector<TensorRef> inputs = {run.Static({{kT, kB, kI}}), run.Static({{2, 4 * kH, kI}}),
                                         run.Static({{2, 4 * kH, kH}}), run.Static({{2, 8 * kH}})};
  const std::vector<Dims> dims = {{kT, 2, kB, kH}, {2, kB, kH}, {2, kB, kH}};
  const std::vector<TensorRef> out = run.Apply("lstm", inputs, dims, LayerAttributes(3, true));
  EXPECT_EQ(out[0]->dims, dims[0]);
  // Transposed back to [T, B, 2 * H] it is the concatenation itself.
  EXPECT_EQ(out[0]->strides, (Dims{kB * 2 * kH, kH, 2 * kH, 1}));
  EXPECT_EQ(out[1]->dims, dims[1]);
}

TEST(GruTest, BothDirectionsKeepTheirStepsUntilTheyAreJoined) {
  OperatorRun run;
  run.machine().SetGradEnabled(false);
  const std::vector<TensorRef> inputs = {run.Static({{kT, kB, kI}}), run.Static({{2, 3 * kH, kI}}),
                                         run.Static({{2, 3 * kH, kH}}), run.Static({{2, 6 * kH}})};
  const std::vector<Dims> dims = {{kT, 2, kB, kH}, {2, kB, kH}};
  const size_t before = run.buffers();
  const std::vector<TensorRef> out = run.Apply("gru", inputs, dims, LayerAttributes(3, true));
  const MemoryProgram& program = run.machine().recorder().program();
  int64_t at_join = 0;
  for (size_t i = before; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[BufferId(static_cast<int32_t>(i))];
    const auto covers = [&](const Step& step) {
      const auto at = static_cast<int32_t>(&step - &*program.steps.begin());
      return step.op == "cat" && buffer.begin.value() <= at && (!buffer.end.valid() || at < buffer.end.value());
    };
    const bool alive = std::any_of(program.steps.begin(), program.steps.end(), covers);
    if (alive && program.steps[buffer.begin].op == "_thnn_fused_gru_cell") at_join += buffer.bytes;
  }
  EXPECT_EQ(at_join, 2 * kT * 4096);
}

TEST(GruTest, StepsAsMeasured) {
  OperatorRun run;
  const Layer layer = Make(run, 3);
  const size_t before = run.buffers();
  const TensorRef y = run.Apply("gru", layer.inputs, {Outputs1()[0], Outputs1()[1]}, LayerAttributes(4))[0];
  const std::string step = "mm:12288 mm:12288 _thnn_fused_gru_cell:4096 _thnn_fused_gru_cell:20480 ";
  EXPECT_EQ(run.Allocations(before), absl::StrCat(step, step, step, "stack:12288 stack:4096"));
  EXPECT_EQ(run.SavedBytes(false), 3 * (2 * 12288 + 20480) + 2 * 4096);
  const std::string back = "_thnn_fused_gru_cell_backward:";
  const std::string cell = absl::StrCat(back, "12288 ", back, "12288 ", back, "4096 ", back, "1536 ", back, "1536 ");
  const std::string text = run.Backward(y);
  EXPECT_TRUE(absl::StartsWith(text, absl::StrCat(cell, "add:4096 mm:196608 mm:4096 mm:98304 mm:2048 ", cell))) << text;
}

TEST(RnnTest, StepsAsMeasured) {
  OperatorRun run;
  const Layer layer = Make(run, 1);
  const size_t before = run.buffers();
  run.Apply("rnn", layer.inputs, {Outputs1()[0], Outputs1()[1]}, LayerAttributes(4));
  const std::string step = "addmm:4096 addmm:4096 tanh:4096 ";
  EXPECT_EQ(run.Allocations(before), absl::StrCat(step, step, step, "stack:12288 stack:4096"));
}

TEST(RecurrentTest, WhatIsNoRecurrenceIsLeftToTheFile) {
  OperatorRun run;
  const Layer layer = Make(run, 4);
  const std::vector<Dims> outputs = {Outputs1()[0], Outputs1()[1], Outputs1()[1]};
  Attributes no_features = LayerAttributes(4);
  no_features["hidden"] = int64_t{0};
  EXPECT_EQ(run.Apply("lstm", layer.inputs, outputs, no_features)[0], nullptr);
  EXPECT_EQ(run.Apply("lstm", {layer.inputs[0], layer.inputs[1]}, outputs, LayerAttributes(1))[0], nullptr);
  const TensorRef empty = run.Static({Dims{0, layer.inputs[0]->dims[1], layer.inputs[0]->dims[2]}});
  std::vector<TensorRef> inputs = layer.inputs;
  inputs[0] = empty;
  EXPECT_EQ(run.Apply("lstm", inputs, outputs, LayerAttributes(4))[0], nullptr);
}

}  // namespace
}  // namespace onnx_mem::eager
