// Which node is the last at which a variable of forward code still holds a value.
#include "analyzer/assume/names/locals.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/analyzer/assume/names/lowered_program.h"

namespace onnx_mem::names {
namespace {

using Program = LoweredProgram;
using Nodes = std::pair<int32_t, int32_t>;

TEST(Locals, AFunctionAroundACallHoldsWhatWentIn) {  // x = F.relu(self.bn(self.conv(x)))
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "first");  // 0
  const TensorId c = p.Run("conv", {x}, "conv");           // 1
  const TensorId n = p.Run("batch_norm", {c}, "bn");       // 2
  const TensorId r = p.Run("relu", {n});                   // 3
  p.Run("conv", {r}, "last");                              // 4
  EXPECT_EQ(p.Release(x), Nodes(3, 1));
  EXPECT_EQ(p.Release(c), Nodes(2, 2)) << "made on the way: no name";
}

TEST(Locals, ModulesOneAfterTheOtherAreStatements) {  // x = self.conv(x); x = self.bn(x); x = self.act(x)
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "first");
  const TensorId c = p.Run("conv", {x}, "conv");
  const TensorId n = p.Run("batch_norm", {c}, "bn");
  p.Run("relu", {n}, "act");
  EXPECT_EQ(p.Release(x), Nodes(1, 1));
}

TEST(Locals, ModulesOneAfterTheOtherMayBeNested) {  // x = self.relu(self.bn(self.conv(x)))
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "first");  // 0
  const TensorId c = p.Run("conv", {x}, "conv");           // 1
  const TensorId n = p.Run("batch_norm", {c}, "bn");       // 2
  const TensorId r = p.Run("relu", {n}, "relu");           // 3
  p.Run("conv", {r}, "last");                              // 4
  EXPECT_EQ(p.Release(x), Nodes(1, 1));
  EXPECT_EQ(p.ReleaseAtMost(x), 3);
}

// h = self.dropout(h); h = self.norm(h + x): h has its name until the norm has run.
TEST(Locals, WhatANormReadsASumOfIsHeld) {
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "first");  // 0
  const TensorId h = p.Run("conv", {x}, "dense");          // 1
  const TensorId sum = p.Run("add", {h, x});               // 2
  const TensorId n = p.Run("layer_norm", {sum}, "norm");   // 3
  p.Run("conv", {n}, "last");                              // 4
  EXPECT_EQ(p.Release(h).first, 3);
}

TEST(Locals, AConcatenationInAnArgumentBelongsToTheCall) {  // x = self.u(torch.cat([s, self.up(x)]))
  Program p;
  const TensorId s = p.Run("conv", {p.input()}, "s");      // 0
  const TensorId x = p.Run("conv", {s}, "down");           // 1
  const TensorId up = p.Run("conv", {x}, "up");            // 2
  const TensorId cat = p.Run("cat", {s, up}, "", {4, 4});  // 3
  const TensorId u = p.Run("conv", {cat}, "u");            // 4
  p.Run("conv", {u}, "last");                              // 5
  EXPECT_EQ(p.Release(x), Nodes(4, 2));
  EXPECT_EQ(p.Release(up), Nodes(3, 3)) << "made on the way: no name";
}

TEST(Locals, AListThatIsConcatenatedLivesOn) {  // f = [b(x) for b in self.branches]; x = torch.cat(f); self.project(x)
  Program p;
  TensorIds parts;
  for (std::string_view branch : {"m > m.0", "m > m.1", "m > m.2"}) parts.push_back(p.Run("conv", {p.input()}, branch));
  const TensorId cat = p.Run("cat", parts, "m", {6, 4});  // 3
  p.Run("conv", {cat}, "m > m.project");                  // 4
  p.Run("conv", {cat}, "last");                           // 5
  EXPECT_EQ(p.Release(parts[1]), Nodes(4, 3)) << "until m returns";
}

