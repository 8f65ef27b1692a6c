// Names that Python's order of evaluation or written-out attention tells of.
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

TEST(LocalOrder,
     WhatWaitsWhileAnotherIsMadeHasAName) {  // c = self.conv(i); y = self.fc(self.act(i) * torch.cat((i, c)))
  Program p;
  const TensorId i = p.Run("linear", {p.input()}, "m > m.in");       // 0
  const TensorId c = p.Run("conv", {i}, "m > m.conv");               // 1
  const TensorId a = p.Run("gelu", {i}, "m > m.act", {4, 4});        // 2
  const TensorId joined = p.Run("cat", {i, c}, "m", {4, 4});         // 3
  const TensorId product = p.Run("mul", {a, joined}, "m", {4, 4});   // 4
  const TensorId fc = p.Run("linear", {product}, "m > m.fc");        // 5
  p.Run("linear", {fc}, "last");                                     // 6
  EXPECT_EQ(p.Release(c), Nodes(5, 3)) << "an unnamed one would have been made after the activation";
  EXPECT_EQ(p.Release(a), Nodes(4, 4)) << "a part of the expression";
}

TEST(LocalOrder,
     AStatementOnOneNameTakesItOver) {  // a = self.f(x); b = self.g(x); a = a.exp(); b = b.exp(); a * c + b * d
  Program p;
  const TensorId a = p.Run("linear", {p.input()}, "m > m.f");    // 0
  const TensorId b = p.Run("linear", {p.input()}, "m > m.g");    // 1
  const TensorId a2 = p.Run("exp", {a}, "m");                    // 2
  const TensorId b2 = p.Run("exp", {b}, "m");                    // 3
  const TensorId a3 = p.Run("mul", {p.input(), a2}, "m");        // 4
  const TensorId b3 = p.Run("mul", {p.input(), b2}, "m");        // 5
  const TensorId sum = p.Run("add", {a3, b3}, "m");              // 6
  const TensorId proj = p.Run("linear", {sum}, "m > m.proj");    // 7
  p.Run("linear", {proj}, "last");                               // 8
  EXPECT_EQ(p.Release(a), Nodes(2, 2));
  EXPECT_EQ(p.Release(a2), Nodes(7, 4)) << "until m returns";
}

TEST(LocalOrder, AMaskIsFilledIntoWhatStandsBeforeIt) {  // (q @ k).masked_fill(mask == 0, -inf)
  Program p;
  const TensorId scores = p.Run("mul_scalar", {p.input()}, "m");     // 0
  const TensorId mask = p.Run("compare", {p.input()}, "m");          // 1
  const TensorId filled = p.Run("where", {mask, scores}, "m");       // 2
  const TensorId sum = p.Run("add", {filled, p.input()}, "m");       // 3
  const TensorId proj = p.Run("linear", {sum}, "m > m.proj");        // 4
  p.Run("linear", {proj}, "last");                                   // 5
  EXPECT_EQ(p.Release(scores), Nodes(2, 2));
}

TEST(LocalOrder, NormalizedAndScaledOperandsOfAProductHaveNoNames) {  // F.normalize(q) @ k; (k * scale) @ v; k + v
  Program p;
  const TensorId q = p.Run("linear", {p.input()}, "m > m.q");    // 0
  const TensorId k = p.Run("linear", {p.input()}, "m > m.k");    // 1
  const TensorId norm = p.Run("norm", {q}, "m");                 // 2
  const TensorId unit = p.Run("div", {q, norm}, "m");            // 3
  const TensorId first = p.Run("matmul", {unit, k}, "m");        // 4
  const TensorId scaled = p.Run("mul_scalar", {k}, "m");         // 5
  const TensorId second = p.Run("matmul", {scaled, first}, "m");  // 6
  const TensorId sum = p.Run("add", {k, second}, "m");           // 7
  const TensorId proj = p.Run("linear", {sum}, "m > m.proj");    // 8
  p.Run("linear", {proj}, "last");                               // 9
  EXPECT_EQ(p.Release(unit), Nodes(4, 4));
  EXPECT_EQ(p.Release(q), Nodes(8, 3)) << "what is normalized for the product has a name";
  EXPECT_EQ(p.Release(norm), Nodes(3, 3));
  EXPECT_EQ(p.Release(scaled), Nodes(6, 6));
  EXPECT_EQ(p.Release(k).first, 8) << "an operand of a product has a name";
}

