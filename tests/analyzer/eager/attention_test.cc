#include <gtest/gtest.h>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

const Dims kPerHead{2, 4, 100, 64};  // 204,800 bytes in float32
constexpr int64_t kQ = 204'800;
constexpr int64_t kScoreBytes = 320'000;

Attributes Kernel(std::string name) { return {{"kernel", std::move(name)}}; }

std::string Repeat(const std::string& text, int count) {
  std::vector<std::string> all(static_cast<size_t>(count), text);
  return absl::StrJoin(all, " ");
}

TEST(EfficientAttentionTest, SavesInputsOutputAndPaddedLogsumexp) {
  OperatorRun run;
  std::vector<TensorRef> qkv;
  for (int i = 0; i < 3; ++i) qkv.push_back(run.Static({kPerHead}));
  const TensorRef out = run.One("sdpa", qkv, kPerHead, Kernel("efficient"));
  EXPECT_EQ(out->strides, (Dims{25600, 64, 256, 1}));
  EXPECT_EQ(run.SavedBytes(true), 4 * kQ + 2 * 4 * 128 * 4 + 16);
  // Gradients are laid out by tokens; these inputs, laid out by heads, take copies.
  EXPECT_EQ(run.Backward(out),
            absl::StrCat(Repeat(absl::StrCat("_scaled_dot_product_efficient_attention_backward:", kQ), 3), " ",
                         Repeat(absl::StrCat("clone:", kQ), 3)));
}

TEST(EfficientAttentionTest, UnalignedMaskIsPaddedOnce) {
  OperatorRun run;
  std::vector<TensorRef> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(run.Static({kPerHead}));
  inputs.push_back(run.Static({{2, 1, 100, 100}, false, DType::kBool}));
  const size_t before = run.buffers();
  const TensorRef out = run.One("sdpa", inputs, kPerHead, Kernel("efficient"));
  EXPECT_EQ(run.Allocations(before),
            absl::StrCat("where:80000 constant_pad_nd:83200 _scaled_dot_product_efficient_attention:", kQ,
                         " _scaled_dot_product_efficient_attention:4096"));
  EXPECT_EQ(run.SavedBytes(true), 4 * kQ + 4096 + 16 + 83200);
}

TEST(EfficientAttentionTest, MaskGradientIsPaddedTo16) {
  OperatorRun run;
  std::vector<TensorRef> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(run.Static({kPerHead}));
  inputs.push_back(run.Static({{1, 4, 100, 104}, true}));
  inputs[1] = run.Static({{2, 4, 104, 64}});
  inputs[2] = run.Static({{2, 4, 104, 64}});
  const TensorRef out = run.One("sdpa", inputs, kPerHead, Kernel("efficient"));
  const std::string back = "_scaled_dot_product_efficient_attention_backward:";
  EXPECT_EQ(run.Backward(out),
            absl::StrCat(back, kQ, " ", back, 212992, " ", back, 212992, " ", back, 2 * 4 * 100 * 112 * 4,
                         " clone:212992 clone:212992 clone:204800 sum:166400"));
}

TEST(FlashAttentionTest, OutputHasTheMemoryOrderOfTheQueries) {
  OperatorRun run;
  std::vector<TensorRef> qkv;
  for (int i = 0; i < 3; ++i) {
    const TensorRef tokens = run.Static({{2, 100, 4, 64}, true, DType::kFloat16});
    qkv.push_back(run.One("permute", {tokens}, kPerHead, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}));
  }
  const TensorRef out = run.One("sdpa", qkv, kPerHead, Kernel("flash"));
  EXPECT_EQ(out->strides, qkv[0]->strides);
  EXPECT_EQ(run.SavedBytes(true), 4 * kQ / 2 + 2 * 4 * 100 * 4 + 16 + 8);
  EXPECT_EQ(run.Backward(out), Repeat(absl::StrCat("_scaled_dot_product_flash_attention_backward:", kQ / 2), 3));
}

