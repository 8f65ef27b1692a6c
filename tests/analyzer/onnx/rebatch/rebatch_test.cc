// Models exported at a fixed batch, read at another.
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/dag.h"
#include "analyzer/onnx/build/import.h"
#include "gtest/gtest.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// "op name shape" per node output, one per line, constants left out; an error's code and why.
std::string At(const std::string& text, const Bindings& bindings) {
  auto file = ModelFile::Parse(ModelBytes(text), "m.onnx");
  if (!file.ok()) return DiagnosticOf(file.status()).message;
  const auto imported = file->Import(bindings);
  if (!imported.ok()) {
    const Diagnostic error = DiagnosticOf(imported.status());
    return absl::StrCat(CodeOf(error), ": ", error.details.empty() ? error.message : error.details[0]);
  }
  EXPECT_TRUE(VerifyGraph(imported->graph).ok()) << VerifyGraph(imported->graph);
  std::string dump;
  for (const Node& node : imported->graph.nodes) {
    if (node.op == "Constant") continue;
    const Tensor& tensor = imported->graph.tensors[node.outputs[0]];
    absl::StrAppend(&dump, dump.empty() ? "" : "\n", node.op.str(), " ", tensor.name, " ", ToString(tensor.shape));
  }
  return dump;
}
std::string AtBatch(const std::string& text, int64_t batch) { return At(text, {.batch = batch}); }

TEST(Rebatch, ReshapeTargetsFollow) {
  EXPECT_EQ(
      AtBatch(R"(g (float[2, 8, 4, 4] x) => (float[2, 128] y) <int64[2] t = {2, 128}> { y = Reshape(x, t) })", 64),
      "Reshape y 64x128");
  EXPECT_EQ(AtBatch(R"(g (float[2, 8, 4, 4] x) => (float[2, 128] y) <int64[2] t = {2, -1}> { y = Reshape(x, t) })", 64),
            "Reshape y 64x128");
  EXPECT_EQ(AtBatch(R"(g (float[1, 8, 4, 4] x) => (float[1, 128] y) <int64[2] t = {1, -1}> { y = Reshape(x, t) })", 64),
            "Reshape y 64x128");
}

TEST(Rebatch, OneConstantMayServeReadersOfDifferentMeaning) {
  EXPECT_EQ(AtBatch(R"(g (float[2, 2, 8] x, float[2, 16] w) => (float[2, 16] y, float[2, 16] z)
            <int64[2] t = {2, 16}, float[2, 16] c = ["location": "none"]> { y = Reshape(x, t)  d = Reshape(c, t)  z = MatMul(y, m) m = Transpose(d) })",
                    3),
            "Reshape y 3x16\nReshape d 2x16\nTranspose m 16x2\nMatMul z 3x2");
}

TEST(Rebatch, AClassTokenIsExpandedAgain) {
  // At batch 1 the exporter left out the Expand: it did nothing.
  EXPECT_EQ(
      AtBatch(
          R"(g (float[1, 4, 8] x) => (float[1, 5, 8] y) <float[1, 1, 8] token = ["location": "none"]> { y = Concat<axis = 1>(token, x) })",
          3),
      "Expand token/expanded 3x1x8\nConcat y 3x5x8");
  EXPECT_EQ(
      AtBatch(
          R"(g (float[2, 4, 8] x) => (float[2, 5, 8] y) <float[1, 1, 8] token = ["location": "none"], int64[3] t = {2, -1, -1}, int64[3] u = {2, 1, 8}>
            { e = Expand(token, u)  y = Concat<axis = 1>(e, x) })",
          3),
      "Expand e 3x1x8\nConcat y 3x5x8");
}

// torch.ones(len(x), 1): Python read the size, so the file calls its batch free and infers at the traced one only.
TEST(Rebatch, AFreeBatchThatWasReadAsANumberWhenTracedFollows) {
  const std::string text = R"(g (float[batch, 12] x) => (float[batch, 13] y) <int64[2] t = {2, 1}>
            { ones = ConstantOfShape(t)  y = Concat<axis = 1>(ones, x) })";
  EXPECT_EQ(AtBatch(text, 2), "ConstantOfShape ones 2x1\nConcat y 2x13");
  EXPECT_EQ(AtBatch(text, 16), "ConstantOfShape ones 16x1\nConcat y 16x13");
  // No batch makes these fit: the error is that of the batch that was requested.
  EXPECT_EQ(
      AtBatch(
          R"(g (float[batch, 12] x) => (float[batch, 3] y) <float[11, 3] w = ["location": "none"]> { y = MatMul(x, w) })",
          16),
      "bad-shape: why: its inputs are 16x12 and 11x3");
}

