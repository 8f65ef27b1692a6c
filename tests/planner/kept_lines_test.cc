#include "planner/code/kept_lines.h"

#include <gtest/gtest.h>

#include <utility>

#include "planner/code/keep_table.h"

namespace onnx_mem {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines LinesOf(const Segment& segment) {
  Lines lines;
  for (const KeptLine& line : KeptLinesOf(segment, segment.keep_calls)) lines.emplace_back(line.blocks, line.calls);
  return lines;
}

KeptCall Kept(std::string module, std::string op, int32_t nth) {
  return {{.module = std::move(module), .op = std::move(op), .nth = nth}, {0}};
}

TEST(KeptLinesOf, BlocksThatKeepTheSameAreOneLine) {
  Segment segment{.modules = {"h.0", "h.1", "h.2", "h.3"}, .nodes = {}};
  for (const std::string block : {"h.0", "h.1", "h.2"}) {
    segment.keep_calls.push_back(Kept(block + ".mlp.fc", "aten.addmm.default", 0));
    segment.keep_calls.push_back(Kept(block, "aten.add.Tensor", 0));
    segment.keep_calls.push_back(Kept(block, "aten.add.Tensor", 1));
  }
  segment.keep_calls.push_back(Kept("h.3.attn", "aten._scaled_dot_product_flash_attention.default", 0));
  segment.keep_calls.push_back(Kept("h.3.act", "aten.mul.Tensor", 3));
  EXPECT_EQ(LinesOf(segment),
            (Lines{{"h.{0..2}", "addmm[mlp.fc] add#0,1"}, {"h.3", "flash_attention[attn] mul[act]#3"}}));
}

TEST(RowsOf, BlocksOfAllSegmentsThatKeepTheSameAreOneLine) {
  Segment one{.modules = {"h.0", "h.1", "h.3"}, .nodes = {}}, other{.modules = {"h.2", "odd name"}, .nodes = {}};
  for (const std::string block : {"h.0", "h.1"}) one.keep_calls.push_back(Kept(block + ".fc", "aten.mm.default", 0));
  one.keep_calls.push_back(Kept("h.3", "aten.add.Tensor", 0));
  one.keep_calls.push_back(Kept("h.3", "aten.add.Tensor", 1));
  one.keep_calls.push_back(Kept("", "aten.add.Tensor", 7));
  other.keep_calls.push_back(Kept("h.2.fc", "aten.mm.default", 0));
  other.keep_calls.push_back(Kept("odd name.fc", "aten.mm.default", 0));
  EXPECT_EQ(RowsOf(kKeepTable, {one, other}),
            (std::vector<std::string>{"\"h.{0..2}\": \"fc:mm\"", "\"h.3\": \"add.Tensor#0,1\""}));
  EXPECT_EQ(CallsOf(kKeepTable, one), "{**KEEP, \"aten.add.Tensor#7\": [0]}");
  EXPECT_EQ(CallsOf(kKeepTable, other), "{**KEEP, \"odd name.fc:aten.mm.default#0\": [0]}");
  EXPECT_EQ(NamesOf({"drop", "h.0", "h.1", "h.2"}), "[\"drop\", \"h.{0..2}\"]");
  EXPECT_EQ(NamesOf({"h.2", "h.1", "h.0"}), "[\"h.2\", \"h.1\", \"h.0\"]") << "in the order in which they run";
}

TEST(RowsOf, CallsOnTheHostHaveATableOfTheirOwn) {
  Segment segment{.modules = {"h.0", "h.1"}, .nodes = {}};
  segment.keep_calls = {Kept("h.0.fc", "aten.mm.default", 0)};
  segment.host_calls = {Kept("h.0.up", "aten.mm.default", 0), Kept("h.1.up", "aten.mm.default", 0)};
  EXPECT_EQ(RowsOf(kHostTable, {segment}), (std::vector<std::string>{"\"h.0 h.1\": \"up:mm\""}));
  EXPECT_EQ(RowsOf(kKeepTable, {segment}), (std::vector<std::string>{"\"h.0\": \"fc:mm\""}));
  EXPECT_EQ(CallsOf(kHostTable, segment), "HOST");
}

TEST(KeptLinesOf, ABlockThatKeepsNothingSaysSo) {
  Segment segment{.modules = {"stem", "body"}, .nodes = {}};
  EXPECT_TRUE(LinesOf(segment).empty());
  segment.keep_calls = {Kept("body.conv", "aten.convolution.default", 0)};
  EXPECT_EQ(LinesOf(segment), (Lines{{"stem", "nothing"}, {"body", "convolution[conv]"}}));
}

}  // namespace
}  // namespace onnx_mem
