#include <gtest/gtest.h>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

constexpr int64_t kXBytes = 1536;  // bytes of [8, 48] float32

// The steps are those that a dispatch mode shows in PyTorch 2.15 for leaky_relu_(y.view(...)) behind another operator.
TEST(CopySlices, AnInPlaceOperatorOnAViewRunsItsBackwardOnACopy) {
  OperatorRun run;
  const TensorRef y = run.One("neg", {run.Static({{8, 48}})}, {8, 48});
  const TensorRef view = run.One("reshape", {y}, {8, 6, 8});
  ASSERT_TRUE(view->is_view);
  TensorRef z = run.One("leaky_relu", {view}, {8, 6, 8}, {{"inplace", int64_t{1}}});
  EXPECT_EQ(z->storage, y->storage);
  EXPECT_EQ(run.Backward(z), "new_zeros:1536 new_empty_strided:1536 clone:1536 leaky_relu_backward:1536 neg:1536");
}

TEST(CopySlices, FourGradientsLiveTogether) {
  OperatorRun run;
  const TensorRef y = run.One("neg", {run.Static({{8, 48}})}, {8, 48});
  const TensorRef view = run.One("reshape", {y}, {8, 6, 8});
  EXPECT_EQ(run.BackwardPeak(run.One("leaky_relu", {view}, {8, 6, 8}, {{"inplace", int64_t{1}}})), 4 * kXBytes);
}

// The gradient that arrives at the view's part is of the base's size.
TEST(CopySlices, TheBaseIsLargerThanTheView) {
  OperatorRun run;
  const TensorRef y = run.One("neg", {run.Static({{8, 48}})}, {8, 48});
  const TensorRef row = run.One("select", {y}, {48}, {{"axis", int64_t{0}}, {"index", int64_t{3}}});
  ASSERT_TRUE(row->is_view);
  const TensorRef z = run.One("leaky_relu", {row}, {48}, {{"inplace", int64_t{1}}});
  EXPECT_EQ(run.Backward(z), "new_zeros:1536 new_empty_strided:1536 clone:192 leaky_relu_backward:192 neg:1536");
}

TEST(CopySlices, WhatIsNoViewKeepsItsNode) {
  OperatorRun run;
  const TensorRef y = run.One("neg", {run.Static({{8, 48}})}, {8, 48});
  EXPECT_EQ(run.Backward(run.One("leaky_relu", {y}, {8, 48}, {{"inplace", int64_t{1}}})),
            "leaky_relu_backward:1536 neg:1536");
}

}  // namespace
}  // namespace onnx_mem::eager