TEST(Rebatch, FoldedConstantsOfTheExportedBatchFollow) {
  EXPECT_EQ(
      AtBatch(
          R"(g (float[2, 4] x) => (float[2, 4] y) <float[2, 4] c = ["location": "none"]> { s = Sigmoid(c)  y = Add(x, s) })",
          5),
      "Sigmoid s 5x4\nAdd y 5x4");
}

TEST(Rebatch, ParametersThatBroadcastStay) {
  EXPECT_EQ(
      AtBatch(
          R"(g (float[1, 4, 8] x) => (float[1, 4, 8] y) <float[1, 4, 8] position = ["location": "none"]> { y = Add(x, position) })",
          5),
      "Add y 5x4x8");
}

TEST(Rebatch, ExpandedToOneWasExpandedToTheBatch) {
  EXPECT_EQ(
      AtBatch(
          R"(g (float[1, 4, 8] x) => (float[1, 4, 8] y) <int64[1, 4] ids = {0, 1, 0, 1}, float[2, 8] table = ["location": "none"], int64[2] t = {1, 4}>
            { e = Expand(ids, t)  g = Gather(table, e)  y = Add(x, g) })",
          5),
      "Expand e 5x4\nGather g 5x4x8\nAdd y 5x4x8");
}

TEST(Rebatch, RecurrentStatesFollow) {
  EXPECT_EQ(
      AtBatch(
          R"(g (float[2, 7, 4] x) => (float[7, 1, 2, 8] y) <float[1, 32, 4] w = ["location": "none"], float[1, 32, 8] r = ["location": "none"], float[1, 2, 8] h = ["location": "none"], float[1, 2, 8] c = ["location": "none"]>
            { t = Transpose<perm = [1, 0, 2]>(x)  y = LSTM<hidden_size = 8>(t, w, r, , , h, c) })",
          3),
      "Transpose t 7x3x4\nLSTM y 7x1x3x8");
}

TEST(Rebatch, EnumeratedIndicesFollow) {
  EXPECT_EQ(AtBatch(R"(g (float[2, 3] x) => (float[2, 3] y) <int64[1] flat = {-1}, int64[2, 3] i = {0, 1, 2, 3, 4, 5}>
            { f = Reshape(x, flat)  y = Gather(f, i) })",
                    4),
            "Reshape f 12\nGather y 4x3");
}

// The padding mask of transformers: mask[batch, key] for every query, in a list of places that the exporter computed.
TEST(Rebatch, IndicesThatCountTheBatchFollow) {
  EXPECT_EQ(AtBatch(R"(g (bool[2, 2] mask) => (bool[2, 1, 3, 2] y)
            <int64[2, 1, 3, 2, 2] at = {0,0, 0,1, 0,0, 0,1, 0,0, 0,1, 1,0, 1,1, 1,0, 1,1, 1,0, 1,1}>
            { y = GatherND(mask, at) })",
                    5),
            "GatherND y 5x1x3x2");
  EXPECT_EQ(AtBatch(R"(g (bool[1, 2] mask) => (bool[1, 1, 3, 2] y)
            <int64[1, 1, 3, 2, 2] at = {0,0, 0,1, 0,0, 0,1, 0,0, 0,1}> { y = GatherND(mask, at) })",
                    5),
            "GatherND y 5x1x3x2");
}

// One sample that is picked for every batch has not followed: the output keeps its size, which is no batch.
TEST(Rebatch, IndicesThatPickSamplesDoNotFollow) {
  EXPECT_EQ(
      AtBatch(R"(g (float[2, 3] x) => (float[2] y) <int64[2, 2] at = {0,1, 0,2}> { y = GatherND(x, at) })", 5),
      "static-batch: why: the batch is lost at the GatherND that makes 'y': its inputs follow, its output does not");
}

