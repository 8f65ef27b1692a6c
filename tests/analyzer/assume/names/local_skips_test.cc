// Names in encoders and decoders.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/analyzer/assume/names/lowered_program.h"

namespace onnx_mem::names {
namespace {

using Program = LoweredProgram;
using Nodes = std::pair<int32_t, int32_t>;

TEST(LocalSkips, ADenseLayerAddsToOneName) {  // x = stem(x); x = conv(x); x = torch.cat([x, self.f(x)], 1)
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "stem");
  const TensorId y = p.Run("conv", {x}, "conv");
  const TensorId f = p.Run("conv", {y}, "f");
  const TensorId joined = p.Run("cat", {y, f}, "", {4, 4});
  p.Run("conv", {joined}, "last");
  EXPECT_EQ(p.Release(x), Nodes(1, 1));
}

TEST(LocalSkips, CodeThatNeedsSeveralNamesMayNameAll) {  // d1 = ...; d2 = ...; d3 = ...; u1 = self.u1(d3, d2); u2 = ...
  Program p;
  const TensorId d1 = p.Run("conv", {p.input()}, "d1");      // 0
  const TensorId d2 = p.Run("conv", {d1}, "d2");             // 1
  const TensorId d3 = p.Run("conv", {d2}, "d3");             // 2
  const TensorId u1 = p.Run("cat", {d3, d2}, "u1", {4, 4});  // 3
  const TensorId u2 = p.Run("cat", {u1, d1}, "u2", {4, 4});  // 4
  p.Run("conv", {u2}, "last");                               // 5
  EXPECT_EQ(p.Release(u1).first, 4) << "likely x = self.u1(...)";
  EXPECT_EQ(p.ReleaseAtMost(u1), 5);
}

TEST(LocalSkips,
     APartThatReadsTheOtherIsAResidual) {  // f2 = self.fire2(x); f3 = self.fire3(f2) + f2; f4 = self.fire4(f3)
  Program p;
  const TensorId f2 = p.Run("conv", {p.input()}, "fire2");  // 0
  const TensorId f3 = p.Run("conv", {f2}, "fire3");         // 1
  const TensorId sum = p.Run("add", {f3, f2}, "");          // 2
  p.Run("conv", {sum}, "fire4");                            // 3
  p.Run("conv", {p.input()}, "last");                       // 4
  EXPECT_EQ(p.Release(f3), Nodes(2, 2)) << "a part of the expression";
  EXPECT_EQ(p.ReleaseAtMost(f2), 4);
}

// hs.append(h); ...; h = self.block(torch.cat([h, hs.pop()], 1)), two skips of each size: diffusion models.
TEST(LocalSkips, AStackHandsEachSkipOutOnce) {
  Program p;
  TensorIds stack;
  TensorId h = p.input();
  const auto size = [](int level) { return Dims{2, 4, 16 >> level, 16 >> level}; };
  for (int i = 0; i < 4; ++i) {  // 0 to 3
    h = p.Run("conv", {h}, "down." + std::to_string(i), size(i / 2));
    stack.push_back(h);
  }
  h = p.Run("conv", {h}, "mid", size(1));  // 4
  std::vector<int32_t> joins;
  TensorId before;                // the second join
  for (int i = 3; i >= 0; --i) {  // 5 to 12
    if (i == 2) before = h;
    h = p.Run("cat", {h, stack[static_cast<size_t>(i)]}, "", size(i / 2));
    joins.push_back(p.last());
    h = p.Run("conv", {h}, "up." + std::to_string(3 - i), size(i / 2));
  }
  p.Run("conv", {h}, "last");
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(p.Release(stack[i]).first, joins[3 - i]);
  EXPECT_EQ(p.Release(before).first, joins[1] + 1) << "h has its name until the block has run";
}

// x = F.interpolate(x); x = torch.cat([skip, x], 1); x = self.dec(x), where dec begins with a norm (3-D U-Nets).
TEST(LocalSkips, WhatIsScaledForASkipLeavesNoName) {
  Program p;
  const TensorId skip = p.Run("conv", {p.input()}, "enc.0");   // 0
  const TensorId deep = p.Run("conv", {skip}, "enc.1");        // 1
  const TensorId scaled = p.Run("upsample", {deep});           // 2
  const TensorId joined = p.Run("cat", {skip, scaled});        // 3
  const TensorId norm = p.Run("group_norm", {joined}, "dec");  // 4
  const TensorId narrow = p.Run("conv", {norm}, "dec");        // 5
  const TensorId act = p.Run("relu", {narrow}, "dec");         // 6
  p.Run("conv", {act}, "last");                                // 7
  EXPECT_EQ(p.Release(scaled), Nodes(3, 3));
  EXPECT_EQ(p.Release(joined), Nodes(6, 6)) << "a block that begins with a norm is no norm";
}

}  // namespace
}  // namespace onnx_mem::names
