// Names that forward code may give its values beyond the likely ones.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/analyzer/assume/names/lowered_program.h"

namespace onnx_mem::names {
namespace {

// a = f(x); b = g(a); c = h(b); d = k(c): four names, or one that is given anew.
TEST(PossibleNames, AFunctionHasTheLargestOfAChainThatItHasDoneWith) {
  LoweredProgram p;
  const TensorId a = p.Run("conv", {p.input()}, "m", {2, 16});
  const TensorId b = p.Run("linear", {a}, "m", {2, 64});
  const TensorId c = p.Run("cumsum", {b}, "m", {2, 32});
  const TensorId d = p.Run("gather", {c}, "m", {2, 16});
  p.Run("mean", {d}, "m", {2, 16});
  p.Run("cos", {p.input()}, "m");
  EXPECT_EQ(p.ReleaseWithSomeNames(b), p.last());
  EXPECT_LT(p.ReleaseWithSomeNames(a), p.last()) << "the larger one has the name";
  EXPECT_LT(p.ReleaseWithSomeNames(c), p.last());
  EXPECT_LT(p.ReleaseWithSomeNames(d), p.last());
  EXPECT_EQ(p.ReleaseAtMost(a), p.last());
}

TEST(PossibleNames, SmallOnesBesideTheLargestDoNotCount) {
  LoweredProgram p;
  const TensorId a = p.Run("conv", {p.input()}, "m", {2, 4});
  const TensorId b = p.Run("linear", {a}, "m", {2, 64});
  const TensorId c = p.Run("cumsum", {b}, "m", {2, 7});
  p.Run("mean", {c}, "m");
  p.Run("cos", {p.input()}, "m");
  for (TensorId id : {a, b, c}) EXPECT_EQ(p.ReleaseWithSomeNames(id), p.last());
}

// ids = x + offsets; u = f(ids) + g(ids): what two statements read stands in no expression, so two have names.
TEST(PossibleNames, OfValuesThatSeveralStatementsReadThereAreTwo) {
  LoweredProgram p;
  std::vector<TensorId> values;
  for (const char* op : {"conv", "linear", "cumsum"}) {
    values.push_back(p.Run(op, {p.input()}, "m", {2, 16}));
    p.Run("mean", {values.back()}, "m");
    p.Run("add", {values.back(), p.input()}, "m", {2, 3});
  }
  p.Run("cos", {p.input()}, "m");
  int64_t named = 0;
  for (TensorId id : values) named += p.ReleaseWithSomeNames(id) == p.last() ? 1 : 0;
  EXPECT_EQ(named, 2);
}

// y = torch.exp(-0.5 * s), x = F.relu(self.conv(x)) have no name for what the function takes; gate * F.silu(up) has.
TEST(PossibleNames, WhatAnExpressionTakesAtOnceHasNone) {
  const auto release = [](std::string_view reader, bool is_gate) {
    LoweredProgram p;
    const TensorId up = p.Run("linear", {p.input()}, "m > m.up", {2, 16});
    const TensorId y = p.Run(reader, {up}, "m");
    p.Run(is_gate ? "mul" : "conv", {y, p.input()}, "m");
    p.Run("cos", {p.input()}, "m");
    EXPECT_EQ(p.ReleaseAtMost(up), p.last());
    return p.ReleaseWithSomeNames(up) == p.last();
  };
  EXPECT_FALSE(release("relu", false));
  EXPECT_FALSE(release("exp", true));
  EXPECT_TRUE(release("silu", true));
  EXPECT_TRUE(release("softmax", false));
}

// residual, skip = layer(x): both have names, whichever is read once; so has what the layer gives alone in its last call.
TEST(PossibleNames, WhatACallGivesBesideOthersIsUnpacked) {
  const auto named = [](bool unpacks) {
    LoweredProgram p;
    TensorId x = p.input(), sum = p.input();
    std::vector<TensorId> skips;
    for (const char* layer : {"layers.0", "layers.1"}) {
      const TensorId skip = p.Run("conv", {x}, layer, {2, 8});
      const TensorId residual = unpacks ? p.Run("linear", {x}, layer) : p.Run("linear", {x});
      x = p.Run("add", {x, residual});
      sum = p.Run("add", {sum, skip}, "", {2, 8});
      skips.push_back(skip);
    }
    p.Run("gather", {sum}, "", {2, 8});
    p.Run("cos", {p.input()});
    return p.ReleaseWithSomeNames(skips[1]) == p.last();
  };
  EXPECT_TRUE(named(true));
  EXPECT_FALSE(named(false)) << "the sum has the one name of its chain";
}

// q = x.reshape(..); k = q.permute(..): two names, one storage.
TEST(PossibleNames, ViewsOfOneValueCountAsOne) {
  LoweredProgram p;
  const TensorId a = p.Run("conv", {p.input()}, "m");
  const TensorId view = p.Run("reshape", {a}, "m");
  p.Run("linear", {view}, "m");
  p.Run("cos", {p.input()}, "m");
  EXPECT_EQ(p.ReleaseWithSomeNames(a), p.last());
  EXPECT_EQ(p.ReleaseWithSomeNames(view), p.last());
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

// for step in steps: k1 = f(x + y); k2 = f(x + k1); x = g(k1, k2): the next step gives the names anew.
TEST(PossibleNames, BatchesThatAreReadBeforeTheNextEndWithIt) {
  LoweredProgram p;
  std::vector<TensorId> ks;
  TensorId x = p.input();
  for (int step = 0; step < 3; ++step) {
    ks.push_back(p.Run("conv", {p.Run("add", {x, p.input()})}, "f"));
    ks.push_back(p.Run("conv", {p.Run("add", {x, ks.back()})}, "f"));
    x = p.Run("maximum", {ks[ks.size() - 2], ks.back()});
  }
  p.Run("mean", {x});
  EXPECT_EQ(p.ReleaseWithSomeNames(ks[0]), 8) << "the last of the next batch";
  EXPECT_EQ(p.ReleaseWithSomeNames(ks[1]), 8);
  EXPECT_EQ(p.ReleaseWithSomeNames(ks[4]), p.last());
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
