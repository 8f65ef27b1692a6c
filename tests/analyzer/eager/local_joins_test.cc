// Names of values that wait for another one, and which name the result of a join takes over.
#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "tests/analyzer/eager/lowered_program.h"

namespace onnx_mem::eager {
namespace {

using Program = LoweredProgram;
using Nodes = std::pair<int32_t, int32_t>;

// gap = x.sum(1); a = f(gap); out = (x * a).sum(1) in a module, with or without a view of `a` in the product.
Nodes ReleaseOfWeighted(bool shaped) {
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "m > first");        // 0
  const TensorId gap = p.Run("sum", {x}, "m");                       // 1
  TensorId a = p.Run("conv", {gap}, "m > f");                        // 2
  if (shaped) a = p.Run("reshape", {a}, "m");                        // 3
  const TensorId product = p.Run("mul", {x, a}, "m");                // 4
  const TensorId sum = p.Run("sum", {product}, "m", {2, 2});         // 5
  p.Run("conv", {sum}, "last");                                      // 6
  return p.Release(x);
}

TEST(LocalJoins, AWeightedSumHoldsItsOperandsUntilItIsDone) {
  EXPECT_EQ(ReleaseOfWeighted(true), Nodes(5, 4)) << "(x * a.view(...)).sum(1)";
  EXPECT_EQ(ReleaseOfWeighted(false), Nodes(3, 3)) << "x = x * a; x = x.sum(1)";
}

TEST(LocalJoins, WhatIsJoinedBehindAnArgumentHasAName) {  // x1 = self.up(x1); x = torch.cat([x2, x1]); self.conv(x)
  Program p;
  const TensorId skip = p.Run("conv", {p.input()}, "skip");        // 0
  const TensorId up = p.Run("conv", {p.input()}, "m > up");        // 1
  const TensorId joined = p.Run("cat", {skip, up}, "m", {4, 4});   // 2
  const TensorId out = p.Run("conv", {joined}, "m > conv");        // 3
  p.Run("conv", {out}, "last");                                    // 4
  EXPECT_EQ(p.Release(up), Nodes(3, 2));
}

TEST(LocalJoins, LongOperandsOfADifferenceHaveNames) {  // a = e.sum(1) ** 2; b = (e ** 2).sum(1); f(a - b)
  Program p;
  const TensorId e = p.Run("conv", {p.input()}, "first");
  const TensorId sum = p.Run("sum", {e});
  const TensorId a = p.Run("pow_scalar", {sum});
  const TensorId square = p.Run("pow_scalar", {e});
  const TensorId b = p.Run("sum", {square});
  const TensorId difference = p.Run("sub", {a, b});  // 5
  p.Run("conv", {difference}, "f");                  // 6
  EXPECT_EQ(p.Release(a), Nodes(6, 5));
  EXPECT_EQ(p.Release(b), Nodes(6, 5));
  EXPECT_EQ(p.Release(square), Nodes(4, 4));
}

TEST(LocalJoins, CodeThatNestsOneLayerNestsTheOthers) {  // out = F.relu(self.bn1(self.conv1(x))); self.bn2(self.conv2(out))
  for (std::string_view activation : {"m", "m > relu"}) {
    Program p;
    const TensorId c = p.Run("conv", {p.input()}, "m > conv1");  // 0
    const TensorId n = p.Run("batch_norm", {c}, "m > bn1");      // 1
    const TensorId r = p.Run("relu", {n}, activation);           // 2
    const TensorId c2 = p.Run("conv", {r}, "m > conv2");         // 3
    const TensorId n2 = p.Run("batch_norm", {c2}, "m > bn2");    // 4
    p.Run("conv", {n2}, "last");
    EXPECT_EQ(p.Release(r), activation == "m" ? Nodes(4, 3) : Nodes(3, 3)) << "a module of its own is a statement";
  }
}

TEST(LocalJoins, AScaleBelongsToTheCallItFollows) {  // out = self.f(out) * 2
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "first");
  const TensorId f = p.Run("conv", {x}, "f");
  const TensorId scaled = p.Run("mul_scalar", {f});
  p.Run("conv", {scaled}, "last");
  EXPECT_EQ(p.Release(x), Nodes(2, 1));
}

}  // namespace
}  // namespace onnx_mem::eager
