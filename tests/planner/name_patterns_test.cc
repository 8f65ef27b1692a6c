#include "planner/code/name_patterns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_join.h"

namespace onnx_mem {
namespace {

std::string Grouped(const std::vector<std::string>& names, std::vector<std::string> kinds = {}) {
  kinds.resize(names.size());
  return absl::StrJoin(GroupNames(names, kinds), " ", [](std::string* out, const NameGroup& group) {
    out->append(group.before.empty() ? "-" : TextOf(group));
  });
}

TEST(GroupNames, RepeatedBlocksAreOne) {
  EXPECT_EQ(Grouped({"h.0.mlp", "h.1.mlp", "h.2.mlp", "h.5.mlp", "head"}), "h.{0..2,5}.mlp head");
  EXPECT_EQ(Grouped({"h.0", "h.2", "h.4", "h.6"}), "h.{0..6..2}") << "every second one";
  EXPECT_EQ(Grouped({"h.9", "h.10", "h.11", "h.12", "h.14"}), "h.{9..12,14}") << "by number, not by letter";
}

TEST(GroupNames, AnyNumberMayCount) {
  EXPECT_EQ(Grouped({"h.0.mlp.1", "h.1.mlp.1", "h.2.mlp.1"}), "h.{0..2}.mlp.1");
  EXPECT_EQ(Grouped({"h.0.1", "h.0.2", "h.0.3", "h.1.1", "h.2.1"}), "h.0.{1..3} h.1.1 h.2.1") << "each name once";
}

TEST(GroupNames, TwoAreWrittenOut) { EXPECT_EQ(Grouped({"layer1", "layer2"}), "layer1 layer2"); }

TEST(GroupNames, OnlyWhatIsOfOneKind) {
  EXPECT_EQ(Grouped({"h.0", "h.1", "h.2", "h.3"}, {"", "keep", "keep", "keep"}), "h.0 h.{1..3}");
  EXPECT_EQ(Grouped({"h.0.a", "h.1.b", "h.2.a", "h.3.b", "h.4.a"}), "h.{0..4..2}.a h.1.b h.3.b");
}

TEST(GroupNames, WhatHasNoNameOrNoPlainNumberStandsAlone) {
  EXPECT_EQ(Grouped({"", "", "", "x.01", "x.02", "x.03"}), "- - - x.01 x.02 x.03");
}

}  // namespace
}  // namespace onnx_mem
