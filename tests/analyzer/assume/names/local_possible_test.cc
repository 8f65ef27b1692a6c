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

// residual, skip = layer(x): both have names, whichever is read once; so has what the layer gives alone in its last
// call.
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

// b1 = self.b1(x); b2 = self.b2(b1); ...; b7 = self.b7(b6); return b1 + b2 + b7: code that has three of its results at
// once may name all. x = self.b1(x); r = x; x = self.b7(...(self.b2(x))); return r + x has two names, not seven.
TEST(PossibleNames, CodeThatReadsSeveralEarlyResultsAtTheEndMayNameAllBetween) {
  const auto build = [](LoweredProgram& p, bool several) {
    TensorIds b = {p.input()};
    for (const char* name : {"b1", "b2", "b3", "b4", "b5", "b6", "b7"}) b.push_back(p.Run("conv", {b.back()}, name));
    const TensorId sum = p.Run("add", {b[1], b[7]});
    p.Run("maximum", {sum, several ? b[2] : sum});
    return b;
  };
  LoweredProgram naming, stream;
  const TensorIds b = build(naming, true);
  EXPECT_EQ(naming.ReleaseWithSomeNames(b[3]), naming.last());
  EXPECT_EQ(naming.ReleaseWithSomeNames(b[5]), naming.last());
  EXPECT_EQ(naming.Release(b[3]).first, 3) << "likely: until the next block has run";
  const TensorIds of_stream = build(stream, false);
  EXPECT_LT(stream.ReleaseWithSomeNames(of_stream[3]), stream.last());
}

// x1 = self.conv1(x).max(-1)[0] names what it is read from later, not what it reduces.
TEST(PossibleNames, WhatIsReducedAtOnceIsNoneOfThem) {
  LoweredProgram p;
  TensorIds stages;
  TensorId wide, x = p.input();
  for (const char* name : {"c1", "c2", "c3", "c4", "c5", "c6", "c7"}) {
    const TensorId y = p.Run("conv", {x}, name, {4, 16});
    x = p.Run("amax", {y}, "", {4, 8});
    if (name == std::string_view("c3")) wide = y;
    stages.push_back(x);
  }
  p.Run("cat", {stages[0], stages[1], stages[6]});
  p.Run("cos", {p.input()});
  EXPECT_LT(p.ReleaseWithSomeNames(wide), p.last());
}

// total = self.skip(a); total = total + self.skip(b); ...: a sum, not a list.
TEST(PossibleNames, WhatALoopAddsUpIsNoList) {
  LoweredProgram p;
  TensorId x = p.input(), total;
  TensorIds skips;
  for (const char* layer : {"layers.0", "layers.1", "layers.2", "layers.3"}) {
    x = p.Run("linear", {x}, layer);
    skips.push_back(p.Run("conv", {x}, layer));
    total = total.valid() ? p.Run("add", {total, skips.back()}) : skips.back();
  }
  p.Run("mean", {total});
  p.Run("cos", {p.input()});
  EXPECT_LT(p.ReleaseWithSomeNames(skips[1]), p.last());
}

// d * a * d[:, None]; a - b - c: nothing on the way has a name.
TEST(PossibleNames, TermsOfAnExpressionHaveNone) {
  LoweredProgram p;
  const TensorId degree = p.Run("conv", {p.input()}, "m");
  const TensorId product = p.Run("mul", {degree, p.input()}, "m");
  const TensorId column = p.Run("unsqueeze", {degree}, "m");
  const TensorId scaled = p.Run("mul", {product, column}, "m");
  p.Run("mean", {scaled}, "m");
  p.Run("cos", {p.input()}, "m");
  EXPECT_EQ(p.ReleaseWithSomeNames(product), 3) << "where it is read";
  EXPECT_EQ(p.ReleaseAtMost(product), p.last());
  EXPECT_EQ(p.ReleaseWithSomeNames(scaled), p.last()) << "what the expression gives may have one";
}

