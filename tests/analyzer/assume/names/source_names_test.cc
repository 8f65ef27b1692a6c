// Which node is the last at which a variable holds a value, as the source lines show.
#include "analyzer/assume/names/source_names.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/analyzer/assume/names/lowered_program.h"

namespace onnx_mem::names {
namespace {

// Forward code of a model without a line for what happens inside of the modules that it calls.
class TracedCode : public LoweredProgram {
 public:
  // An operator in the code itself.
  TensorId Op(std::string_view op, TensorIds inputs, const std::string& line, int number = 1) {
    const TensorId id = Run(op, std::move(inputs));
    OnLines(id, {line}, number);
    return id;
  }
  // A module with one operator.
  TensorId Call(std::string_view module, TensorIds inputs, const std::string& line, int number = 1) {
    const TensorId id = Run("conv", std::move(inputs), module);
    OnLines(id, {line, "return F.conv2d("}, number);
    return id;
  }
  std::optional<int32_t> HeldUntil(TensorId id) const {
    const Calls calls(graph());
    return SourceNames(graph(), calls).HeldUntil(id);
  }
  std::optional<int32_t> HeldAtMostUntil(TensorId id) const {
    const Calls calls(graph());
    return SourceNames(graph(), calls).HeldAtMostUntil(id);
  }
};

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

// One module called several times in a row: the file does not say where a call ends, and its names with it.
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

TEST(SourceNames, AListThatPopsFrees) {
  TracedCode p;
  const TensorId a = p.Call("a", {p.input()}, "x = self.a(x)");               // 0
  const TensorId b = p.Call("b", {a}, "x = self.b(x)");                       // 1
  const TensorId c = p.Op("cat", {b, a}, "x = self.cat[i](x, skips.pop())");  // 2
  const TensorId d = p.Call("d", {c}, "x = self.d(x)");                       // 3
  p.Call("e", {d}, "return self.e(x)");
  EXPECT_EQ(p.HeldUntil(a), 1);
  EXPECT_EQ(p.HeldUntil(b), 2);
}

// skips = []; for ...: x = self.enc(x); skips.append(x); for skip in reversed(skips): ...
TEST(SourceNames, AListThatALoopReadsMayHoldAllUntilTheFunctionReturns) {
  const auto held = [](const std::string& line) {
    TracedCode p;
    const TensorId a = p.Call("encs.0", {p.input()}, "x = enc(x)");    // 0
    const TensorId b = p.Op("avg_pool", {a}, "x = F.avg_pool2d(x)");   // 1
    const TensorId c = p.Call("encs.1", {b}, "x = enc(x)");            // 2
    const TensorId d = p.Op("avg_pool", {c}, "x = F.avg_pool2d(x)");   // 3
    const TensorId e = p.Op("cat", {d, c}, line);                      // 4
    const TensorId f = p.Op("upsample", {e}, "x = F.interpolate(x)");  // 5
    const TensorId g = p.Op("cat", {f, a}, line);                      // 6
    p.Call("last", {g}, "return self.last(x)");                        // 7
    return std::pair(p.Release(c).first, p.ReleaseAtMost(c));
  };
  EXPECT_EQ(held("x = torch.cat([x, skip], 1)"), std::pair(4, 7)) << "a line may have taken it out of the list";
  EXPECT_EQ(held("x = torch.cat([x, skips.pop()], 1)"), std::pair(4, 4));
}

// outs = []; for layer in layers: x = layer(x); outs.append(x); return outs
TEST(SourceNames, AListOfWhichTheCallerTakesTheLastMayHoldARoundsResult) {
  const auto held = [](const std::string& caller, std::string_view reader) {
    TracedCode p;
    TensorId x = p.input();
    TensorId first;
    for (const char* layer : {"0", "1", "2"}) {
      x = p.Run("conv", {x}, absl::StrCat("encoder > encoder.layers.", layer));
      p.OnLines(x, {"x = self.encoder(x)", "x, _ = layer(x, mask)", "return F.conv2d("});
      if (!first.valid()) first = x;
    }
    p.Op(reader, {x}, caller);  // 3
    return std::pair(p.Release(first).first, p.ReleaseAtMost(first));
  };
  EXPECT_EQ(held("return self.head(x.states[-1][:, 0])", "relu"), std::pair(1, 2));
  EXPECT_EQ(held("return self.head(x.states)", "relu"), std::pair(1, 1));
  EXPECT_EQ(held("return self.head(x.view(x.shape[-1]))", "relu"), std::pair(1, 1));
  EXPECT_EQ(held("return x[-1]", "select"), std::pair(1, 1)) << "of a tensor";
}

// What a later round reads was not there yet.
TEST(SourceNames, ANameThatEachRoundGivesAnewIsNoList) {
  TwoResiduals p;
  EXPECT_EQ(p.ReleaseAtMost(p.a), 2);
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

}  // namespace
}  // namespace onnx_mem::names