// for layer in self.cells: outs = []; for t in steps: outs.append(layer(x)); x = torch.stack(outs, 1)
TEST(Locals, AListOfARoundIsFreedWhenTheNextRoundBeginsItsOwn) {
  Program p;
  const auto round = [&](TensorId x, const std::string& layer) {
    TensorIds outs;
    for (int i = 0; i < 3; ++i) outs.push_back(p.Run("conv", {x}, layer));
    return std::pair(outs, p.Run("cat", outs, "", {6, 8, 4, 4}));
  };
  const auto [outs, joined] = round(p.input(), "cells.0");         // 0 to 3
  const auto [next_outs, next_joined] = round(joined, "cells.1");  // 4 to 7
  p.Run("conv", {p.Run("relu", {next_joined})}, "last");           // 8, 9
  for (TensorId part : outs) EXPECT_EQ(p.Release(part), Nodes(6, 3)) << "at the latest with the next round";
  for (TensorId part : next_outs) EXPECT_EQ(p.Release(part), Nodes(9, 7));
}

// for f in self.f: a, b = f(x).chunk(2); x = a * b, or with one f that is called again and again: f, f_1, f_2.
TEST(Locals, PiecesOfAChunkGoWhenTheLoopAssignsThemAgain) {
  for (const auto& names : {std::array{"f.0", "f.1", "f.2"}, std::array{"f", "f_1", "f_2"}}) {
    Program p;
    TensorId x = p.input();
    TensorIds pieces;
    for (const char* name : names) {
      const TensorId wide = p.Run("conv", {x}, name, {2, 8});  // 0, 4, 8
      pieces.push_back(p.Run("slice", {wide}));                // 1, 5, 9
      pieces.push_back(p.Run("slice", {wide}));                // 2, 6, 10
      x = p.Run("mul", {pieces[pieces.size() - 2], pieces.back()});
    }
    EXPECT_EQ(p.Release(pieces[0]).second, 3);
    EXPECT_GE(p.Release(pieces[0]).first, 5) << "until the next round's chunk";
    EXPECT_LE(p.Release(pieces[0]).first, 6);
    EXPECT_EQ(p.Release(pieces[4]).first, 11) << "the last round's until the function returns";
  }
}

// v = self.factors(i); square = v.sum(1) ** 2; ...; self.mlp(v.flatten(1)): what has another shape takes no name over.
TEST(Locals, WhatSeveralReadKeepsItsName) {
  Program p;
  const TensorId v = p.Run("conv", {p.input()}, "first");                 // 0
  const TensorId square = p.Run("pow_scalar", {v});                       // 1
  const TensorId other = p.Run("sum", {v}, "", {2, 2});                   // 2
  p.Run("mul", {p.Run("sum", {square}, "", {2, 2}), other}, "", {2, 2});  // 3, 4
  p.Run("conv", {p.input()}, "last");                                     // 5
  EXPECT_EQ(p.Release(v), Nodes(5, 2));
}

TEST(Locals, WhatTwoHeadsReadHasAName) {  // mu, logvar = self.mu(h), self.logvar(h)
  Program p;
  const TensorId h = p.Run("conv", {p.input()}, "enc");  // 0
  const TensorId mu = p.Run("conv", {h}, "mu");          // 1
  const TensorId logvar = p.Run("conv", {h}, "logvar");  // 2
  const TensorId z = p.Run("mul", {mu, logvar});         // 3
  p.Run("conv", {z}, "dec");                             // 4
  EXPECT_EQ(p.Release(h), Nodes(4, 2));
}

TEST(Locals, AShortcutDoesNot) {  // s = self.down(x); x = self.conv(x); x = x + s
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "enc");   // 0
  const TensorId s = p.Run("conv", {x}, "down", {1, 4});  // 1
  const TensorId c = p.Run("conv", {x}, "conv");          // 2
  const TensorId sum = p.Run("add", {c, s});              // 3
  p.Run("conv", {sum}, "dec");                            // 4
  EXPECT_EQ(p.Release(x), Nodes(2, 2));
}

TEST(Locals, ASumOfBranchesStandsInTheCallASumWithTheOperandDoesNot) {
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "a");    // 0
  const TensorId f = p.Run("conv", {x}, "f");            // 1
  const TensorId sum = p.Run("add", {x, f});             // 2: x = x + self.f(x)
  const TensorId up = p.Run("conv", {sum}, "b > b.up");  // 3: x = self.b(x)
  p.Run("conv", {up}, "b > b.down");                     // 4
  EXPECT_EQ(p.Release(f).first, 2);
  const TensorId g = p.Run("conv", {p.input()}, "g");       // 5
  const TensorId h = p.Run("conv", {p.input()}, "h");       // 6
  const TensorId both = p.Run("add", {g, h});               // 7: self.c(g + h)
  const TensorId wide = p.Run("conv", {both}, "c > c.up");  // 8
  p.Run("conv", {wide}, "c > c.down");                      // 9
  EXPECT_EQ(p.Release(g).first, 9);
}