TEST(Rebatch, ALostBatchIsNamed) {
  EXPECT_EQ(
      AtBatch(R"(g (float[2, 3] x) => (float[2, 3] y) <int64[1] flat = {-1}, int64[2, 3] i = {5, 1, 2, 3, 4, 0}>
            { f = Reshape(x, flat)  y = Gather(f, i) })",
              4),
      "static-batch: why: the batch is lost at the Gather that makes 'y': its inputs follow, its output does not");
  EXPECT_EQ(
      AtBatch(R"(g (float[4, 3] x) => (float[2, 3] y) <int64[1] s = {0}, int64[1] e = {2}> { y = Slice(x, s, e) })", 8),
      "static-batch: why: the batch is lost at the Slice that makes 'y': its inputs follow, its output does not");
  EXPECT_EQ(
      AtBatch(
          R"(g (float[4, 3] x) => (float[5, 3] y) <float[1, 3] c = ["location": "none"]> { y = Concat<axis = 0>(x, c) })",
          8),
      "static-batch: why: the Concat that makes 'y' gives 5x3, which is not proportional to the batch");
  EXPECT_EQ(AtBatch(R"(g (float[4, 3] x) => (float[3, 4] y) <int64[2] t = {3, 4}> { y = Reshape(x, t) })", 8),
            "static-batch: why: the Reshape that makes 'y' has the constant shape [3, 4]");
}

TEST(Rebatch, ReductionsOverTheBatchAreNoLoss) {
  EXPECT_EQ(AtBatch(R"(g (float[2, 3] x) => (float[1, 3] y) <int64[1] a = {0}> { y = ReduceMean(x, a) })", 8),
            "ReduceMean y 1x3");
}

// out = torch.empty_like(x); out[:, columns] = y
TEST(Rebatch, WhatColumnsAreWrittenIntoFollowsThem) {
  const std::string text = R"(g (float[2, 4] x) => (float[2, 4] y)
            <float[4, 2] made = ["location": "none"], int64[4, 1] columns = {3, 2, 1, 0}>
            { t = Transpose(x)  s = ScatterND(made, columns, t)  y = Transpose(s) })";
  EXPECT_EQ(AtBatch(text, 8), "Transpose t 4x8\nScatterND s 4x8\nTranspose y 8x4");
}

TEST(Rebatch, AMisfitIsRefusedWithTheNodesReason) {
  EXPECT_EQ(
      AtBatch(
          R"(g (float[2, 3] x) => (float[2, 2] y) <float[2, 5] w = ["location": "none"]> { t = Transpose(x)  y = MatMul(t, w) })",
          8),
      "static-batch: why: node #1 (MatMul): its inputs no longer fit each other");
}

TEST(Rebatch, LengthsFollowLikeBatches) {
  const std::string text = R"(g (int64[2, 16] x) => (float[2, 16, 8] y)
            <float[50, 8] table = ["location": "none"], float[64, 8] positions = ["location": "none"], int64[16] p = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}>
            { t = Gather(table, x)  q = Gather(positions, p)  y = Add(t, q) })";
  EXPECT_EQ(At(text, {.inputs = {{"x", {3, 32}}}}), "Gather t 3x32x8\nGather q 32x8\nAdd y 3x32x8");
}

TEST(Rebatch, ImageSizesNeedNotBeProportional) {
  EXPECT_EQ(
      At(R"(g (float[2, 3, 32, 32] x) => (float[2, 4, 30, 30] y) <float[4, 3, 3, 3] w = ["location": "none"]> { y = Conv(x, w) })",
         {.inputs = {{"x", {5, 3, 50, 40}}}}),
      "Conv y 5x4x48x38");
  EXPECT_EQ(
      At(R"(g (float[2, 3, 32, 32] x) => (float[2, 2700] y) <float[3, 3, 3, 3] w = ["location": "none"], int64[2] t = {2, 2700}>
                  { c = Conv(x, w)  y = Reshape(c, t) })",
         {.inputs = {{"x", {2, 3, 50, 40}}}}),
      "static-batch: why: the Conv that makes 'c' gives 2x3x30x30, which is not proportional to the batch");
}

TEST(Rebatch, ASweepIsImportedOneByOne) {
  auto file = ModelFile::Parse(
      ModelBytes("g (float[2, 8, 4, 4] x) => (float[2, 128] y) <int64[2] t = {2, 128}> { y = Reshape(x, t) }"), "m");
  ASSERT_TRUE(file.ok());
  for (int64_t batch : {1, 2, 3, 64, 5}) {
    const auto imported = file->Import({.batch = batch});
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_EQ(imported->graph.tensors[imported->graph.outputs[0]].shape, Shape({batch, 128}));
    EXPECT_EQ(imported->info.file_batch, 2);
  }
}

}  // namespace
}  // namespace onnx_mem