TEST(MathAttentionTest, SavesScaledCopiesAndTheSoftmax) {
  OperatorRun run;
  std::vector<TensorRef> qkv;
  for (int i = 0; i < 3; ++i) qkv.push_back(run.Static({kPerHead}));
  const TensorRef out = run.One("sdpa", qkv, kPerHead, Kernel("math"));
  EXPECT_EQ(run.SavedBytes(true), 3 * kQ + kScoreBytes);
  EXPECT_EQ(run.Backward(out),
            "bmm:204800 bmm:320000 _softmax_backward_data:320000 bmm:204800 bmm:204800 "
            "mul:204800 clone:204800 mul:204800");
}

TEST(MathAttentionTest, PermutedHeadsAreCopied) {
  OperatorRun run;
  std::vector<TensorRef> qkv;
  for (int i = 0; i < 3; ++i) {
    const TensorRef tokens = run.Static({{2, 100, 4, 64}});
    qkv.push_back(run.One("permute", {tokens}, kPerHead, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}));
  }
  const size_t before = run.buffers();
  const TensorRef out = run.One("sdpa", qkv, kPerHead, Kernel("math"));
  EXPECT_EQ(run.Allocations(before),
            "mul:204800 mul:204800 clone:204800 clone:204800 bmm:320000 "
            "_safe_softmax:320000 clone:204800 bmm:204800");
  EXPECT_EQ(run.SavedBytes(true), 3 * kQ + kScoreBytes);
}

// qkv.reshape(b, heads, 3 * d, t).transpose(2, 3).chunk(3, 3): rows of a fused kernel have to be dense.
TEST(MathAttentionTest, RunsWhereFusedKernelsFindNoDenseRows) {
  for (const std::string kernel : {"efficient", "flash"}) {
    OperatorRun run;
    std::vector<TensorRef> qkv;
    for (int i = 0; i < 3; ++i) {
      const TensorRef channels = run.Static({{2, 4, 64, 100}});
      qkv.push_back(run.One("permute", {channels}, kPerHead, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}}));
    }
    run.One("sdpa", qkv, kPerHead, Kernel(kernel));
    EXPECT_EQ(run.SavedBytes(true), 3 * kQ + kScoreBytes) << kernel;
  }
}

// q = q.transpose(2, 3).contiguous(): a program that runs a fused kernel has copied its operands.
TEST(EfficientAttentionTest, CopiesOperandsThatAreMadeDense) {
  OperatorRun run;
  std::vector<TensorRef> qkv;
  for (int i = 0; i < 3; ++i) {
    const TensorRef channels = run.Static({{2, 4, 64, 100}});
    qkv.push_back(run.One("permute", {channels}, kPerHead, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}}));
  }
  Attributes attributes = Kernel("efficient");
  attributes["made_dense"] = int64_t{1};
  const size_t before = run.buffers();
  run.One("sdpa", qkv, kPerHead, attributes);
  EXPECT_EQ(run.Allocations(before),
            absl::StrCat(Repeat(absl::StrCat("clone:", kQ), 3), " _scaled_dot_product_efficient_attention:", kQ,
                         " _scaled_dot_product_efficient_attention:4096"));
  EXPECT_EQ(run.SavedBytes(true), 4 * kQ + 4096 + 16);
}

TEST(MathAttentionTest, HalvesAreComputedInFloat32) {
  OperatorRun run;
  std::vector<TensorRef> qkv;
  for (int i = 0; i < 3; ++i) qkv.push_back(run.Static({kPerHead, true, DType::kFloat16}));
  const size_t before = run.buffers();
  const TensorRef out = run.One("sdpa", qkv, kPerHead, Kernel("math"));
  EXPECT_EQ(out->dtype, DType::kFloat16);
  EXPECT_EQ(run.Allocations(before),
            "_to_copy:204800 _to_copy:204800 _to_copy:204800 mul:204800 mul:204800 "
            "bmm:320000 _safe_softmax:320000 _to_copy:160000 bmm:204800 _to_copy:102400");
  EXPECT_EQ(run.SavedBytes(true), 3 * kQ + kScoreBytes);
  EXPECT_EQ(run.Backward(out),
            "_to_copy:204800 bmm:204800 bmm:320000 _softmax_backward_data:320000 bmm:204800 "
            "bmm:204800 mul:204800 mul:204800 _to_copy:102400 _to_copy:102400 clone:102400 "
            "_to_copy:102400");
}