TEST(LocalOrder, WhatIsProjectedKeepsItsNameUntilAttentionTakesItOver) {  // x = self.norm(x); qkv = self.qkv(x); ...
  Program p;
  const TensorId x = p.Run("layer_norm", {p.input()}, "m > m.norm");    // 0
  const TensorId qkv = p.Run("linear", {x}, "m > m.qkv", {2, 8});       // 1
  const TensorId q = p.Run("slice", {qkv}, "m");                        // 2
  const TensorId k = p.Run("slice", {qkv}, "m");                        // 3
  const TensorId scores = p.Run("matmul", {q, k}, "m");                 // 4
  const TensorId weights = p.Run("softmax", {scores}, "m");             // 5
  const TensorId out = p.Run("matmul", {weights, k}, "m");              // 6
  const TensorId flat = p.Run("reshape", {out}, "m");                   // 7
  const TensorId proj = p.Run("linear", {flat}, "m > m.proj");          // 8
  p.Run("linear", {proj}, "last");                                      // 9
  EXPECT_EQ(p.Release(x), Nodes(7, 1));
}

// group(x) three times, whose layer is one module: the exporter numbers calls inside, the group not at all.
TEST(LocalOrder, ModulesInsideSayWhichCallOfASharedModuleItIs) {
  Program p;
  std::vector<TensorId> results;
  TensorId x = p.Run("linear", {p.input()}, "first");  // 0
  const std::string_view calls[][2] = {{"g > g.0 > g.0.f", "g > g.0"},
                                       {"g > g.0 > g.0.f_1", "g > g.0_1"},
                                       {"g > g.0_1 > g.0.f_2", "g > g.0_2"}};
  for (const auto& [inner, outer] : calls) {
    const TensorId f = p.Run("linear", {x}, inner);  // 1, 3, 5
    x = p.Run("add", {x, f}, outer);                 // 2, 4, 6
    results.push_back(x);
  }
  p.Run("linear", {x}, "last");  // 7
  EXPECT_EQ(p.Release(results[0]), Nodes(4, 4)) << "an argument of the second call alone";
  EXPECT_EQ(p.Release(results[1]), Nodes(6, 6));
}

// x = x + self.attend(self.norm(x)); x = x + self.mlp(x): attention in a block's own code.
TEST(LocalOrder, AttentionBesideAModuleIsAMethod) {
  for (const bool is_module : {true, false}) {
    Program p;
    const std::string mlp = is_module ? "b > b.mlp > b.mlp." : "b > b.";
    const TensorId x = p.Run("linear", {p.input()}, "first");           // 0
    const TensorId q = p.Run("linear", {x}, "b > b.q");                 // 1
    const TensorId k = p.Run("linear", {x}, "b > b.k");                 // 2
    const TensorId scores = p.Run("matmul", {q, k}, "b");               // 3
    const TensorId weights = p.Run("softmax", {scores}, "b");           // 4
    const TensorId out = p.Run("matmul", {weights, k}, "b");            // 5
    const TensorId proj = p.Run("linear", {out}, "b > b.proj");         // 6
    const TensorId sum = p.Run("add", {x, proj}, "b");                  // 7
    const TensorId up = p.Run("linear", {sum}, mlp + "up");             // 8
    const TensorId down = p.Run("linear", {up}, mlp + "down");          // 9
    const TensorId last = p.Run("add", {sum, down}, "b");               // 10
    p.Run("linear", {last}, "last");                                    // 11
    EXPECT_EQ(p.Release(weights).first, is_module ? 6 : 10);
  }
}

TEST(LocalOrder, WhoDividesScoresHasANameForThem) {  // scores = q @ k / math.sqrt(d); probs = softmax(scores)
  for (std::string_view scale : {"div_scalar", "mul_scalar"}) {
    Program p;
    const TensorId q = p.Run("linear", {p.input()}, "m > m.q");    // 0
    const TensorId k = p.Run("linear", {p.input()}, "m > m.k");    // 1
    const TensorId product = p.Run("matmul", {q, k}, "m");         // 2
    const TensorId scores = p.Run(scale, {product}, "m");          // 3
    const TensorId weights = p.Run("softmax", {scores}, "m");      // 4
    const TensorId out = p.Run("matmul", {weights, k}, "m");       // 5
    const TensorId proj = p.Run("linear", {out}, "m > m.proj");    // 6
    p.Run("linear", {proj}, "last");                               // 7
    EXPECT_EQ(p.Release(scores), scale == "div_scalar" ? Nodes(6, 4) : Nodes(4, 4));
  }
}

TEST(LocalOrder, ASoftmaxModuleOfASumTakesItsNameOver) {  // attn = attn + bias; attn = self.softmax(attn); x = attn @ v
  for (std::string_view op : {"add", "mul_scalar"}) {
    Program p;
    const TensorId v = p.Run("linear", {p.input()}, "m > m.v");              // 0
    const TensorId dots = p.Run(op, {p.input(), p.input()}, "m");            // 1
    const TensorId attn = p.Run("softmax", {dots}, "m > m.attend");          // 2
    const TensorId out = p.Run("matmul", {attn, v}, "m");                    // 3
    const TensorId proj = p.Run("linear", {out}, "m > m.proj");              // 4
    p.Run("linear", {proj}, "last");                                         // 5
    EXPECT_EQ(p.Release(dots).first, op == "add" ? 2 : 3);
  }
}

