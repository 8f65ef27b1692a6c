// Files that a tool rewrote without changing what runs are read as they were.
#include "analyzer/onnx/read/plain_form.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzer/onnx/build/import.h"
#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// The stored tensors, then the nodes with what they read and make.
std::string Read(const onnx::GraphProto& graph) {
  std::string text = "stored";
  for (const auto& tensor : graph.initializer()) absl::StrAppend(&text, " ", tensor.name());
  for (const auto& node : graph.node()) {
    absl::StrAppend(&text, "\n", node.name(), node.name().empty() ? "" : ": ", node.op_type());
    for (const std::string& input : node.input()) absl::StrAppend(&text, " ", input);
    absl::StrAppend(&text, " ->");
    for (const std::string& output : node.output()) absl::StrAppend(&text, " ", output);
  }
  return text;
}

std::string Moved(std::string_view text) {
  onnx::ModelProto model = ModelOfText(text);
  StoreMovedWeights(*model.mutable_graph());
  return Read(model.graph());
}

TEST(PlainForm, AConstantWithANameOfItsOwnIsStored) {
  EXPECT_EQ(Moved(R"(g (float[2,2] x) => (float[2,2] y)
      { w = Constant <value = float[2,2] {1, 2, 3, 4}> ()
        y = MatMul(x, w) })"),
            "stored w\n"
            "MatMul x w -> y");
}

// torch's exporters name their constants themselves, and store what is trained.
TEST(PlainForm, AConstantThatAnExporterNamedStaysWhereWeightsAreStored) {
  constexpr char kTransform[] = R"(g (float[2,2] x) => (float[2,2] y) INITIALIZERS
      { val_1 = Constant <value = float[2,2] {1, 2, 3, 4}> ()
        h = MatMul(x, val_1)
        y = READS })";
  const auto with = [&](const char* initializers, const char* reads) {
    return Moved(absl::StrReplaceAll(kTransform, {{"INITIALIZERS", initializers}, {"READS", reads}}));
  };
  EXPECT_EQ(with(R"(<float[2,2] w = ["location": "none"]>)", "MatMul(h, w)"),
            "stored w\n"
            "Constant -> val_1\n"
            "MatMul x val_1 -> h\n"
            "MatMul h w -> y");
  EXPECT_EQ(with("", "Relu(h)"),
            "stored val_1\n"
            "MatMul x val_1 -> h\n"
            "Relu h -> y");
}

TEST(PlainForm, ANumberWithoutAWordStaysAConstant) {
  EXPECT_EQ(Moved(R"(g (float[2,2] x) => (float[2,2] y)
      { n7 = Constant <value = float {2}> ()
        scale = Constant <value = float {2}> ()
        h = Mul(x, n7)
        y = Mul(h, scale) })"),
            "stored scale\n"
            "Constant -> n7\n"
            "Mul x n7 -> h\n"
            "Mul h scale -> y");
}

TEST(PlainForm, AConstantThatIsAnOutputStays) {
  EXPECT_EQ(Moved(R"(g () => (float[2] w) { w = Constant <value = float[2] {1, 2}> () })"),
            "stored\n"
            "Constant -> w");
}

TEST(PlainForm, IdentitiesOfAWeightAreThatWeight) {
  EXPECT_EQ(Moved(R"(g (float[2,2] x) => (float[2,2] y) <float[2,2] w = ["location": "none"]>
      { a = Identity(w)
        b = Identity(a)
        c = Identity(a)
        h = MatMul(x, b)
        y = MatMul(h, c) })"),
            "stored w\n"
            "MatMul x w -> h\n"
            "MatMul h w -> y");
}

// An exporter merged two weights of equal contents: w is read by its own layer as well, through an Identity or not.
TEST(PlainForm, AnIdentityThatAnExporterMergedStays) {
  EXPECT_EQ(Moved(R"(g (float[2,2] x) => (float[2,2] y) <float[2,2] w = ["location": "none"]>
      { v = Identity(w)
        h = MatMul(x, w)
        y = MatMul(h, v) })"),
            "stored w\n"
            "Identity w -> v\n"
            "MatMul x w -> h\n"
            "MatMul h v -> y");
  EXPECT_EQ(Moved(R"(g (float[2,2] x) => (float[2,2] y) <float[2,2] w = ["location": "none"]>
      { w_alias = Identity(w)
        v = Identity(w_alias)
        h = MatMul(x, w_alias)
        y = MatMul(h, v) })"),
            "stored w\n"
            "Identity w -> v\n"
            "MatMul x w -> h\n"
            "MatMul h v -> y");
}

// The names of `text` with ZZ in place of what a tool put in front of them.
std::string Stripped(const std::string& text, const std::string& prefix) {
  onnx::ModelProto model = ModelOfText(absl::StrReplaceAll(text, {{"ZZ", prefix}}));
  SeenContents seen;
  const std::string stripped = StripPrefix(*model.mutable_graph(), seen);
  return absl::StrCat(stripped, "|", Read(model.graph()));
}

TEST(PlainForm, WhatAllNamesBeginWithIsTakenOff) {
  constexpr char kText[] = R"(g (float[2,2] x) => (float[2,2] y) <float[2,2] ZZval_3 = ["location": "none"]>
      { [ZZnode_MatMul_1] ZZlinear = MatMul(x, ZZval_3)
        [ZZnode_Relu_2] y = Relu(ZZlinear) })";
  EXPECT_EQ(Stripped(kText, "zz_"),
            "zz_|stored val_3\n"
            "node_MatMul_1: MatMul x val_3 -> linear\n"
            "node_Relu_2: Relu linear -> y");
  EXPECT_EQ(Stripped(kText, ""),
            "|stored val_3\n"
            "node_MatMul_1: MatMul x val_3 -> linear\n"
            "node_Relu_2: Relu linear -> y");
}

// What is left would be no exporter's: the names are the model's.
TEST(PlainForm, NamesThatOnlyHappenToBeginAlikeStay) {
  EXPECT_EQ(Stripped(R"(g (float[2,2] x) => (float[2,2] y) <float[2,2] ZZfc = ["location": "none"]>
      { ZZh = MatMul(x, ZZfc)
        y = Relu(ZZh) })",
                     "model_"),
            "|stored model_fc\n"
            "MatMul x model_fc -> model_h\n"
            "Relu model_h -> y");
}

// x.permute(0, -1, 1), as TorchScript's exporter writes it.
TEST(PlainForm, AxesOfATransposeCountFromTheFirst) {
  onnx::ModelProto model =
      ModelOfText(R"(g (float[2,3,4] x) => (float[2,4,3] y) { y = Transpose <perm = [0, -1, 1]> (x) })");
  CountAxesFromFirst(*model.mutable_graph());
  const auto& perm = model.graph().node(0).attribute(0).ints();
  EXPECT_EQ(std::vector<int64_t>(perm.begin(), perm.end()), (std::vector<int64_t>{0, 2, 1}));
}

}  // namespace
}  // namespace onnx_mem