// x = self.up(torch.cat([F.interpolate(x), skip], 1))
TEST(PossibleNames, WhatIsJoinedForTheNextCallHasNone) {
  LoweredProgram p;
  const TensorId skip = p.Run("conv", {p.input()}, "m > m.down", {2, 8});
  const TensorId low = p.Run("linear", {skip}, "m > m.middle", {2, 4});
  const TensorId high = p.Run("upsample", {low}, "m", {2, 8});
  const TensorId joined = p.Run("cat", {high, skip}, "m", {2, 16});
  p.Run("conv", {joined}, "m > m.up", {2, 8});
  p.Run("cos", {p.input()}, "m");
  EXPECT_EQ(p.ReleaseWithSomeNames(joined), 4) << "until the call returns";
  EXPECT_EQ(p.ReleaseWithSomeNames(high), p.Release(high).first) << "no longer than likely";
  EXPECT_EQ(p.ReleaseAtMost(joined), p.last());
}

// a = self.a(x); b = self.b(a).tile(2); y = torch.cat([a, b], 1); z = y.sort(): two names, beside that of the chain.
TEST(PossibleNames, TwoValuesMadeToBeJoinedHaveTwo) {
  LoweredProgram p;
  const TensorId a = p.Run("conv", {p.input()}, "m > m.a", {2, 8});
  const TensorId b = p.Run("repeat", {p.input()}, "m", {2, 8});
  const TensorId joined = p.Run("cat", {a, b}, "m", {2, 16});
  p.Run("cumsum", {joined}, "m", {2, 16});
  p.Run("cos", {p.input()}, "m");
  for (TensorId id : {a, b, joined}) EXPECT_EQ(p.ReleaseWithSomeNames(id), p.last());
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

// x = self.conv1(x); x = self.conv2(x): two are no row.
TEST(PossibleNames, TwoNumberedModulesAreNoRow) {
  LoweredProgram p;
  TensorId x = p.input(), first;
  for (const char* block : {"block1", "block2"}) {
    x = p.Run("conv", {x}, absl::StrCat(block, " > ", block, ".conv"));
    x = p.Run("relu", {x}, absl::StrCat(block, " > ", block, ".act"));
    if (!first.valid()) first = x;
  }
  p.Run("mean", {x});
  EXPECT_LT(p.ReleaseWithSomeNames(first), p.last());
}

// outs = [x]; y = self.layers(x, outs), where layers, a container, runs outs.append(layer(outs[-1])) and joins them:
// the caller has the list. Where the container joins nothing that it was given, there is no such list.
TEST(PossibleNames, AContainerMayHaveItsListFromTheCaller) {
  const auto release = [](bool joins_argument) {
    LoweredProgram p;
    const TensorId x = p.Run("conv", {p.input()}, "block > block.stem");
    const TensorId a = p.Run("conv", {x}, "block > block.layers > block.layers.0");
    const TensorId b = p.Run("conv", {a}, "block > block.layers > block.layers.1");
    const TensorId y = p.Run("cat", {joins_argument ? x : b, a, b}, "block > block.layers", {2, 12});
    p.Run("conv", {y}, "block > block.last");  // 4
    p.Run("cos", {p.input()});
    EXPECT_EQ(p.Release(a).first, 3) << "likely: as long as it is read";
    return p.ReleaseWithSomeNames(a);
  };
  EXPECT_EQ(release(true), 4);
  EXPECT_EQ(release(false), 3);
}

// features = self.encoder(x); return self.head(features[0], features[-1]): the list has the stage between as well,
// until the caller returns, whatever source lines call it meanwhile.
TEST(PossibleNames, AnEncoderMayHandOutAllItsStages) {
  LoweredProgram p;
  const TensorId first = p.Run("conv", {p.input()}, "encoder > encoder.s1", {2, 4, 8, 8});
  const TensorId middle = p.Run("conv", {first}, "encoder > encoder.s2", {2, 4, 4, 4});
  const TensorId last = p.Run("conv", {middle}, "encoder > encoder.s3", {2, 4, 2, 2});
  const TensorId large = p.Run("upsample", {last}, "head", {2, 4, 8, 8});
  p.Run("mul", {large, first}, "head", {2, 4, 8, 8});
  p.Run("cos", {p.input()});
  EXPECT_EQ(p.ReleaseWithSomeNames(middle), p.last());
  p.OnLines(first, {"x = self.encoder(x)", "x = self.s1(x)"});
  p.OnLines(middle, {"x = self.encoder(x)", "x = self.s2(x)"});
  p.OnLines(last, {"x = self.encoder(x)", "x = self.s3(x)"});
  EXPECT_EQ(p.ReleaseWithSomeNames(middle), p.last());
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
