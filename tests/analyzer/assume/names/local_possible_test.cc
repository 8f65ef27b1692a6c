// Names that forward code may give its values beyond the likely ones.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/analyzer/assume/names/lowered_program.h"

namespace onnx_mem::names {
namespace {

// a = f(x); b = g(a); c = h(b); d = k(c): four names, or one that is given anew.
// ids = x + offsets; u = f(ids) + g(ids): what two statements read stands in no expression, so two have names.
// y = torch.exp(-0.5 * s), x = F.relu(self.conv(x)) have no name for what the function takes; gate * F.silu(up) has.
// residual, skip = layer(x): both have names, whichever is read once; so has what the layer gives alone in its last
// call.
// q = x.reshape(..); k = q.permute(..): two names, one storage.
// outs = []; for layer in self.layers: x = x + layer(x); outs.append(x); return outs[0] * outs[-1]
TEST(PossibleNames, AListMayHaveTheResultsOfAllRounds) {
  LoweredProgram p;
  TensorIds outs = {p.input()};
  for (const char* layer : {"layers.0", "layers.1", "layers.2", "layers.3"}) {
    const TensorId y = p.Run("conv", {outs.back()}, layer);
    outs.push_back(p.Run("add", {outs.back(), y}));
  }
  p.Run("mul", {outs[1], outs.back()});
  EXPECT_EQ(p.ReleaseAtMost(outs[2]), p.last()) << "nothing reads it any more";
  EXPECT_EQ(p.ReleaseAtMost(outs[3]), p.last());
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
  EXPECT_EQ(p.ReleaseAtMost(ks[0]), 8) << "the last of the next batch";
  EXPECT_EQ(p.ReleaseAtMost(ks[1]), 8);
  EXPECT_EQ(p.ReleaseAtMost(ks[4]), p.last());
}

// The same without a list: x = x + layer(x) gives the name anew.
TEST(PossibleNames, WithoutAListEachRoundGivesTheNameAnew) {
  LoweredProgram p;
  TensorId x = p.input(), second;
  for (const char* layer : {"layers.0", "layers.1", "layers.2", "layers.3"}) {
    x = p.Run("add", {x, p.Run("conv", {x}, layer)});
    if (layer == std::string_view("layers.1")) second = x;
  }
  EXPECT_EQ(p.ReleaseAtMost(second), 5) << "the sum of the next round";
}

// out = self.bn1(self.conv1(x)): one name, where y1 = self.conv1(x).tanh(); y2 = self.conv2(y1) has two.
TEST(PossibleNames, ANumberedNormAndWhatItReadsTakeOneName) {
  const auto release = [](std::string_view op, std::string_view name) {
    LoweredProgram p;
    const TensorId c = p.Run("conv", {p.input()}, "conv1");
    const TensorId n = p.Run(op, {c}, name);
    p.Run("conv", {p.Run("relu", {n}, "relu")}, "conv2");
    p.Run("cos", {p.input()});
    return p.ReleaseAtMost(c) == p.last();
  };
  EXPECT_FALSE(release("batch_norm", "bn1"));
  EXPECT_TRUE(release("tanh", "act"));
}

// n = self.norm(x); y = self.attn(n); x = x + y: n is a name of its own, as x is still needed. Where nothing needs it
// any more, x = self.attn(self.norm(x)) has none.
TEST(PossibleNames, WhatANormMakesBesideItsOperandMayHaveAName) {
  for (const bool is_residual : {true, false}) {
    LoweredProgram p;
    const TensorId x = p.Run("conv", {p.input()}, "m.embed");         // 0
    const TensorId n = p.Run("layer_norm", {x}, "m.norm");            // 1
    const TensorId y = p.Run("linear", {n}, "m.attn > m.attn.proj");  // 2
    p.Run("add", {is_residual ? x : y, y});                           // 3
    p.Run("cos", {p.input()});                                        // 4
    EXPECT_EQ(p.ReleaseAtMost(n), is_residual ? 4 : 2);
  }
}

// for layer in self.up: x = layer(x); scales.append(x); return scales, whose last the head takes
TEST(PossibleNames, ADecoderMayReturnAnImageAtAllScales) {
  for (const bool is_larger : {true, false}) {
    LoweredProgram p;
    TensorIds scales = {p.input()};
    for (const int64_t scale : {1, 2, 4}) {
      const std::string layer = absl::StrCat("decoder > decoder.up.", scales.size());
      scales.push_back(p.Run("conv", {scales.back()}, layer, {2, is_larger ? 4 * scale : 4}));
    }
    p.Run("conv", {scales.back()}, "head > head.a");
    p.Run("conv", {p.input()}, "head > head.b");  // 4
    EXPECT_EQ(p.ReleaseAtMost(scales[1]), is_larger ? 4 : 1);
  }
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
  EXPECT_LT(p.ReleaseAtMost(skips[1]), p.last());
}

// d * a * d[:, None]; a - b - c: nothing on the way has a name.
// x = self.up(torch.cat([F.interpolate(x), skip], 1))
// a = self.a(x); b = self.b(a).tile(2); y = torch.cat([a, b], 1); z = y.sort(): two names, beside that of the chain.
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
  for (TensorId result : build(numbered, "")) EXPECT_EQ(numbered.ReleaseAtMost(result), 8);
  const TensorIds of_list = build(list, ".");
  EXPECT_EQ(list.ReleaseAtMost(of_list[0]), 3) << "for block in self.block: x = block(x)";
}

// y = F.pad(x, p); y1 = self.conv1(y), of which an exporter made one convolution: the pad may have a name in the code
// that calls it.
TEST(PossibleNames, APadThatAnExporterPutIntoAConvolutionMayHaveANameOutside) {
  const auto release_of_first = [](std::string_view op) {
    LoweredProgram p;
    const TensorId first = p.Run(op, {p.input()}, "conv1");
    p.SayFrameworkOp(first, "conv2d");
    const TensorId y = p.Run("conv", {first}, "conv1");
    p.SayFrameworkOp(y, "conv2d");
    p.Run("mean", {p.Run("relu", {y})});
    return p.ReleaseAtMost(first);
  };
  EXPECT_EQ(release_of_first("pad"), 3);
  EXPECT_EQ(release_of_first("mul"), 1) << "a part of what the module runs";
}

// x = self.conv1(x); x = self.conv2(x): two are no row.
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
    return p.ReleaseAtMost(a);
  };
  EXPECT_EQ(release(true), 4);
  EXPECT_EQ(release(false), 3);
}