TEST(Locals, ANormByNameHoldsTheOperandsOfItsSumToo) {  // y = self.dense(h); y = self.LayerNorm(y + x): a * w + b
  for (const bool is_norm : {true, false}) {
    Program p;
    const std::string name = is_norm ? "out > out.LayerNorm" : "out > out.scale";
    const TensorId x = p.Run("conv", {p.input()}, "before");                // 0
    const TensorId h = p.Run("relu", {x}, "act");                           // 1
    const TensorId y = p.Run("linear", {h}, "out > out.dense");             // 2
    const TensorId sum = p.Run("add", {y, x}, "out");                       // 3
    const TensorId scaled = p.Run("mul", {sum, p.Stored("weight")}, name);  // 4
    p.Run("add", {scaled, p.Stored("bias")}, name);                         // 5
    EXPECT_EQ(p.Release(y).first, is_norm ? 5 : 3);
  }
}

// j = torch.cat(f, 1); return self.c(self.r(self.n(j)))
TEST(Locals, AJoinedListHasANameUntilThePreactivatedLayerIsDone) {
  Program p;
  const TensorId a = p.Run("conv", {p.input()}, "a");
  const TensorId b = p.Run("conv", {p.input()}, "b");
  const TensorId joined = p.Run("cat", {a, b}, "layer", {2, 8});
  const TensorId n = p.Run("batch_norm", {joined}, "layer > layer.n");
  const TensorId r = p.Run("relu", {n}, "layer > layer.r");
  const TensorId c = p.Run("conv", {r}, "layer > layer.c");  // 5
  p.Run("conv", {c}, "layer > layer.d");                     // 6
  EXPECT_EQ(p.Release(joined), Nodes(5, 3));
}

TEST(Locals, ANameThatIsAssignedAnewDoesNotHold) {  // q = self.q(x); k = self.k(x); q = self.n(q); k = self.m(k); q @ k
  Program p;
  const TensorId q = p.Run("linear", {p.input()}, "q");  // 0
  const TensorId k = p.Run("linear", {p.input()}, "k");  // 1
  const TensorId n = p.Run("layer_norm", {q}, "n");      // 2
  const TensorId m = p.Run("layer_norm", {k}, "m");      // 3
  p.Run("matmul", {n, m});                               // 4
  p.Run("linear", {p.input()}, "last");                  // 5
  EXPECT_EQ(p.Release(q), Nodes(2, 2));
}

TEST(Locals, ANodeWithoutAPathRunsInsideTheCallAroundIt) {  // an optimizer has made one split of three slices
  Program p;
  const TensorId wide = p.Run("linear", {p.input()}, "h.0 > h.0.attn > h.0.attn.qkv", {2, 12});  // 0
  const TensorId piece = p.Run("split", {wide});                                                 // 1
  p.Run("bmm", {piece, piece}, "h.0 > h.0.attn");                                                // 2
  p.Run("linear", {p.input()}, "h.0 > h.0.up");                                                  // 3
  p.Run("linear", {p.input()}, "h.1");                                                           // 4
  EXPECT_EQ(p.Release(piece).first, 2) << "until the attention returns, not the model";
}

TEST(Locals, WhatACallHandsToAProductHasNoNameWhatTheCallReadHas) {  // h = F.elu(a @ self.f(h))
  Program p;
  const TensorId a = p.Run("conv", {p.input()}, "a");  // 0
  const TensorId h = p.Run("conv", {p.input()}, "g");  // 1
  const TensorId f = p.Run("linear", {h}, "f");        // 2
  const TensorId product = p.Run("bmm", {a, f});       // 3
  const TensorId e = p.Run("elu", {product});          // 4
  p.Run("linear", {e}, "out");                         // 5
  EXPECT_EQ(p.Release(f), Nodes(3, 3));
  EXPECT_EQ(p.Release(h), Nodes(4, 2)) << "until the statement assigns it anew";
}

