// Names of values that wait for another one, and which name the result of a join takes over.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/analyzer/assume/names/lowered_program.h"

namespace onnx_mem::names {
namespace {

using Program = LoweredProgram;
using Nodes = std::pair<int32_t, int32_t>;

// gap = x.sum(1); a = f(gap); out = (x * a).sum(1) in a module, with or without a view of `a` in the product.
Nodes ReleaseOfWeighted(bool shaped) {
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "m > first");  // 0
  const TensorId gap = p.Run("sum", {x}, "m");                 // 1
  TensorId a = p.Run("conv", {gap}, "m > f");                  // 2
  if (shaped) a = p.Run("reshape", {a}, "m");                  // 3
  const TensorId product = p.Run("mul", {x, a}, "m");          // 4
  const TensorId sum = p.Run("sum", {product}, "m", {2, 2});   // 5
  p.Run("conv", {sum}, "last");                                // 6
  return p.Release(x);
}

TEST(LocalJoins, AWeightedSumHoldsItsOperandsUntilItIsDone) {
  EXPECT_EQ(ReleaseOfWeighted(true), Nodes(5, 4)) << "(x * a.view(...)).sum(1)";
  EXPECT_EQ(ReleaseOfWeighted(false), Nodes(3, 3)) << "x = x * a; x = x.sum(1)";
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

TEST(LocalJoins, ASumOfThreeTermsIsOneExpression) {  // d = (z ** 2).sum(1) + (c ** 2).sum(1) - 2 * m
  Program p;
  const TensorId a = p.Run("sum", {p.Run("pow_scalar", {p.Run("conv", {p.input()}, "z")})});    // 0 to 2
  const TensorId b = p.Run("sum", {p.Run("pow_scalar", {p.Run("conv", {p.input()}, "c")})});    // 3 to 5
  const TensorId sum = p.Run("add", {a, b});                                                     // 6
  const TensorId twice = p.Run("mul_scalar", {p.Run("mul_scalar", {p.Run("conv", {p.input()}, "m")})});  // 7 to 9
  p.Run("conv", {p.Run("sub", {sum, twice})}, "f");                                              // 10, 11
  EXPECT_EQ(p.Release(sum), Nodes(10, 10));
  EXPECT_EQ(p.Release(twice), Nodes(10, 10));
}

TEST(LocalJoins,
     CodeThatNestsOneLayerNestsTheOthers) {  // out = F.relu(self.bn1(self.conv1(x))); self.bn2(self.conv2(out))
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

TEST(LocalJoins, ResultsOfOneCallAreUnpacked) {  // for b in self.blocks: y, s = b(y); total = total + s
  Program p;
  TensorId y = p.Run("conv", {p.input()}, "first"), total = y;  // 0
  std::vector<TensorId> skips;
  for (std::string_view name : {"b.0", "b.1", "b.2"}) {
    const std::string block(name);
    const TensorId next = p.Run("conv", {y}, block + " > " + block + ".res");  // 1, 4, 7
    skips.push_back(p.Run("conv", {y}, block + " > " + block + ".skip"));      // 2, 5, 8
    total = p.Run("add", {total, skips.back()});                               // 3, 6, 9
    y = next;
  }
  const TensorId out = p.Run("conv", {total}, "out");  // 10
  p.Run("conv", {out}, "last");
  EXPECT_EQ(p.Release(skips[1]).second, 6);
  EXPECT_EQ(p.Release(skips[1]).first, 8) << "until the next round unpacks another";
}

TEST(LocalJoins, APreactivationThatOneModuleMakesHasAName) {  // p = self.norm1(x); y = self.conv1(p); return y + x
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "first");              // 0
  const TensorId n = p.Run("batch_norm", {x}, "m > m.norm1");          // 1
  const TensorId a = p.Run("relu", {n}, "m > m.norm1 > m.norm1.act");  // 2
  const TensorId y = p.Run("conv", {a}, "m > m.conv1");                // 3
  const TensorId sum = p.Run("add", {y, x}, "m");                      // 4
  p.Run("conv", {sum}, "last");
  EXPECT_EQ(p.Release(a), Nodes(4, 3));
  EXPECT_EQ(p.Release(n), Nodes(2, 2)) << "inside the module";
}

TEST(LocalJoins, APreactivationOfWhatNobodyNeedsAgainTakesTheNameOver) {  // x = self.norm(x); return self.conv(x)
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "first");                       // 0
  const TensorId n = p.Run("batch_norm", {x}, "m > m.norm");                    // 1
  const TensorId a = p.Run("relu", {n}, "m > m.norm > m.norm.act");             // 2
  const TensorId y = p.Run("conv", {a}, "m > m.conv_dw");                       // 3
  p.Run("conv", {p.Run("conv", {y}, "m > m.conv_pw")}, "last");                 // 4, 5
  EXPECT_EQ(p.Release(a), Nodes(3, 3));
}

TEST(LocalJoins, TheTrunkOfAModelHasAName) {  // f = self.first(x); b = self.tail(self.body(f)); f = f + b; self.up(f)
  Program p;
  const TensorId f = p.Run("conv", {p.input()}, "first");  // 0
  const TensorId body = p.Run("conv", {f}, "body");        // 1
  const TensorId tail = p.Run("conv", {body}, "tail");     // 2
  const TensorId sum = p.Run("add", {f, tail});            // 3
  const TensorId up = p.Run("conv", {sum}, "up");          // 4
  p.Run("conv", {up}, "last");                             // 5
  EXPECT_EQ(p.Release(tail), Nodes(5, 3));
}

TEST(LocalJoins, TwoTablesOfAListHaveNoNames) {  // self.mlp(torch.cat((self.users(u), self.items(i)), -1))
  Program p;
  const TensorId users = p.Run("embedding", {p.input()}, "users");
  const TensorId items = p.Run("embedding", {p.input()}, "items");
  const TensorId joined = p.Run("cat", {users, items}, "", {4, 4});
  p.Run("linear", {joined}, "mlp");
  EXPECT_EQ(p.Release(users), Nodes(2, 2));
}

// for step in self.steps: z, logdet = step(z), where every other step joins its halves the other way round.
TEST(LocalJoins, WhatARoundUnpacksGoesWithTheNextRound) {
  Program p;
  TensorId z = p.input();
  std::vector<TensorId> states;
  for (const char* step : {"steps.0", "steps.1", "steps.2"}) {
    const TensorId half = p.Run("linear", {z}, step);                                        // 0, 4, 8
    const TensorId other = p.Run(states.size() == 1 ? "neg" : "tanh", {half}, step);         // 1, 5, 9
    z = p.Run("cat", states.size() == 1 ? std::vector{other, half} : std::vector{half, other}, step);  // 2, 6, 10
    states.push_back(z);
    p.Run("add", {other, other});  // 3, 7, 11: logdet = logdet + ...
  }
  p.Run("linear", {z}, "last");  // 12
  EXPECT_EQ(p.Release(states[0]), Nodes(6, 6)) << "not until a step that ends alike";
}

}  // namespace
}  // namespace onnx_mem::names
