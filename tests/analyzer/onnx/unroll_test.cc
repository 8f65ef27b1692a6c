// Loops whose number of iterations is known run as their bodies, one after the other.
#include "analyzer/onnx/build/unroll.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/onnx/build/import.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

// The operators of the imported graph, constants left out, with the shapes of their first results.
std::vector<std::string> Operators(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  auto file = ModelFile::Parse(model.SerializeAsString(), "test.onnx");
  if (!file.ok()) return {std::string(file.status().message())};
  Bindings bindings;
  bindings.batch = 2;
  const auto imported = file->Import(bindings);
  if (!imported.ok()) return {std::string(imported.status().message())};
  std::vector<std::string> operators;
  for (const Node& node : imported->graph.nodes) {
    if (node.op == "Constant") continue;
    operators.push_back(node.op.str() + " " + ToString(imported->graph.tensors[node.outputs[0]].shape));
  }
  return operators;
}

using Names = std::vector<std::string>;

TEST(Unroll, ALoopOfAKnownCount) {
  EXPECT_EQ(Operators(R"(<ir_version: 8, opset_import: ["" : 17]>
    test (float[N, 4] x) => (float[N, 4] y, float[T, N, 4] all) {
      count = Constant <value = int64 {3}> ()
      yes = Constant <value = bool {1}> ()
      y, all = Loop (count, yes, x) <body = step (int64 i, bool go, float[N, 4] a) => (bool goes, float[N, 4] b, float[N, 4] c) {
        goes = Identity (go)
        b = Mul (a, x)
        c = Exp (b)
      }>
    })"),
            (Names{"Identity scalar", "Mul 2x4", "Exp 2x4", "Identity scalar", "Mul 2x4", "Exp 2x4", "Identity scalar",
                   "Mul 2x4", "Exp 2x4", "Identity 2x4", "Unsqueeze 1x2x4", "Unsqueeze 1x2x4", "Unsqueeze 1x2x4",
                   "Concat 3x2x4"}));
}

TEST(Unroll, AScanTakesItsInputsApart) {
  EXPECT_EQ(Operators(R"(<ir_version: 8, opset_import: ["" : 17]>
    test (float[N, 4] h, float[N, 2, 4] x) => (float[N, 4] y, float[N, 2, 4] all) {
      y, all = Scan (h, x) <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
                            body = step (float[N, 4] a, float[N, 4] s) => (float[N, 4] b, float[N, 4] c) {
        b = Add (a, s)
        c = Tanh (b)
      }>
    })"),
            (Names{"Gather 2x4", "Add 2x4", "Tanh 2x4", "Gather 2x4", "Add 2x4", "Tanh 2x4", "Identity 2x4",
                   "Unsqueeze 2x1x4", "Unsqueeze 2x1x4", "Concat 2x2x4"}));
}

TEST(Unroll, LoopsInsideLoops) {
  const Names operators = Operators(R"(<ir_version: 8, opset_import: ["" : 17]>
    test (float[N, 4] x) => (float[N, 4] y) {
      two = Constant <value = int64 {2}> ()
      yes = Constant <value = bool {1}> ()
      y = Loop (two, yes, x) <body = outer (int64 i, bool go, float[N, 4] a) => (bool goes, float[N, 4] b) {
        goes = Identity (go)
        b = Loop (two, go, a) <body = inner (int64 j, bool on, float[N, 4] c) => (bool still, float[N, 4] d) {
          still = Identity (on)
          d = Mul (c, a)
        }>
      }>
    })");
  EXPECT_EQ(std::count(operators.begin(), operators.end(), "Mul 2x4"), 4);
  EXPECT_EQ(std::count(operators.begin(), operators.end(), "Loop 2x4"), 0);
}

// A count that depends on data stays a loop, and so does one that would take too many nodes.
TEST(Unroll, WhatIsNotKnownOrTooLongStays) {
  const auto loop = [](const std::string& count) {
    return R"(<ir_version: 8, opset_import: ["" : 17]>
    test (float[N, 4] x, int64 n) => (float[N, 4] y) {
      many = Constant <value = int64 {30000}> ()
      yes = Constant <value = bool {1}> ()
      y = Loop ()" +
           count + R"(, yes, x) <body = step (int64 i, bool go, float[N, 4] a) => (bool goes, float[N, 4] b) {
        goes = Identity (go)
        b = Mul (a, x)
      }>
    })";
  };
  for (const char* count : {"n", "many"}) {
    const Names operators = Operators(loop(count));
    EXPECT_EQ(std::count(operators.begin(), operators.end(), "Loop 2x4"), 1) << count;
  }
}

// torch.tensor_split: a list that a loop fills, of which a part is taken by its place.
TEST(Unroll, APartOfAListThatALoopFillsIsWhatWasPutIn) {
  const Names operators = Operators(R"(<ir_version: 8, opset_import: ["" : 17]>
    test (float[N, 6] x) => (float[N, W] y) {
      count = Constant <value = int64 {1}> ()
      yes = Constant <value = bool {1}> ()
      none = SequenceEmpty <dtype = 1> ()
      axes = Constant <value = int64[1] {1}> ()
      begin = Constant <value = int64[1] {2}> ()
      end = Constant <value = int64[1] {6}> ()
      list = Loop (count, yes, none) <body = step (int64 i, bool go, seq(float) l) => (bool goes, seq(float) m) {
        goes = Identity (go)
        first = Constant <value = int64[1] {0}> ()
        second = Constant <value = int64[1] {2}> ()
        a = Slice (x, first, second, axes)
        m = SequenceInsert (l, a)
      }>
      rest = Slice (x, begin, end, axes)
      whole = SequenceInsert (list, rest)
      last = Constant <value = int64 {-1}> ()
      z = SequenceAt (whole, last)
      y = Relu (z)
    })");
  ASSERT_FALSE(operators.empty());
  EXPECT_EQ(operators.back(), "Relu 2x4");
}

}  // namespace
}  // namespace onnx_mem