TEST(Locals, AtMostEveryValueHasANameButNotTheOnesOfALoop) {
  Program p;
  const TensorId a = p.Run("conv", {p.input()}, "stem");  // 0
  const TensorId b = p.Run("relu", {a});                  // 1
  const TensorId c = p.Run("conv", {b}, "layers.0");      // 2
  const TensorId d = p.Run("conv", {c}, "layers.1");      // 3
  p.Run("linear", {d}, "head");                           // 4
  EXPECT_EQ(p.ReleaseAtMost(a), 4) << "until the function returns";
  EXPECT_EQ(p.ReleaseAtMost(c), 3) << "x = layer(x)";
  EXPECT_EQ(p.Release(a).first, 1) << "likely: nested or assigned anew";
}

TEST(Locals, AContainerNamesNothingALoopInTheModelsCodeMay) {  // self.m = nn.Sequential; for l in self.l: x = l(x) + y
  Program p;
  const TensorId a = p.Run("conv", {p.input()}, "m > m.0");  // 0
  const TensorId b = p.Run("relu", {a}, "m > m.1");          // 1
  const TensorId c = p.Run("conv", {b}, "l.0");              // 2
  const TensorId d = p.Run("relu", {c});                     // 3
  const TensorId e = p.Run("conv", {d}, "l.1");              // 4
  p.Run("linear", {e}, "head");                              // 5
  EXPECT_EQ(p.ReleaseAtMost(a), 1);
  EXPECT_EQ(p.ReleaseAtMost(c), 5) << "until the function returns";
}

TEST(Locals, APartThatIsNotLastHasAName) {  // a = self.blocks(a); self.out(torch.cat([a, b], 1))
  Program p;
  const TensorId b = p.Run("conv", {p.input()}, "b");             // 0
  const TensorId a = p.Run("conv", {p.input()}, "blocks");        // 1
  const TensorId joined = p.Run("cat", {a, b}, "", {2, 8});       // 2
  const TensorId up = p.Run("conv", {joined}, "out > out.conv");  // 3
  p.Run("batch_norm", {up}, "out > out.bn");                      // 4
  EXPECT_EQ(p.Release(a), Nodes(4, 2));
}

TEST(Locals, WhatALaterCallTakesBesideANewerValueHasAName) {  // x1 = self.a(x); x2 = self.b(x1); x = self.up(x2, x1)
  Program p;
  const TensorId x1 = p.Run("conv", {p.input()}, "a");         // 0
  const TensorId x2 = p.Run("conv", {x1}, "b");                // 1
  const TensorId x3 = p.Run("conv", {x2}, "c");                // 2
  const TensorId both = p.Run("cat", {x1, x3}, "up", {2, 8});  // 3
  const TensorId up = p.Run("conv", {both}, "up > up.conv");   // 4
  p.Run("conv", {up}, "out");                                  // 5
  EXPECT_EQ(p.Release(x1), Nodes(5, 4));
}

TEST(Locals, WhatIsLookedUpForAJoinedListHasNoName) {  // torch.cat([e(x) for e in self.tables], 1)
  Program p;
  TensorIds parts;
  for (std::string_view table : {"t.0", "t.1", "t.2"}) parts.push_back(p.Run("embedding", {p.input()}, table));
  const TensorId cat = p.Run("cat", parts, "", {6, 4});  // 3
  p.Run("linear", {cat}, "head");                        // 4
  EXPECT_EQ(p.Release(parts[0]), Nodes(3, 3));
}

TEST(Locals, APositionalEncodingIsMadeInItsList) {  // torch.cat([x] + [f(x * k) for ...], 1)
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "x");                // 0
  const TensorId scaled = p.Run("mul_scalar", {x});                  // 1
  const TensorId sine = p.Run("sin", {scaled});                      // 2
  const TensorId cosine = p.Run("cos", {scaled});                    // 3
  const TensorId cat = p.Run("cat", {x, sine, cosine}, "", {6, 4});  // 4
  p.Run("linear", {cat}, "head");                                    // 5
  p.Run("linear", {cat}, "tail");                                    // 6
  EXPECT_EQ(p.Release(sine), Nodes(4, 4));
  EXPECT_EQ(p.Release(scaled), Nodes(3, 3));
}

