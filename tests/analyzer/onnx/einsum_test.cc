// The shape of an Einsum: ours, as the schema's takes each letter from the first operand that has it.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// The shape of the result for operands of these shapes, "1,2 3,2"; or the error.
std::string ShapeFor(const std::string& equation, const std::string& a, const std::string& b = "") {
  const std::string second = b.empty() ? "" : absl::StrCat(", float[", b, "] b");
  const absl::StatusOr<ImportedModel> imported =
      ImportText(absl::StrCat("g (float[", a, "] a", second, ") => (float[] y) { y = Einsum <equation = \"", equation,
                              "\"> (a", b.empty() ? "" : ", b", ") }"));
  if (!imported.ok()) return std::string(imported.status().message());
  return ToString(imported->graph.tensors[imported->graph.outputs[0]].shape);
}

TEST(Einsum, ALetterBroadcastsOverAllOperands) {
  EXPECT_EQ(ShapeFor("ebnd,ehd->ebhn", "1,2,16,8", "4,3,8"), "4x2x3x16");
  EXPECT_EQ(ShapeFor("ehd,ebnd->ebhn", "4,3,8", "1,2,16,8"), "4x2x3x16");
  EXPECT_EQ(ShapeFor("bij,bjk->bik", "2,4,8", "2,8,5"), "2x4x5");
}

TEST(Einsum, EllipsesBroadcastFromTheRight) {
  EXPECT_EQ(ShapeFor("...ij,...jk->...ik", "1,3,8,16", "2,1,16,4"), "2x3x8x4");
  EXPECT_EQ(ShapeFor("...ij,...jk->...ik", "2,3,8,16", "3,16,4"), "2x3x8x4");
  EXPECT_EQ(ShapeFor("i...,i->...", "7,5,6", "7"), "5x6");
}

TEST(Einsum, WithoutAnArrowTheEllipsisAndWhatAppearsOnce) {
  EXPECT_EQ(ShapeFor("kj,ik", "3,4", "2,3"), "2x4");
  EXPECT_EQ(ShapeFor("...ji", "7,3,4"), "7x4x3");
  EXPECT_EQ(ShapeFor("ii", "5,5"), "scalar");
}

TEST(Einsum, ALetterTwiceInOneOperandIsItsDiagonal) {
  EXPECT_EQ(ShapeFor("ii->i", "5,5"), "5");
  EXPECT_EQ(ShapeFor("bii->ib", "2,5,5"), "5x2");
}

TEST(Einsum, WhatDoesNotFitIsToldSo) {
  EXPECT_NE(ShapeFor("ij,jk->ik", "2,3", "4,5").find("sizes of 'j' differ: 3 and 4"), std::string::npos);
  EXPECT_NE(ShapeFor("...i,...i->...", "2,3,4", "3,3,4").find("sizes of the ellipsis differ"), std::string::npos);
  EXPECT_NE(ShapeFor("ij->ik", "2,3").find("no operand has 'k' of the output"), std::string::npos);
  EXPECT_NE(ShapeFor("ij->ii", "2,3").find("the output has 'i' twice"), std::string::npos);
  EXPECT_NE(ShapeFor("ijk->i", "2,3").find("names 3 of the 2 dimensions"), std::string::npos);
  EXPECT_NE(ShapeFor("ij,jk->ik", "2,3").find("names 2 operands, the node has 1"), std::string::npos);
  EXPECT_NE(ShapeFor("i.j->ij", "2,3").find("malformed"), std::string::npos);
}

}  // namespace
}  // namespace onnx_mem
