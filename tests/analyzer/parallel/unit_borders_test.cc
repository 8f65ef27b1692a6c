#include "analyzer/parallel/unit_borders.h"

#include <string>
#include <utility>
#include <vector>

#include "analyzer/graph/diagnostic.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

const std::vector<std::string> kUnits = {"h.0", "h.1", "h.10", "h.1.mlp"};

bool Keeps(std::vector<std::string> modules) {
  return KeepsUnits({.modules = std::move(modules), .nodes = {}}, kUnits);
}

TEST(KeepsUnits, AllowsAWholeUnitAndWhatLiesInsideOne) {
  EXPECT_TRUE(Keeps({"h.0"}));
  EXPECT_TRUE(Keeps({"h.0.attn"}));
  EXPECT_TRUE(Keeps({"h.0.ln", "h.0.attn"}));
  EXPECT_TRUE(Keeps({"h.1.mlp"}));
  EXPECT_TRUE(Keeps({"h.1.mlp.up", "h.1.mlp.down"}));
}

TEST(KeepsUnits, CountsTheRootAsOne) {
  EXPECT_TRUE(Keeps({"head"}));
  EXPECT_TRUE(Keeps({"norm", "head"}));
}

TEST(KeepsUnits, RefusesWhatCallsSeveral) {
  EXPECT_FALSE(Keeps({"h"}));
  EXPECT_FALSE(Keeps({"h.1"}));  // and the unit inside it
  EXPECT_FALSE(Keeps({"h.0", "h.10"}));
  EXPECT_FALSE(Keeps({"h.0.attn", "h.10.attn"}));
  EXPECT_FALSE(Keeps({"h.1.ln", "h.1.mlp"}));
  EXPECT_FALSE(Keeps({"h.10", "norm"}));
}

TEST(KeepsUnits, DoesNotKnowWhoseNodesAre) {
  const Segment nodes{.modules = {}, .nodes = {"/h.0/Gelu"}};
  EXPECT_FALSE(KeepsUnits(nodes, kUnits));
  EXPECT_TRUE(KeepsUnits(nodes, {}));  // the root alone
}

TEST(CheckSegments, NamesTheFirstThatCrosses) {
  EXPECT_TRUE(CheckSegments({{.modules = {"h.0"}, .nodes = {}}}, kUnits).ok());
  const absl::Status crossed =
      CheckSegments({{.modules = {"h.0"}, .nodes = {}}, {.modules = {"h.0", "h.10"}, .nodes = {}}}, kUnits);
  EXPECT_EQ(DiagnosticOf(crossed).message, "the segment h.0, h.10 crosses units of FSDP");
}

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
