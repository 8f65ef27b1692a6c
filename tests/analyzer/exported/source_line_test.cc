// What one line of Python tells of names.
#include "analyzer/exported/source_line.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onnx_mem {
namespace {

using Names = std::vector<std::string>;

TEST(SourceLine, AssignmentsBindNames) {
  const Statement s = ParseStatement("hidden = self.norm(F.relu(x) + y)  # a = b");
  EXPECT_EQ(s.kind, StatementKind::kAssign);
  EXPECT_TRUE(s.whole);
  EXPECT_EQ(s.targets, Names({"hidden"}));
  EXPECT_EQ(s.reads, Names({"x", "y"}));
  EXPECT_EQ(s.places, 3);
}

TEST(SourceLine, SeveralNamesAtOnce) {
  EXPECT_EQ(ParseStatement("q, (k, *v) = qkv.chunk(3, -1)").targets, Names({"q", "k", "v"}));
  EXPECT_EQ(ParseStatement("a = b = f(x)").targets, Names({"a", "b"}));
  EXPECT_EQ(ParseStatement("outputs: dict[str, int] = self.model(").targets, Names({"outputs"}));
  EXPECT_EQ(ParseStatement("self.cache, y, x[:, 0] = f(x)").targets, Names({"", "y", ""}));
}

TEST(SourceLine, WritingInPlace) {
  const Statement s = ParseStatement("out += self.shortcut(x)");
  EXPECT_EQ(s.kind, StatementKind::kAugmented);
  EXPECT_EQ(s.augmented_op, '+');
  EXPECT_EQ(s.targets, Names({"out"}));
  EXPECT_EQ(s.reads, Names({"out", "x"}));
  EXPECT_EQ(s.places, 2);
  EXPECT_EQ(ParseStatement("x **= 2").augmented_op, 0);
}

TEST(SourceLine, WhatIsNoWholeStatement) {
  EXPECT_FALSE(ParseStatement("x = torch.cat(").whole);
  EXPECT_FALSE(ParseStatement("x = a + \\").whole);
  for (const char* part :
       {"mask=mask,", "hidden = self.norm(x),", ").transpose(1, 2)", "self.norm(x)", "if x is None:", "'not the end",
        "", "x = f(x); y = g(x)", "for x in self.layers:", "def forward(self, x): return x"}) {
    EXPECT_EQ(ParseStatement(part).kind, StatementKind::kUnknown) << part;
  }
}

TEST(SourceLine, KeywordsAndModulesAreNoVariables) {
  const Statement s = ParseStatement("return torch.cat([f(v) for v in self.f if v is not None], dim=axis)");
  EXPECT_EQ(s.kind, StatementKind::kReturn);
  EXPECT_EQ(s.reads, Names({"v", "axis"}));
}

TEST(SourceLine, BodiesOnTheLineOfTheirLoop) {
  const Statement s = ParseStatement("for block in self.blocks: x = x + block(x)");
  EXPECT_EQ(s.kind, StatementKind::kAssign);
  EXPECT_EQ(s.targets, Names({"x"}));
  EXPECT_EQ(s.places, 2);
  EXPECT_EQ(ParseStatement("a = a * 2; b, c = f(a)").targets, Names({"a", "b", "c"})) << "may bind";
}

TEST(SourceLine, AssignmentsWithoutSpacesAndOverSeveralLines) {
  const Statement close = ParseStatement("x=self.f(x)");
  EXPECT_EQ(close.kind, StatementKind::kAssign);
  EXPECT_TRUE(close.close_set) << "a keyword argument looks the same";
  EXPECT_FALSE(ParseStatement("x = self.f(x)").close_set);
  const Statement open = ParseStatement("x = F.pad(x, [1, 1,");
  EXPECT_EQ(open.kind, StatementKind::kAssign);
  EXPECT_EQ(open.targets, Names({"x"}));
  EXPECT_FALSE(open.whole);
  EXPECT_EQ(ParseStatement("mask=self.f(x, [1,").kind, StatementKind::kUnknown);
}

TEST(SourceLine, ListsThatLetGo) {
  const Statement s = ParseStatement("x = self.concat[i](x, skips.pop())");
  EXPECT_EQ(s.reads, Names({"x", "skips"})) << "i selects a module";
  EXPECT_EQ(s.pops, Names({"skips"}));
  EXPECT_TRUE(ParseStatement("x = torch.cat([x, skips[i]], 1)").pops.empty());
}

TEST(SourceLine, Lists) {
  const Statement s = ParseStatement("features.append(self.conv(x))");
  EXPECT_EQ(s.kind, StatementKind::kAppend);
  EXPECT_EQ(s.targets, Names({"features"}));
  EXPECT_EQ(s.reads, Names({"x"}));
}

}  // namespace
}  // namespace onnx_mem
