// Which node is the last at which a variable holds a value, as the source lines show.
#include "analyzer/assume/names/source_names.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/analyzer/assume/names/traced_code.h"

namespace onnx_mem::names {
namespace {

TEST(SourceNames, ANameIsFreedWhenItIsAssignedAnew) {
  TracedCode p;
  const TensorId a = p.Call("conv1", {p.input()}, "x = self.conv1(x)");  // 0
  const TensorId b = p.Call("conv2", {a}, "y = self.conv2(x)");          // 1
  const TensorId c = p.Call("conv3", {b}, "x = self.conv3(y)");          // 2
  p.Op("add", {c, b}, "z = x + y");                                      // 3
  p.Call("last", {c}, "return self.last(x)");                            // 4
  EXPECT_EQ(p.HeldUntil(a), 2);
  EXPECT_EQ(p.HeldUntil(b), 4) << "until the function returns";
}

TEST(SourceNames, WhatAStatementUsesUpHasNoName) {
  TracedCode p;
  const TensorId a = p.Call("conv", {p.input()}, "x = F.relu(self.bn(self.conv(x)))");  // 0
  const TensorId b = p.Call("bn", {a}, "x = F.relu(self.bn(self.conv(x)))");            // 1
  const TensorId c = p.Op("relu", {b}, "x = F.relu(self.bn(self.conv(x)))");            // 2
  p.Call("last", {c}, "x = self.last(x)");                                              // 3
  EXPECT_EQ(p.HeldUntil(a), -1);
  EXPECT_EQ(p.HeldUntil(b), -1);
  EXPECT_EQ(p.HeldUntil(c), 3);
}

// residual = x between the first and the second line runs no operator.
struct TwoResiduals : TracedCode {
  const TensorId a = Call("embed", {input()}, "x = self.embed(ids)");  // 0
  const TensorId b = Call("norm", {a}, "x = self.norm(x)");            // 1
  const TensorId c = Op("add", {a, b}, "x = residual + x");            // 2
  const TensorId d = Call("norm2", {c}, "x = self.norm2(x)");          // 3
  const TensorId e = Op("add", {c, d}, "x = residual + x");            // 4
  const TensorId last = Call("last", {e}, "return self.last(x)");      // 5
};

TEST(SourceNames, AnAliasShowsWhereItIsRead) {
  TwoResiduals p;
  EXPECT_EQ(p.HeldUntil(p.a), 2) << "the second sum reads another residual";
  EXPECT_EQ(p.HeldUntil(p.b), 2);
  EXPECT_EQ(p.HeldUntil(p.c), 5) << "nothing takes the name again";
}

TEST(SourceNames, ANameThatEachRoundGivesAnewIsNoList) {
  TwoResiduals p;
  EXPECT_EQ(p.ReleaseAtMost(p.a), 2);
}

TEST(SourceNames, RoundsOfALoopOnOneLine) {
  TracedCode p;
  const TensorId a = p.Call("stem", {p.input()}, "x = self.stem(x)");  // 0
  const TensorId b = p.Call("layer.0", {a}, "x = layer(x)");           // 1
  const TensorId c = p.Call("layer.1", {b}, "x = layer(x)");           // 2
  const TensorId d = p.Call("layer.2", {c}, "x = layer(x)");           // 3
  p.Call("head", {d}, "return self.head(x)");                          // 4
  EXPECT_EQ(p.HeldUntil(a), 1) << "the first round assigns x anew";
  EXPECT_EQ(p.HeldUntil(b), -1);
}

// The exporter made one of two activations in a row: the last round of the loop has none.
TEST(SourceNames, TheLastRoundOfALoopMayBeCutShort) {
  TracedCode p;
  const auto run = [&](std::string_view op, TensorIds inputs, const std::string& line, std::string_view calls) {
    const TensorId id = p.Run(op, std::move(inputs), calls);
    std::vector<std::string> lines = {"return self.block(x)", line};
    if (op == "linear") lines.emplace_back("return F.linear(");
    p.OnLines(id, lines);
    return id;
  };
  const std::string loop = "h = F.relu(self.back(h) + h)";
  const TensorId h = run("relu", {p.input()}, "h = F.relu(x)", "block");  // 0
  const TensorId a = run("linear", {h}, loop, "block > block.back");      // 1
  const TensorId b = run("add", {a, h}, loop, "block");                   // 2
  const TensorId c = run("relu", {b}, loop, "block");                     // 3
  const TensorId d = run("linear", {c}, loop, "block > block.back");      // 4
  run("add", {d, c}, loop, "block");                                      // 5
  EXPECT_EQ(p.HeldUntil(h), 3) << "the first round assigns h anew";
}

// Python runs what stands inside of a call first: the line that begins the statement is the last that runs.
TEST(SourceNames, AStatementOfSeveralLinesIsDoneWithItsOutermostCall) {
  TracedCode p;
  const TensorId a = p.Op("relu", {p.input()}, "x = F.relu(y)", 10);             // 0
  const TensorId b = p.Call("conv1", {a}, "self.conv1(x)", 12);                  // 1
  const TensorId c = p.Op("relu", {b}, "x = F.relu(", 11);                       // 2
  const TensorId d = p.Call("up", {c}, "torch.cat([self.up(x), skip], 1)", 21);  // 3
  const TensorId e = p.Op("relu", {d}, "z = F.relu(", 20);                       // 4
  p.Call("head", {e}, "return self.head(z)", 30);                                // 5
  EXPECT_EQ(p.HeldUntil(a), 2) << "line 21 is of the statement that begins on line 20";
}

TEST(SourceNames, AStatementOfSeveralLinesIsDoneWithItsLastLine) {
  TracedCode p;
  const TensorId a = p.Op("relu", {p.input()}, "x = F.relu(y)", 10);            // 0
  const TensorId b = p.Call("conv1", {a}, "x = torch.add(self.conv1(x),", 11);  // 1
  const TensorId c = p.Call("conv2", {p.input()}, "self.conv2(y))", 12);        // 2
  const TensorId d = p.Op("add", {b, c}, "z = b + c", 20);                      // 3
  p.Call("head", {d}, "return self.head(z)", 30);                               // 4
  EXPECT_EQ(p.HeldUntil(a), 2);
}

TEST(SourceNames, NamesOfSeveralResults) {
  TracedCode p;
  const TensorId a = p.Call("layer", {p.input()}, "h, _ = self.layer(x)");  // 0
  const TensorId b = p.Call("norm", {a}, "h = self.norm(h)");               // 1
  const TensorId c = p.Call("fc", {b}, "y = self.fc(h)");                   // 2
  p.Call("last", {c}, "return self.last(y)");                               // 3
  EXPECT_EQ(p.HeldUntil(a), 1);
  EXPECT_EQ(p.HeldUntil(b), 3);
}

TEST(SourceNames, LinesThatDoNotTell) {
  TracedCode p;
  const TensorId a = p.Call("a", {p.input()}, "x = self.features(x)");  // a helper function's body
  const TensorId b = p.Op("mul", {a}, "x = self.features(x)");
  const TensorId c = p.Call("c", {b}, "x = self.features(x)");
  const TensorId d = p.Call("d", {c}, "self.d(x),");  // part of a longer statement
  const TensorId e = p.Call("e", {d}, "y = self.e(");
  const TensorId f = p.Run("conv", {e}, "f");
  p.Run("conv", {f}, "g");
  EXPECT_EQ(p.HeldUntil(a), std::nullopt);
  EXPECT_EQ(p.HeldUntil(b), std::nullopt);
  EXPECT_EQ(p.HeldUntil(d), std::nullopt);
  EXPECT_EQ(p.HeldUntil(f), std::nullopt) << "no line at all";
}

// x = self.decode(x), a function of the module's own that loops over decoders: its caller's x is held until it returns.
// The same line where a module of that name runs is that module's, round by round.
TEST(SourceNames, AFunctionOfTheModulesOwnIsNoLoopOfItsCaller) {
  for (const bool is_module : {false, true}) {
    const std::string line = is_module ? "x = self.decoders(x)" : "x = self.decode(x)";
    TracedCode p;
    const TensorId a = p.Call("encoder", {p.input()}, "x = self.encoder(image)");  // 0
    const TensorId b = p.Call("decoders.0", {a}, line);                            // 1
    const TensorId c = p.Call("decoders.1", {b}, line);                            // 2
    p.Call("head", {c}, "return self.head(x)");                                    // 3
    EXPECT_EQ(p.HeldUntil(a), is_module ? 1 : 2);
  }
}

// One module called several times in a row: the file does not say where a call ends, and its names with it.
// for turn in self.turns: y = self.net(turn(x)); total = total + y: the model's own forward runs once.
TEST(SourceNames, ALoopOfTheModelsOwnForwardHoldsARoundsNames) {
  TracedCode p;
  const auto round = [&](int) {
    const TensorId turned = p.Op("flip", {p.input()}, "t = turn(x)");
    const TensorId y = p.Call("net", {turned}, "y = self.net(t)");
    return std::pair(y, p.Op("flip", {y}, "total = total + back(y)"));
  };
  const auto [y, total] = round(0);  // 0 to 2
  round(1);                          // 3 to 5
  EXPECT_EQ(p.HeldUntil(y), 4) << "the next round's call gives the name to another";
  const Calls calls(p.graph());
  EXPECT_EQ(calls.spans().size(), 2) << "an operator of the model's own code ends a call";
}

TEST(SourceNames, CallsThatAreNotDistinguished) {
  TracedCode p;
  TensorId x = p.Run("conv", {p.input()}, "stem");
  p.OnLines(x, {"x = self.stem(x)", "return F.conv2d("});
  const TensorId first = x;
  for (int round = 0; round < 2; ++round) {
    const TensorId a = p.Run("conv", {x}, "layer > layer.a");
    p.OnLines(a, {"x = self.layer(", "y = self.a(x)", "return F.conv2d("});
    x = p.Run("conv", {a}, "layer > layer.b");
    p.OnLines(x, {"x = self.layer(", "return self.b(y)", "return F.conv2d("});
  }
  const TensorId last = p.Run("conv", {x}, "head");
  p.OnLines(last, {"return self.head(x)", "return F.conv2d("});
  EXPECT_EQ(p.HeldUntil(first), std::nullopt);
}

// A name that a reader does not mention, beside several that it does.
TEST(SourceNames, WhatMayBeOneOfSeveralAliasesIsNotReported) {
  TracedCode p;
  const TensorId a = p.Call("a", {p.input()}, "x = self.a(x)");
  const TensorId b = p.Call("b", {a}, "x = self.b(x)");
  const TensorId c = p.Call("c", {b}, "x = self.c(x)");
  p.Op("cat", {a, c}, "return torch.cat([first, second], 1)");
  EXPECT_EQ(p.HeldUntil(a), std::nullopt);
}

TEST(SourceNames, TheLinesOverruleConventions) {
  TracedCode p;
  const TensorId q = p.Call("q", {p.input()}, "q = self.q(x)");              // 0
  const TensorId k = p.Call("k", {p.input()}, "k = self.k(x)");              // 1
  const TensorId scores = p.Op("matmul", {q, k}, "q = torch.matmul(q, k)");  // 2
  const TensorId y = p.Call("out", {scores}, "k = self.out(q)");             // 3
  p.Call("last", {y}, "return self.last(k)");                                // 4
  EXPECT_EQ(p.Release(q).first, 2) << "factors of a product usually keep their names";
  EXPECT_EQ(p.Release(k).first, 3);
}

// The body of rotate is not shown. What it made for itself has no name when it has returned.
TEST(SourceNames, ResultsTakeTheNamesOfAStatement) {
  const auto rotated = [](const std::string& line, bool reads_both) {
    TracedCode p;
    const TensorId q = p.Call("q", {p.input()}, "q = self.q(x)");  // 0
    const TensorId k = p.Call("k", {p.input()}, "k = self.k(x)");  // 1
    const TensorId a = p.Op("sin", {q}, line);                     // 2
    const TensorId b = p.Op("add", {a, q}, line);                  // 3
    const TensorId c = p.Op("cos", {k}, line);                     // 4
    const TensorId d = p.Op("add", {c, k}, line);                  // 5
    p.Op("matmul", {b, reads_both ? d : b}, "return q @ k");       // 6
    return p.HeldAtMostUntil(a);
  };
  EXPECT_EQ(rotated("q, k = rotate(q, k)", true), 5);
  EXPECT_EQ(rotated("q, k, angles = rotate(q, k)", true), std::nullopt) << "one of these may be the third";
  EXPECT_EQ(rotated("q, k = rotate(q, k)", false), std::nullopt) << "k may be any of them";
  EXPECT_EQ(rotated("self.q, k = rotate(q, k)", true), std::nullopt);
}

// conv1 = self.conv1(F.pad(x, p)); bn1 = self.bn1(conv1), of which an exporter made one convolution with the norm's
// line: that line says what name the convolution's result has.
TEST(SourceNames, TheLineOfAFoldedNormNamesWhatAPaddedConvolutionMade) {
  TracedCode p;
  p.Call("stem", {p.input()}, "x = self.stem(x)", 1);
  const TensorId pad = p.Run("pad", {p.input()}, "conv1");
  const TensorId conv = p.Run("conv", {pad}, "conv1");
  const TensorId norm = p.Run("batch_norm", {conv}, "bn1");
  p.OnLines(norm, {"bn1 = self.bn1(conv1)", "return F.batch_norm("}, 3);
  const TensorId act = p.Op("relu", {norm}, "act = F.relu(bn1)", 4);
  p.Op("mean", {act}, "return act.mean()", 5);
  EXPECT_EQ(p.HeldUntil(conv), 5) << "nothing gives conv1 anew";
}

}  // namespace
}  // namespace onnx_mem::names
