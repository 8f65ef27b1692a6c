// Names that forward code may give its values beyond the likely ones.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/analyzer/assume/names/lowered_program.h"

namespace onnx_mem::names {
namespace {

// a = tanh(x); b = exp(a); c = sqrt(b); d = abs(c): four names, or one that is given anew.
TEST(PossibleNames, AFunctionHasTheTwoLargestOfWhatItHasDoneWith) {
  LoweredProgram p;
  const TensorId a = p.Run("tanh", {p.input()}, "m", {2, 4});
  const TensorId b = p.Run("exp", {a}, "m", {2, 64});
  const TensorId c = p.Run("sqrt", {b}, "m", {2, 32});
  const TensorId d = p.Run("abs", {c}, "m", {2, 16});
  p.Run("neg", {d}, "m", {2, 16});
  p.Run("cos", {p.input()}, "m");
  EXPECT_EQ(p.ReleaseWithSomeNames(b), p.last());
  EXPECT_EQ(p.ReleaseWithSomeNames(c), p.last());
  EXPECT_LT(p.ReleaseWithSomeNames(a), p.last()) << "the smallest has lost its name";
  EXPECT_LT(p.ReleaseWithSomeNames(d), p.last());
  EXPECT_EQ(p.ReleaseAtMost(a), p.last());
}

// q = x.reshape(..); k = q.permute(..): two names, one storage.
TEST(PossibleNames, ViewsOfOneValueCountAsOne) {
  LoweredProgram p;
  const TensorId a = p.Run("tanh", {p.input()}, "m");
  const TensorId view = p.Run("reshape", {a}, "m");
  const TensorId b = p.Run("exp", {view}, "m");
  p.Run("neg", {b}, "m");
  p.Run("cos", {p.input()}, "m");
  EXPECT_EQ(p.ReleaseWithSomeNames(a), p.last());
  EXPECT_EQ(p.ReleaseWithSomeNames(view), p.last());
  EXPECT_EQ(p.ReleaseWithSomeNames(b), p.last());
}

// outs = []; for layer in self.layers: x = x + layer(x); outs.append(x); return outs[0] * outs[-1]
TEST(PossibleNames, AListMayHaveTheResultsOfAllRounds) {
  LoweredProgram p;
  TensorIds outs = {p.input()};
  for (const char* layer : {"layers.0", "layers.1", "layers.2", "layers.3"}) {
    const TensorId y = p.Run("conv", {outs.back()}, layer);
    outs.push_back(p.Run("add", {outs.back(), y}));
  }
  p.Run("mul", {outs[1], outs.back()});
  EXPECT_EQ(p.ReleaseWithSomeNames(outs[2]), p.last()) << "nothing reads it any more";
  EXPECT_EQ(p.ReleaseWithSomeNames(outs[3]), p.last());
}

// The same without a list: x = x + layer(x) gives the name anew.
TEST(PossibleNames, WithoutAListEachRoundGivesTheNameAnew) {
  LoweredProgram p;
  TensorId x = p.input(), second;
  for (const char* layer : {"layers.0", "layers.1", "layers.2", "layers.3"}) {
    x = p.Run("add", {x, p.Run("conv", {x}, layer)});
    if (layer == std::string_view("layers.1")) second = x;
  }
  EXPECT_EQ(p.ReleaseWithSomeNames(second), 5) << "the sum of the next round";
}

// b1 = self.b1(x); b2 = self.b2(b1); ...; b7 = self.b7(b6); return b1 + b7
TEST(PossibleNames, CodeThatReadsAnEarlyResultAtTheEndMayNameAllBetween) {
  LoweredProgram p;
  TensorIds b = {p.input()};
  for (const char* name : {"b1", "b2", "b3", "b4", "b5", "b6", "b7"}) b.push_back(p.Run("conv", {b.back()}, name));
  p.Run("add", {b[1], b[7]});
  p.Run("tanh", {b[7]});
  EXPECT_EQ(p.ReleaseWithSomeNames(b[3]), p.last());
  EXPECT_EQ(p.Release(b[3]).first, 3) << "likely: until the next block has run";
}

// for layer in self.layers: x = layer(x); return self.head(self.norm(x))
// x1 = self.block1(x); x2 = self.block2(x1); x3 = self.block3(x2); x4 = self.block4(x3)
TEST(PossibleNames, NumberedModulesMayHaveNumberedResults) {
  const auto build = [](LoweredProgram& p, const std::string& separator) {
    TensorId x = p.input();
    TensorIds results;
    for (int i = 1; i <= 4; ++i) {
      const std::string block = absl::StrCat("block", separator, i);
      x = p.Run("conv", {x}, absl::StrCat(block, " > ", block, ".conv"));
      x = p.Run("relu", {x}, absl::StrCat(block, " > ", block, ".act"));
      results.push_back(x);
    }
    p.Run("mean", {x});  // 8
    return results;
  };
  LoweredProgram numbered, list;
  for (TensorId result : build(numbered, "")) EXPECT_EQ(numbered.ReleaseWithSomeNames(result), 8);
  const TensorIds of_list = build(list, ".");
  EXPECT_EQ(list.ReleaseWithSomeNames(of_list[0]), 3) << "for block in self.block: x = block(x)";
}

TEST(PossibleNames, WhatANestedCallReadsHasItsNameUntilTheOuterOneReturns) {
  LoweredProgram p;
  const TensorId x = p.Run("linear", {p.input()}, "layers.0");
  const TensorId n = p.Run("layer_norm", {x}, "norm");
  const TensorId h = p.Run("linear", {n}, "head");
  p.Run("exp", {h});
  EXPECT_EQ(p.ReleaseWithSomeNames(x), 2);
  EXPECT_EQ(p.Release(x).first, 1);
}

}  // namespace
}  // namespace onnx_mem::names