TEST(MathAttentionTest, CausalMaskIsMadeOnTheWay) {
  OperatorRun run;
  std::vector<TensorRef> qkv;
  for (int i = 0; i < 3; ++i) qkv.push_back(run.Static({kPerHead}));
  const size_t before = run.buffers();
  Attributes attributes = Kernel("math");
  attributes["causal"] = int64_t{1};
  run.One("sdpa", qkv, kPerHead, attributes);
  EXPECT_EQ(run.Allocations(before),
            "mul:204800 ones:10000 tril:10000 where:40000 mul:204800 bmm:320000 "
            "_safe_softmax:320000 bmm:204800");
}

// Up to 2.13 the memory-efficient kernel takes no groups (sdp_utils.cpp, check_batch_size_and_num_heads_dense<false>).
TEST(MathAttentionTest, GroupedHeadsAreRepeated) {
  onnx_mem::Run before_214;
  before_214.fewer_key_heads = false;
  for (const std::string kernel : {"math", "efficient"}) {
    OperatorRun run(before_214);
    const TensorRef q = run.Static({kPerHead});
    const TensorRef k = run.Static({{2, 2, 100, 64}}), v = run.Static({{2, 2, 100, 64}});
    Attributes attributes = Kernel(kernel);
    attributes["gqa_groups"] = int64_t{2};
    const size_t before = run.buffers();
    const TensorRef out = run.One("sdpa", {q, k, v}, kPerHead, attributes);
    EXPECT_EQ(run.Allocations(before),
              "mul:204800 clone:204800 clone:204800 mul:204800 bmm:320000 "
              "_safe_softmax:320000 bmm:204800");
    EXPECT_EQ(run.Backward(out),
              "bmm:204800 bmm:320000 _softmax_backward_data:320000 bmm:204800 bmm:204800 "
              "mul:204800 sum:102400 sum:102400 mul:204800");
  }
}

// K and V are read as they are; their gradients are made by head of the queries and added up, in memory of the kernel.
TEST(EfficientAttentionTest, TakesFewerKeyHeadsThanQueryHeads) {
  OperatorRun run;
  const TensorRef q = run.Static({kPerHead});
  const TensorRef k = run.Static({{2, 2, 100, 64}}), v = run.Static({{2, 2, 100, 64}});
  Attributes attributes = Kernel("efficient");
  attributes["gqa_groups"] = int64_t{2};
  const TensorRef out = run.One("sdpa", {q, k, v}, kPerHead, attributes);
  EXPECT_EQ(run.SavedBytes(true), 2 * kQ + kQ + 2 * 4 * 128 * 4 + 16);
  const std::string back = "_scaled_dot_product_efficient_attention_backward:";
  EXPECT_EQ(run.Backward(out), absl::StrCat(back, kQ, " ", back, kQ / 2, " ", back, kQ / 2, " clone:", kQ / 2,
                                            " clone:", kQ / 2, " clone:", kQ));
  std::vector<int64_t> taken;
  for (const Step& step : run.machine().recorder().program().steps) {
    taken.insert(taken.end(), step.kernel_takes.begin(), step.kernel_takes.end());
  }
  EXPECT_EQ(taken, (std::vector<int64_t>{kQ, kQ}));
}

TEST(AttentionFlopsTest, TwoProductsForwardFiveBackward) {
  OperatorRun run;
  std::vector<TensorRef> qkv;
  for (int i = 0; i < 3; ++i) qkv.push_back(run.Static({kPerHead}));
  const TensorRef out = run.One("sdpa", qkv, kPerHead, Kernel("efficient"));
  run.Backward(out);
  int64_t flops = 0;
  for (const Step& step : run.machine().recorder().program().steps) flops += step.flops;
  EXPECT_EQ(flops, int64_t{7} * 2 * 2 * 4 * 100 * 100 * 64);
}

}  // namespace
}  // namespace onnx_mem::eager