TEST(LocalOrder, AnActivationBesideAttentionIsCalledOnACall) {  // x = self.act(self.fc1(x)); x = self.fc2(x)
  Program p;
  const TensorId h = p.Run("matmul", {p.input(), p.input()}, "l > l.attn");         // 0
  const TensorId x = p.Run("layer_norm", {h}, "l > l.norm", {2, 3, 4});             // 1
  const TensorId up = p.Run("linear", {x}, "l > l.fc1", {2, 3, 4});                 // 2
  const TensorId act = p.Run("gelu", {up}, "l > l.act", {2, 3, 4});                 // 3
  const TensorId down = p.Run("linear", {act}, "l > l.fc2", {2, 3, 4});             // 4
  p.Run("linear", {down}, "last");                                                  // 5
  EXPECT_EQ(p.Release(x), Nodes(3, 2));
}

TEST(LocalOrder, TheLastStatementOfAModelHoldsWhatGoesIn) {  // return self.head(self.norm(x)[:, 0])
  Program p;
  const TensorId x = p.Run("linear", {p.input()}, "blocks.0");  // 0
  const TensorId n = p.Run("layer_norm", {x}, "norm");          // 1
  const TensorId first = p.Run("select", {n});                  // 2
  p.Run("linear", {first}, "head");                             // 3
  EXPECT_EQ(p.Release(x), Nodes(3, 1));
}

// scores = scores + bias; probs = softmax(scores); probs = self.dropout(probs), beside three projections.
TEST(LocalOrder, ScoresBesideSeparateProjectionsHaveANameOfTheirOwn) {
  for (std::string_view dropped_by : {"module", "function"}) {
    Program p;
    const TensorId q = p.Run("linear", {p.input()}, "m > m.query");    // 0
    const TensorId k = p.Run("linear", {p.input()}, "m > m.key");      // 1
    const TensorId v = p.Run("linear", {p.input()}, "m > m.value");    // 2
    const TensorId product = p.Run("matmul", {q, k}, "m");             // 3
    const TensorId scores = p.Run("add", {product, p.input()}, "m");   // 4
    const TensorId probs = p.Run("softmax", {scores}, "m");            // 5
    p.Say(probs, "dropout", std::string(dropped_by));
    const TensorId out = p.Run("matmul", {probs, v}, "m");             // 6
    const TensorId flat = p.Run("reshape", {out}, "m");                // 7
    p.Run("linear", {flat}, "last");                                   // 8
    EXPECT_EQ(p.Release(scores), dropped_by == "module" ? Nodes(7, 5) : Nodes(5, 5));
  }
}

TEST(LocalOrder, AJoinedListHasANameWhereArithmeticReadsIt) {  // c = torch.cat(parts, 1); y = F.pad(q * c.view(...))
  for (std::string_view op : {"mul", "relu"}) {
    Program p;
    const TensorId q = p.Run("linear", {p.input()}, "m > m.q");                                      // 0
    std::vector<TensorId> parts;
    for (std::string_view conv : {"m > m.0", "m > m.1", "m > m.2"})
      parts.push_back(p.Run("conv", {q}, conv));                                                     // 1 to 3
    const TensorId joined = p.Run("cat", parts, "m", {6, 4});                                        // 4
    const TensorId viewed = p.Run("reshape", {joined}, "m", {6, 4});                                 // 5
    const TensorId y = p.Run(op, op == "mul" ? std::vector{q, viewed} : std::vector{viewed}, "m", {6, 4});  // 6
    const TensorId padded = p.Run("pad", {y}, "m", {7, 4});                                          // 7
    p.Run("linear", {padded}, "last");                                                               // 8
    EXPECT_EQ(p.Release(viewed).first, op == "mul" ? 7 : 6);
  }
}

// x = torch.bmm(x.transpose(1, 2), self.tnet(x)).transpose(1, 2): PointNet's change of coordinates takes over the name.
TEST(LocalOrder, WhatIsTurnedForAProductAndBackHasNoNameOfItsOwn) {
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "mlp1", {2, 4, 8});                   // 0
  const TensorId turned = p.Run("permute", {x}, "", {2, 8, 4});                       // 1
  const TensorId transform = p.Run("linear", {x}, "tnet", {2, 4, 4});                 // 2
  const TensorId product = p.Run("bmm", {turned, transform}, "", {2, 8, 4});          // 3
  const TensorId back = p.Run("permute", {product}, "", {2, 4, 8});                   // 4
  p.Run("conv", {back}, "mlp2", {2, 4, 8});                                           // 5
  EXPECT_EQ(p.Release(turned).first, 3);
}

}  // namespace
}  // namespace onnx_mem::names
