// Which arguments autocast copies, operator by operator (aten/src/ATen/autocast_mode.h).
#include <gtest/gtest.h>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

onnx_mem::Run Amp() {
  onnx_mem::Run run;
  run.autocast = DType::kFloat16;
  return run;
}

TEST(AutocastTest, LinearCastsItsArgumentsAndSavesTheCopies) {
  OperatorRun run(Amp());
  const std::vector<TensorRef> inputs = {run.Static({{2, 4, 8}}), run.Static({{16, 8}}), run.Static({{16}})};
  const size_t before = run.buffers();
  const TensorRef y = run.One("linear", inputs, {2, 4, 16});
  EXPECT_EQ(y->dtype, DType::kFloat16);
  EXPECT_EQ(run.Allocations(before, 0), "_to_copy:32 _to_copy:256 _to_copy:128 addmm:256");
  EXPECT_EQ(run.SavedBytes(false), 256 + 128);
  EXPECT_EQ(run.Backward(y), "mm:128 mm:256 _to_copy:256 _to_copy:512");
}

TEST(AutocastTest, AParameterIsCastOnce) {
  OperatorRun run(Amp());
  const TensorRef weight = run.Static({{8, 8}});
  const TensorRef y = run.One("linear", {run.Static({{4, 8}}), weight}, {4, 8});
  const size_t before = run.buffers();
  run.One("linear", {y, weight}, {4, 8});
  EXPECT_EQ(run.Allocations(before, 0), "mm:64");
}

TEST(AutocastTest, LowPrecisionListRunsInHalf) {
  for (const std::string op : {"conv", "matmul", "bmm", "prelu"}) {
    OperatorRun run(Amp());
    const Dims dims = op == "conv" ? Dims{2, 8, 6, 6} : (op == "prelu" ? Dims{2, 4, 4} : Dims{2, 4, 4});
    const Dims other = op == "conv" ? Dims{8, 8, 3, 3} : (op == "prelu" ? Dims{4} : Dims{2, 4, 4});
    EXPECT_EQ(run.One(op, {run.Static({dims}), run.Static({other})}, dims)->dtype, DType::kFloat16) << op;
  }
}

TEST(AutocastTest, WideListRunsInFloat32OnACopy) {
  for (const std::string op : {"exp", "log", "pow_scalar", "rsqrt", "reciprocal", "softplus", "layer_norm", "rms_norm",
                               "logsumexp", "upsample"}) {
    OperatorRun run(Amp());
    const Dims dims{2, 4, 8, 8};
    const TensorRef x = run.Static({dims, true, DType::kFloat16});
    const size_t before = run.buffers();
    const Dims out = op == "logsumexp" ? Dims{2, 8, 8} : dims;
    const TensorRef y = run.One(op, {x}, out, {{"axis", int64_t{1}}});
    EXPECT_EQ(y->dtype, DType::kFloat32) << op;
    EXPECT_TRUE(absl::StartsWith(run.Allocations(before, 0), "_to_copy:2048 ")) << op;
  }
}

TEST(AutocastTest, SoftmaxAndSumsWidenWithoutACopy) {
  for (const std::string op : {"softmax", "log_softmax", "sum", "prod", "norm", "cumsum"}) {
    OperatorRun run(Amp());
    const Dims dims{4, 6, 8}, reduced{4, 8};
    const bool reduces = op == "sum" || op == "prod" || op == "norm";
    const TensorRef x = run.Static({dims, true, DType::kFloat16});
    const size_t before = run.buffers();
    const TensorRef y = run.One(op, {x}, reduces ? reduced : dims, {{"axis", int64_t{1}}});
    EXPECT_EQ(y->dtype, DType::kFloat32) << op;
    EXPECT_EQ(run.buffers(), before + 1) << op;
  }
}

TEST(AutocastTest, SoftmaxOfBfloat16WidensACopy) {
  onnx_mem::Run bf16;
  bf16.autocast = DType::kBFloat16;
  OperatorRun run(bf16);
  const TensorRef x = run.Static({{4, 6, 8}, true, DType::kBFloat16});
  const size_t before = run.buffers();
  EXPECT_EQ(run.One("softmax", {x}, {4, 6, 8})->dtype, DType::kFloat32);
  EXPECT_EQ(run.Allocations(before, 0), "_to_copy:768 _softmax:768");
}

// softmax(x, dim=-1, dtype=torch.float32).to(query.dtype)
TEST(AutocastTest, SoftmaxThatIsCastBack) {
  OperatorRun run(Amp());
  const TensorRef x = run.Static({{4, 6, 8}, true, DType::kFloat16});
  const size_t before = run.buffers();
  EXPECT_EQ(run.One("softmax", {x}, {4, 6, 8}, {{"cast_back", int64_t{1}}})->dtype, DType::kFloat16);
  EXPECT_EQ(run.Allocations(before, 0), "_softmax:768 _to_copy:384");
}

TEST(AutocastTest, SoftmaxBackwardGivesHalves) {
  OperatorRun run(Amp());
  const TensorRef y = run.One("softmax", {run.Static({{4, 6, 8}, true, DType::kFloat16})}, {4, 6, 8});
  EXPECT_EQ(run.Backward(y), "_softmax_backward_data:384");
}

TEST(AutocastTest, OtherOperatorsKeepOrPromoteTheirTypes) {
  OperatorRun run(Amp());
  const TensorRef half = run.Static({{4, 8}, true, DType::kFloat16}), full = run.Static({{4, 8}});
  EXPECT_EQ(run.One("relu", {half}, {4, 8})->dtype, DType::kFloat16);
  EXPECT_EQ(run.One("mean", {half}, {4}, {{"axis", int64_t{1}}})->dtype, DType::kFloat16);
  EXPECT_EQ(run.One("mul_scalar", {half}, {4, 8})->dtype, DType::kFloat16);
  EXPECT_EQ(run.One("add", {half, full}, {4, 8})->dtype, DType::kFloat32);
}

TEST(PromotionTest, WiderKindsWinAndNumbersDoNotWiden) {
  OperatorRun run;
  const auto typed = [&](DType dtype, Dims dims = {4}) { return run.Static({dims, false, dtype}); };
  const auto sum = [&](const TensorRef& a, const TensorRef& b) { return run.One("add", {a, b}, {4})->dtype; };
  EXPECT_EQ(sum(typed(DType::kFloat16), typed(DType::kBFloat16)), DType::kFloat32);
  EXPECT_EQ(sum(typed(DType::kInt64), typed(DType::kFloat16)), DType::kFloat16);
  EXPECT_EQ(sum(typed(DType::kUInt8), typed(DType::kInt8)), DType::kInt16);
  EXPECT_EQ(sum(typed(DType::kBool), typed(DType::kInt8)), DType::kInt8);
  EXPECT_EQ(sum(typed(DType::kFloat16), typed(DType::kFloat32, {})), DType::kFloat16);
  EXPECT_EQ(sum(typed(DType::kInt32), typed(DType::kFloat32, {})), DType::kFloat32);
}

}  // namespace
}  // namespace onnx_mem::eager
