// Recurrent layers: the states that they begin with, and what may be dropped ahead of them.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// Two layers of nn.LSTM(8, 4) on word embeddings; `states` makes h1, c1, h2 and c2.
std::string TwoLayers(const std::string& states, const onnx_mem::Run& run = {}) {
  constexpr char kText[] = R"(
    input ids int64 5x2
    input start float32 1x2x4
    weight words.weight float32 20x8
    weight w1 float32 1x16x8
    weight r1 float32 1x16x4
    weight w2 float32 1x16x4
    weight r2 float32 1x16x4
    const both int64 3 = 2 2 4
    const zero int64 1 = 0
    const one int64 1 = 1
    const two int64 1 = 2
    /words/Gather = Gather(words.weight, ids) -> x float32 5x2x8
    STATES
    /rnn/LSTM = LSTM(x, w1, r1, -, -, h1, c1) -> y1 float32 5x1x2x4 {hidden_size: 4}
    /rnn/Squeeze = Squeeze(y1, one) -> s1 float32 5x2x4
    /rnn/LSTM_1 = LSTM(s1, w2, r2, -, -, h2, c2) -> y2 float32 5x1x2x4 {hidden_size: 4}
    /rnn/Squeeze_1 = Squeeze(y2, one) -> y float32 5x2x4
    output y
  )";
  return LowerText(absl::StrReplaceAll(kText, {{"STATES", states}}), run);
}

// h_zeros, c_zeros = torch.zeros(2, 2, 4), torch.zeros(2, 2, 4), of which the file has one, and a piece for each layer.
constexpr char kOneForBoth[] = R"(/rnn/ConstantOfShape = ConstantOfShape(both) -> zeros float32 2x2x4
    /rnn/Slice = Slice(zeros, zero, one, zero) -> h1 float32 1x2x4
    /rnn/Slice_1 = Slice(zeros, zero, one, zero) -> c1 float32 1x2x4
    /rnn/Slice_2 = Slice(zeros, one, two, zero) -> h2 float32 1x2x4
    /rnn/Slice_3 = Slice(zeros, one, two, zero) -> c2 float32 1x2x4)";

TEST(Recurrent, CellsHaveStatesOfTheirOwn) {
  const std::string merged = TwoLayers(kOneForBoth);
  EXPECT_EQ(Count(merged, "full("), 2) << "one of the cells beside that of the hidden states\n" << merged;
  EXPECT_EQ(Count(merged, "slice("), 4) << merged;
  EXPECT_EQ(Count(merged, "slice(zeros)"), 2) << merged;
  const std::string given = TwoLayers(
      "/rnn/A = Identity(start) -> h1 float32 1x2x4\n"
      "    /rnn/B = Identity(start) -> c1 float32 1x2x4\n"
      "    /rnn/C = Identity(start) -> h2 float32 1x2x4\n"
      "    /rnn/D = Identity(start) -> c2 float32 1x2x4");
  EXPECT_EQ(Count(given, "full("), 0) << "a state that the model was given\n" << given;
}

// nn.LSTM(8, 4, 2, dropout=0.1) of an evaluation export.
TEST(Recurrent, WhatARecurrentLayerReadsMayBeDropped) {
  onnx_mem::Run run;
  run.dropout = 0.1;
  const std::string text = TwoLayers(kOneForBoth, run);
  EXPECT_TRUE(Has(text, "dropout(x) -> x/dropout")) << text;
  EXPECT_EQ(Count(text, "dropout("), 2) << "and between the layers\n" << text;
}

// x = torch.cat([self.a(i), self.b(j)], 1); x = self.emb_drop(x)
TEST(Recurrent, JoinedEmbeddingsMayBeDropped) {
  onnx_mem::Run run;
  run.dropout = 0.1;
  const std::string text = LowerText(R"(
    input i int64 4
    input j int64 4
    weight a.weight float32 20x8
    weight b.weight float32 10x4
    weight fc.weight float32 3x12
    /a/Gather = Gather(a.weight, i) -> p float32 4x8
    /b/Gather = Gather(b.weight, j) -> q float32 4x4
    /Concat = Concat(p, q) -> x float32 4x12 {axis: 1}
    /fc/Gemm = Gemm(x, fc.weight) -> y float32 4x3 {transB: 1}
    output y
  )",
                                     run);
  EXPECT_TRUE(Has(text, "dropout(x) -> x/dropout")) << text;
}

}  // namespace
}  // namespace onnx_mem
