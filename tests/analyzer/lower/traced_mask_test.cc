// Masks that only tracing makes, in files without source lines: their beginning tells, and a window keeps them.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// scaled_dot_product_attention(q, k, v, mask) of a TorchScript file; `mask` makes "mask" of "le".
std::string AttentionMaskedBy(const std::string& mask) {
  constexpr char kText[] = R"(
    input q float32 2x4x16x8
    input k float32 2x4x16x8
    input v float32 2x4x16x8
    weight rows float32 1x1x16x1
    weight columns float32 1x1x1x16
    const one bool scalar = 1
    const near float32 scalar = 4
    const far float32 scalar = 4096
    const zero float32 scalar = 0
    const low float32 scalar = -10000
    const s float32 scalar = 0.6
    /Cos = Cos(rows) -> queries float32 1x1x16x1
    /Cos_1 = Cos(columns) -> keys float32 1x1x1x16
    /LessOrEqual = LessOrEqual(keys, queries) -> le bool 1x1x16x16
    MASK
    /attn/Transpose = Transpose(k) -> kt float32 2x4x8x16 {perm: [0 1 3 2]}
    /attn/Mul = Mul(q, s) -> qs float32 2x4x16x8
    /attn/Mul_1 = Mul(kt, s) -> kts float32 2x4x8x16
    /attn/Where = Where(mask, zero, low) -> bias float32 1x1x16x16
    /attn/MatMul = MatMul(qs, kts) -> scores float32 2x4x16x16
    /attn/Add = Add(scores, bias) -> masked float32 2x4x16x16
    /attn/Softmax = Softmax(masked) -> p float32 2x4x16x16
    /attn/MatMul_1 = MatMul(p, v) -> y float32 2x4x16x8
    output y
  )";
  return LowerText(absl::StrReplaceAll(kText, {{"MASK", mask}}), {}, "causal");
}

// result = q_idx.new_ones(()); result = result & (kv_idx <= q_idx)
TEST(TracedMask, OneNumberAtItsBeginningTells) {
  const std::string text = AttentionMaskedBy("/And = And(one, le) -> mask bool 1x1x16x16");
  EXPECT_TRUE(Has(text, "sdpa(q, k, v) -> y [attn] causal=1")) << text;
}

TEST(TracedMask, AMaskOfTwoTensorsIsTheModels) {
  const std::string text = AttentionMaskedBy("/And = And(le, le) -> mask bool 1x1x16x16");
  EXPECT_TRUE(Has(text, "sdpa(q, k, v, mask) -> y [attn] causal=0")) << text;
}

// ... & (kv_idx > q_idx - window): 4 of 16 positions, or all of them.
TEST(TracedMask, AWindowWithinTheSequenceIsThereInEveryRun) {
  const auto windowed = [](const std::string& window) {
    return AttentionMaskedBy("/Sub = Sub(queries, " + window + R"() -> first float32 1x1x16x1
    /Greater = Greater(keys, first) -> within bool 1x1x16x16
    /And = And(one, within) -> begun bool 1x1x16x16
    /And_1 = And(begun, le) -> mask bool 1x1x16x16)");
  };
  EXPECT_TRUE(Has(windowed("near"), "sdpa(q, k, v, mask) -> y [attn] causal=0")) << windowed("near");
  EXPECT_TRUE(Has(windowed("far"), "sdpa(q, k, v) -> y [attn] causal=1")) << windowed("far");
}

// attention_mask = create_bidirectional_mask(...); scores = scores / 4 + attention_mask; p = softmax(scores), written
// out and handed on, so no kernel takes it.
std::string WrittenOutUnder(const std::string& function) {
  constexpr char kText[] = R"(
    input s float32 2x4x16x16
    weight rows float32 1x1x16x16
    const one bool scalar = 1
    const zero float32 scalar = 0
    const low float32 scalar = -10000
    /Cast = Cast(rows) -> shown bool 1x1x16x16 {to: 9}
    /And = And(one, shown) -> mask bool 1x1x16x16
    @ pkg.torch.onnx.stack_trace File "net.py", line 9, in forward\n    attention_mask = FUNCTION(
    /Where = Where(mask, zero, low) -> bias float32 1x1x16x16
    /attn/Add = Add(s, bias) -> masked float32 2x4x16x16
    /attn/Softmax = Softmax(masked) -> y float32 2x4x16x16
    output y
  )";
  return LowerText(absl::StrReplaceAll(kText, {{"FUNCTION", function}}));
}

TEST(TracedMask, AMaskThatHidesNothingIsNotAddedWhereTheAttentionIsWrittenOut) {
  const std::string text = WrittenOutUnder("create_bidirectional_mask");
  EXPECT_TRUE(Has(text, "softmax(s) -> y")) << text;
  EXPECT_FALSE(Has(text, "where(")) << "nothing reads it: " << text;
  EXPECT_TRUE(Has(WrittenOutUnder("create_causal_mask"), "add(s, bias)")) << "such code never leaves out a causal one";
}

}  // namespace
}  // namespace onnx_mem
