// Rows of the table that make something of their own of an operator: sequences, spectra, the newest opsets.
#include <gtest/gtest.h>

#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

TEST(Operators, AListIsFollowedThroughItsEdits) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x5x24
    const size int64 scalar = 8
    const first int64 scalar = 0
    const last int64 scalar = -1
    node_Relu = Relu(x) -> y float32 2x5x24
    node_Tanh = Tanh(x) -> t float32 2x5x8
    node_Split = SplitToSequence(y, size) -> split float32 ?x?x? {axis: 2}
    node_Erase = SequenceErase(split, first) -> two float32 ?x?x?
    node_Insert = SequenceInsert(two, t) -> three float32 ?x?x?
    node_At = SequenceAt(three, last) -> u float32 2x5x8
    node_Concat = ConcatFromSequence(three) -> z float32 2x5x24 {axis: 2}
    node_Exp = Exp(u) -> e float32 2x5x8
    output z
    output e
  )",
                      {}, "axis"),
            "relu(x) -> y\n"
            "tanh(x) -> t\n"
            "split(y) -> split/0, split/0, split/0 axis=2\n"
            "cat(split/0, split/0, t) -> z axis=2\n"
            "exp(t) -> e\n");
}

TEST(Operators, APieceThatTheFileDoesNotNameIsMadeToo) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x5x24
    const sizes int64 2 = 7 17
    node_Split = Split(x, sizes) -> -, b float32 2x5x17 {axis: -1}
    output b
  )",
                      {}, "sizes"),
            "split(x) -> b/0, b sizes=[7 17]\n");
}

TEST(Operators, ATableWhoseRowsHaveNoNameIsAWeightAsAnother) {
  const std::string text = LowerText(R"(
    input x float32 2x5
    weight table float32 2x5
    node_Unsqueeze = Unsqueeze(table) -> - {axes: [0]}
    node_Add = Add(x, table) -> y float32 2x5
    output y
  )");
  EXPECT_NE(text.find("add(x, table) -> y"), std::string::npos) << text;
}

TEST(Operators, AListFromOutsideIsAssumed) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x5x24
    const at int64 scalar = 3
    node_Length = SequenceAt(x, at) -> y float32 2x5x24
    output y
  )"),
            "assumed(x) -> y\n");
}

TEST(Operators, AnOptionalIsWhatItHolds) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x5
    node_Relu = Relu(x) -> y float32 2x5
    node_Optional = Optional(y) -> o float32 2x5
    node_Get = OptionalGetElement(o) -> g float32 2x5
    node_Exp = Exp(g) -> e float32 2x5
    output e
  )"),
            "relu(x) -> y\nexp(y) -> e\n");
}

TEST(Operators, TransformsByWhatIsRealAndWhatIsComplex) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x16x1
    node_DFT = DFT(x) -> full float32 2x16x2 {axis: 1}
    node_DFT_1 = DFT(x) -> half float32 2x9x2 {axis: 1, onesided: 1}
    node_DFT_2 = DFT(full) -> back float32 2x16x2 {axis: 1, inverse: 1}
    node_DFT_3 = DFT(half) -> real float32 2x16x1 {axis: 1, inverse: 1, onesided: 1}
    output back
    output real
  )"),
            "squeeze(x) -> full/0\n"
            "fft_r2c(full/0) -> full\n"
            "squeeze(x) -> half/0\n"
            "fft_r2c(half/0) -> half\n"
            "fft_c2c(full) -> back\n"
            "fft_c2r(half) -> real/0\n"
            "unsqueeze(real/0) -> real\n");
}

TEST(Operators, ComplexCallsOfADynamoExport) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x16
    const last int64 1 = -1
    node_Unsqueeze = Unsqueeze(x, last) -> u float32 2x16x1
    @ namespace : Net/_fft_r2c: aten._fft_r2c.default
    node_DFT = DFT(u) -> h float32 2x9x2 {axis: 1, onesided: 1}
    @ namespace : Net/_fft_r2c: aten._fft_r2c.default
    output h
  )"),
            "fft_r2c(x) -> h\n");
}

TEST(Operators, GatedActivationAndCausalConvolution) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x16x10
    weight w float32 16x1x4
    weight b float32 16
    node_Conv = CausalConvWithState(x, w, b) -> y float32 2x16x10, state float32 2x16x3 {activation: "silu"}
    node_SwiGLU = SwiGLU(y, x) -> z float32 2x16x10
    output z
    output state
  )",
                      {}, "group starts ends"),
            "pad(x) -> y/0\n"
            "conv(y/0, w, b) -> y/1 group=16\n"
            "silu(y/1) -> y\n"
            "slice(y/0) -> state starts=[10] ends=[13]\n"
            "silu(y) -> z/0\n"
            "mul(z/0, x) -> z\n"
            "parameter w\n"
            "parameter b\n");
}

TEST(Operators, LinearAttentionTokenByToken) {
  const std::string text = LowerText(R"(
    input q float32 2x3x32
    input k float32 2x3x16
    input v float32 2x3x16
    input g float32 2x3x2
    input b float32 2x3x2
    node = LinearAttention(q, k, v, -, g, b) -> y float32 2x3x32, s float32 2x2x8x8 {q_num_heads: 4, kv_num_heads: 2, update_rule: "gated_delta"}
    output y
    output s
  )");
  EXPECT_EQ(Count(text, "matmul("), 9) << text;  // of each token: what the state holds, what is written, what is read
  EXPECT_EQ(Count(text, "unbind("), 5) << text;
  EXPECT_EQ(Count(text, "exp("), 3) << text;
  EXPECT_EQ(Count(text, "stack("), 1) << text;
  EXPECT_EQ(Count(text, "assumed("), 0) << text;
}

TEST(Operators, TheHostsAndOtherTrainersWorkHasNoGradient) {
  EXPECT_EQ(LowerText(R"(
    input x float32 2x5
    node_Scaler = ai.onnx.ml::Scaler(x) -> y float32 2x5
    node_Cast = BitCast(x) -> i int32 2x5 {to: 6}
    output y
    output i
  )"),
            "empty(x) -> y\nview_dtype(x) -> i\n");
}

// Weights of two dimensions fit no cell.
TEST(Operators, ARecurrentLayerOfOtherRanksIsAssumed) {
  const std::string text = LowerText(R"(
    input x float32 5x2x3
    weight w float32 12x3
    weight r float32 1x12x4
    node_GRU = GRU(x, w, r) -> y float32 5x1x2x4 {hidden_size: 4}
    output y
  )");
  EXPECT_NE(text.find("assumed("), std::string::npos) << text;
}

}  // namespace
}  // namespace onnx_mem