TEST(Locals, TokensAndWhatIsScaledUpInAListOfSkipsHaveNoName) {  // torch.cat([a, b, self.up(c)], 1)
  Program p;
  const TensorId a = p.Run("conv", {p.input()}, "a");                   // 0
  const TensorId b = p.Run("conv", {a}, "b");                           // 1
  const TensorId c = p.Run("conv", {b}, "c");                           // 2
  const TensorId up = p.Run("upsample", {c}, "up");                     // 3
  const TensorId cat = p.Run("cat", {a, b, up}, "", {6, 4});            // 4
  const TensorId token = p.Run("expand", {p.input()});                  // 5
  const TensorId x = p.Run("conv", {cat}, "x");                         // 6
  const TensorId joined = p.Run("cat", {token, token, x}, "", {6, 4});  // 7
  p.Run("conv", {joined}, "last");                                      // 8
  EXPECT_EQ(p.Release(up), Nodes(4, 4));
  EXPECT_EQ(p.Release(x), Nodes(7, 7));
}

// for layer in self.layers: q, k = layer['q'](x), layer['k'](x); s = q @ k * scale; x = x + layer['out'](s)
TEST(Locals, TheNextRoundOfALoopAssignsWhatAttentionReads) {
  for (const bool same : {true, false}) {
    Program p;
    const TensorId x = p.Run("conv", {p.input()}, "first");                  // 0
    const TensorId q = p.Run("linear", {x}, "q");                            // 1
    const TensorId k = p.Run("permute", {p.Run("linear", {x}, "k")});        // 2, 3
    const TensorId s = p.Run("linear", {p.Run("bmm", {q, k})}, "out");       // 4, 5
    const TensorId y = p.Run("add", {x, s});                                 // 6
    const TensorId next = p.Run("linear", {y}, same ? "q_1" : "query");      // 7
    const TensorId other = p.Run("permute", {p.Run("linear", {y}, "k_1")});  // 8, 9
    p.Run("linear", {p.Run("bmm", {next, other})}, "last");                  // 10, 11
    EXPECT_EQ(p.Release(q), same ? Nodes(7, 4) : Nodes(11, 4));
    EXPECT_EQ(p.Release(k), Nodes(9, 4));
  }
}

TEST(Locals, AtMostWhatAFunctionWrapsHasItsName) {  // x = self.conv(x); x = F.relu(self.bn(x)), or in one statement
  Program p;
  const TensorId c = p.Run("conv", {p.input()}, "conv");  // 0
  const TensorId n = p.Run("batch_norm", {c}, "bn");      // 1
  p.Run("conv", {p.Run("relu", {n})}, "last");            // 2, 3
  EXPECT_EQ(p.Release(c), Nodes(1, 1));
  EXPECT_EQ(p.ReleaseAtMost(c), 2);
}

TEST(Locals, WhatAWrappedStatementReadsIsJoinedBefore) {  // x = torch.cat([a, b], 1); F.relu(self.bn(self.conv(x)))
  for (const bool wrapped : {true, false}) {
    Program p;
    const TensorId joined = p.Run("cat", {p.input(), p.input()}, "m", {4, 4});  // 0
    const TensorId c = p.Run("conv", {joined}, "m > m.conv");                   // 1
    const TensorId n = p.Run("batch_norm", {c}, "m > m.bn");                    // 2
    p.Run("relu", {n}, wrapped ? "m" : "m > m.relu");                           // 3
    p.Run("conv", {p.input()}, "last");                                         // 4
    EXPECT_EQ(p.Release(joined), wrapped ? Nodes(3, 1) : Nodes(1, 1));
  }
}

// A list of many parts is no reason to ask every part about all others: a sum of these took minutes, a list hours.
TEST(Locals, LongSumsAndListsTakeNoLongerPerPart) {
  constexpr int kParts = 20'000;
  LoweredProgram p;
  TensorIds terms, parts;
  for (int i = 0; i < kParts; ++i) terms.push_back(p.Run("relu", {p.input()}));
  for (int i = 0; i < kParts; ++i) parts.push_back(p.Run("relu", {p.input()}));
  TensorId sum = terms[0];
  for (int i = 1; i < kParts; ++i) sum = p.Run("add", {sum, terms[static_cast<size_t>(i)]});
  p.Run("relu", {sum});
  p.Run("relu", {p.Run("cat", parts, "", {2, 4 * kParts})});
  const auto begin = std::chrono::steady_clock::now();
  const IdVector<TensorId, int32_t> release = ReleaseAfter(p.graph(), NameRules::kLocals);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  // Joined as a list: they have names until the function returns.
  for (TensorId part : parts) EXPECT_EQ(release[part], 3 * kParts + 1);
}

}  // namespace
}  // namespace onnx_mem::names