// x = self.a(x); x = self.b(x); ys = [..]: a function may put all that it has into a list of its own, one that a
// container passes on (a Sequential) excepted.
TEST(PossibleNames, AFunctionMayListAllItsValues) {
  LoweredProgram p;
  TensorId x = p.input();
  TensorIds passed_on;
  for (const char* layer : {"body > body.0", "body > body.1"}) passed_on.push_back(x = p.Run("conv", {x}, layer));
  const TensorId first = p.Run("conv", {x}, "a");
  const TensorId second = p.Run("conv", {first}, "b");
  p.Run("mean", {p.Run("conv", {second}, "c")});
  EXPECT_LT(p.ReleaseAtMost(first), p.last()) << "x = self.b(x)";
  EXPECT_EQ(p.ReleaseWithLists(first), p.last());
  EXPECT_EQ(p.ReleaseWithLists(second), p.last());
  EXPECT_LT(p.ReleaseWithLists(passed_on[0]), 2) << "for module in self: input = module(input)";
}

// x = self.proj(x); a, b = self.conv(x).chunk(2); x = a * b: what is cut has no name that it could take over.
TEST(PossibleNames, WhatIsTakenApartLeavesTheNameOfTheOperand) {
  for (const bool is_cut : {true, false}) {
    LoweredProgram p;
    const TensorId x = p.Run("conv", {p.input()}, "m > m.proj");                     // 0
    const TensorId y = p.Run("conv", {x}, "m > m.conv");                             // 1
    const TensorId a = is_cut ? p.Run("split", {y}, "m") : p.Run("tanh", {y}, "m");  // 2
    p.Run("mul", {a, p.Run("relu", {a}, "m")}, "m");                                 // 3, 4
    EXPECT_EQ(p.ReleaseAtMost(x), is_cut ? 4 : 2) << is_cut;
  }
}

}  // namespace
}  // namespace onnx_mem::names
