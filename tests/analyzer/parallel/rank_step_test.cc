#include "analyzer/parallel/rank_step.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

const std::vector<std::string> kSplit = {"h.0.up", "h.0.down"};

bool KeepsSplit(std::vector<std::string> modules) {
  return KeepsHooks({.modules = std::move(modules), .nodes = {}}, kSplit);
}

TEST(KeepsHooks, LayersThatAreSplitLieInsideASegment) {
  EXPECT_TRUE(KeepsSplit({"h.0"}));
  EXPECT_TRUE(KeepsSplit({"h.0.act"}));
  EXPECT_FALSE(KeepsSplit({"h.0.up"}));
  EXPECT_FALSE(KeepsSplit({"h.0.act", "h.0.down"}));
}

TEST(KeepsHooks, DoesNotKnowWhoseNodesAre) {
  const Segment nodes{.modules = {}, .nodes = {"/h.0/Gelu"}};
  EXPECT_FALSE(KeepsHooks(nodes, kSplit));
  EXPECT_TRUE(KeepsHooks(nodes, {}));
}

TEST(CheckHooks, NamesTheFirstThatDoesNot) {
  EXPECT_TRUE(CheckHooks({{.modules = {"h.0"}, .nodes = {}}}, kSplit).ok());
  const absl::Status refused = CheckHooks({{.modules = {"h.0.up"}, .nodes = {}}}, kSplit);
  EXPECT_EQ(DiagnosticOf(refused).code, Code::kBadPlan);
}

}  // namespace
}  // namespace onnx_mem
