// Memory formats that operators hand on: channels-last images stay so, permuted ones are copied where the framework
// copies.
#include "analyzer/eager/views/layout.h"

#include <gtest/gtest.h>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

const Dims kImage{2, 8, 6, 6};
const Dims kChannelsLast{288, 1, 48, 8};

// [2, 8, 6, 6] on the memory of a [2, 6, 6, 8] input.
TensorRef Permuted(OperatorRun& run) {
  return run.One("permute", {run.Static({{2, 6, 6, 8}})}, kImage, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
}

EagerTensor Strided(const Dims& dims, const Dims& strides) {
  EagerTensor t;
  t.dims = dims;
  t.strides = strides;
  return t;
}

TEST(SuggestsChannelsLastTest, FollowsTheStrides) {
  EXPECT_TRUE(SuggestsChannelsLast(Strided(kImage, kChannelsLast)));
  EXPECT_TRUE(SuggestsChannelsLast(Strided({2, 8, 6, 6}, {336, 1, 48, 8})));  // a slice, not dense
  EXPECT_FALSE(SuggestsChannelsLast(Strided(kImage, {288, 36, 6, 1})));
  EXPECT_FALSE(SuggestsChannelsLast(Strided({64, 32, 1, 1}, {32, 1, 1, 1})));  // a 1x1 weight
  EXPECT_FALSE(SuggestsChannelsLast(Strided({8, 1, 3, 3}, {9, 9, 3, 1})));     // a depthwise weight
  EXPECT_TRUE(SuggestsChannelsLast(Strided({2, 8, 1, 1}, {8, 1, 8, 8})));
  EXPECT_FALSE(SuggestsChannelsLast(Strided({2, 8, 10}, {80, 1, 8})));  // no image
  EXPECT_TRUE(SuggestsChannelsLast(Strided({2, 8, 5, 5, 5}, {1000, 1, 200, 40, 8})));
}

TEST(LayoutTest, ImagesStayChannelsLast) {
  for (const std::string op : {"conv", "batch_norm", "max_pool", "avg_pool", "relu", "add", "pad", "upsample"}) {
    OperatorRun run;
    const TensorRef x = Permuted(run);
    TensorRef other;
    if (op == "conv") other = run.Static({{8, 8, 3, 3}});
    if (op == "add") other = run.Static({kImage});
    const TensorRef y = run.One(op, {x, other}, kImage);
    EXPECT_EQ(y->strides, kChannelsLast) << op;
  }
}

TEST(LayoutTest, LinearUpsamplingKeepsItFrom16Channels) {
  OperatorRun run;
  const Attributes linear = {{"mode", std::string("linear")}};
  EXPECT_EQ(run.One("upsample", {Permuted(run)}, {2, 8, 12, 12}, linear)->strides, (Dims{1152, 144, 12, 1}));
}

TEST(LayoutTest, WeightGradientOfAChannelsLastConvolutionIsCloned) {
  OperatorRun run;
  const TensorRef weight = run.Static({{16, 8, 3, 3}});
  const TensorRef y = run.One("conv", {Permuted(run), weight}, {2, 16, 6, 6});
  EXPECT_EQ(run.Backward(y), "convolution_backward:2304 convolution_backward:4608 clone:4608");
}

TEST(LayoutTest, BatchNormCopiesWhatIsNoImage) {
  OperatorRun run;
  const TensorRef x =
      run.One("permute", {run.Static({{2, 10, 8}})}, {2, 8, 10}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const size_t before = run.buffers();
  run.One("batch_norm", {x, run.Static({{8}}), run.Static({{8}})}, {2, 8, 10});
  EXPECT_EQ(run.Allocations(before + 2), "clone:640 cudnn_batch_norm:640");
}

// A gradient in another order of dimensions, as behind a transpose, meets what was saved in its own.
TEST(LayoutTest, SomeActivationsHandOnTheLayoutOfWhatTheySaved) {
  for (const auto& [op, backward] : std::map<std::string, std::string>{{"relu", "threshold_backward:640"},
                                                                       {"leaky_relu", "leaky_relu_backward:640"},
                                                                       {"silu", "silu_backward:640 clone:640"}}) {
    OperatorRun run;
    const TensorRef x = run.One("reshape", {run.One("neg", {run.Static({{1, 16, 10}})}, {1, 16, 10})}, {2, 8, 10});
    const TensorRef y = run.One(op, {x}, {2, 8, 10});
    const TensorRef turned = run.One("permute", {y}, {2, 10, 8}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    EXPECT_EQ(run.Backward(run.One("exp", {turned}, {2, 10, 8})), "mul:640 " + backward + " neg:640") << op;
  }
}

TEST(LayoutTest, GlobalPoolOfChannelsLastIsRestrided) {
  OperatorRun run;
  const TensorRef y = run.One("adaptive_avg_pool", {Permuted(run)}, {2, 8, 1, 1});
  EXPECT_EQ(y->strides, (Dims{8, 1, 8, 8}));
  EXPECT_EQ(run.Allocations(0, 0), "statics:2304 mean:64");
}

TEST(LayoutTest, LinearOfPermutedTokensCopiesThem) {
  OperatorRun run;
  const TensorRef x =
      run.One("permute", {run.Static({{4, 2, 8}})}, {2, 4, 8}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
  const std::vector<TensorRef> inputs = {x, run.Static({{16, 8}}), run.Static({{16}})};
  const size_t before = run.buffers();
  const TensorRef y = run.One("linear", inputs, {2, 4, 16});
  EXPECT_EQ(run.Allocations(before), "clone:256 mm:512");  // the bias is added in place
  EXPECT_EQ(run.SavedBytes(false), 256);
  EXPECT_EQ(run.Backward(y), "mm:512 mm:256 clone:256");
}

// A slice of channels is not contiguous; the operator keeps it as it is and makes its result, a mean and an rstd.
TEST(GroupNorm, SavesASliceOfChannelsAsItIs) {
  OperatorRun run;
  const TensorRef x = run.One("neg", {run.Static({kImage})}, kImage);
  const TensorRef weight = run.Static({{4}}), bias = run.Static({{4}});
  const TensorRef half =
      run.One("slice", {x}, {2, 4, 6, 6}, {{"axes", std::vector<int64_t>{1}}, {"starts", std::vector<int64_t>{0}}});
  ASSERT_EQ(half->storage, x->storage);
  const size_t before = run.buffers();
  const TensorRef y = run.One("group_norm", {half, weight, bias}, {2, 4, 6, 6}, {{"groups", int64_t{1}}});
  EXPECT_EQ(run.Allocations(before, 0), "native_group_norm:1152 native_group_norm:8 native_group_norm:8");
  EXPECT_EQ(y->strides, ContiguousStrides(y->dims));
}

// x + self.pos_embedding[:, :n] where n is all of it: the parameter gets its gradient through the alias.
TEST(Slice, AllOfAParameterHandsItsGradientOn) {
  OperatorRun run;
  const TensorRef table = run.Static({{1, 4, 8}});
  const TensorRef all =
      run.One("slice", {table}, {1, 4, 8}, {{"axes", std::vector<int64_t>{1}}, {"starts", std::vector<int64_t>{0}}});
  EXPECT_EQ(all->storage, table->storage);
  EXPECT_TRUE(all->requires_grad);
  EXPECT_EQ(run.Backward(run.One("neg", {all}, {1, 4, 8})), "neg:128");
  EXPECT_EQ(run.machine().gradients().size(), 1u);
}

}  // namespace
}  // namespace onnx_mem::eager
