#include "planner/code/emit_pytorch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// Three layers in a row, named as TorchScript names the children of an nn.Sequential.
Lowered LowerChain(const std::vector<std::string>& names) {
  Graph graph = ParseGraph(R"(m (float[4,8] x) => (float[4,8] y)
    <float[8,8] w0 = ["location": "none"], float[8,8] w1 = ["location": "none"], float[8,8] w2 = ["location": "none"]>
    { a = MatMul (x, w0)   b = MatMul (a, w1)   y = MatMul (b, w2) })");
  for (size_t i = 0; i < names.size(); ++i) graph.nodes[NodeId(static_cast<int32_t>(i))].name = names[i];
  absl::StatusOr<Lowered> lowered = Prepare(graph, Run{});
  if (!lowered.ok()) ADD_FAILURE() << lowered.status();
  return *std::move(lowered);
}

ModulePlan PlanOf(const std::vector<std::vector<std::string>>& segments) {
  ModulePlan plan;
  plan.label = "by hand\nos.remove('x')";
  plan.measured.peak_bytes = 3'552'260'915;
  plan.measured.recompute_flops = 1'024;
  plan.measured.flops_slowdown = 0.0856;
  plan.measured.time_slowdown = 0.227;
  for (const auto& modules : segments) {
    plan.segments.push_back({.segment = {.modules = modules, .nodes = {}}, .nodes = {}, .saves_bytes = 1'234});
  }
  return plan;
}

EmittedCode Emit(const Lowered& lowered, const ModulePlan& plan, CodeForm form = CodeForm::kAlone) {
  ModelInfo info;
  info.path = "a/folder/chain.onnx";
  info.bound_dims = {{"batch", 4}};
  Measured baseline;
  baseline.peak_bytes = 5'864'370'995;
  absl::StatusOr<EmittedCode> code =
      EmitPytorch(lowered, info, baseline, plan, {"A100", "adam", 4'000'000'000, BudgetLine::kLive}, form);
  if (!code.ok()) ADD_FAILURE() << code.status();
  return *std::move(code);
}

TEST(EmitPytorch, SaysWhatThePlanIsFor) {
  const EmittedCode code = Emit(LowerChain({"/0/MatMul", "/1/MatMul", "/2/MatMul"}), PlanOf({{"0"}}));
  EXPECT_TRUE(absl::StrContains(code.text, "for chain.onnx, batch = 4: by hand os.remove('x')\n"))
      << "one comment line";
  EXPECT_TRUE(absl::StrContains(code.text, "3,552,260,915 bytes; without the plan 5,864,370,995 bytes"));
  EXPECT_TRUE(absl::StrContains(code.text, "1,024 FLOPs, 8.6 % of the step's; estimated 22.7 % more time on A100"));
  EXPECT_TRUE(absl::StrContains(code.text, "# Made for a budget of 4,000,000,000 bytes alive, optimizer adam"));
  EXPECT_FALSE(absl::StrContains(code.text, "folder"));
}

TEST(EmitPytorch, SettingsAreSaidAndChecked) {
  const Lowered lowered = LowerChain({"/0/MatMul", "/1/MatMul", "/2/MatMul"});
  EXPECT_TRUE(absl::StrContains(Emit(lowered, PlanOf({{"0"}})).text, "\nSETTINGS = {}\n"));
  ModulePlan plan = PlanOf({{"0"}});
  plan.settings = SettingsOf("pytorch-expandable");
  const std::string text = Emit(lowered, plan).text;
  EXPECT_TRUE(absl::StrContains(text, "# Run it with PYTORCH_ALLOC_CONF=expandable_segments:True in the environment"));
  EXPECT_TRUE(absl::StrContains(text, "SETTINGS = {\"PYTORCH_ALLOC_CONF\": \"expandable_segments:True\"}\n"));
  EXPECT_TRUE(absl::StrContains(text, "return apply(model, PLAN, EXPORT_WRAPPER, SETTINGS)\n"));
}

TEST(EmitPytorch, SegmentsAreEntries) {
  const EmittedCode code = Emit(LowerChain({"/0/MatMul", "/1/MatMul", "/2/MatMul"}), PlanOf({{"0"}, {"2"}}));
  EXPECT_TRUE(
      absl::StrContains(code.text,
                        "PLAN = [\n    {\"modules\": [\"0\"], \"preserve_rng_state\": True},  # frees 1,234 bytes\n"
                        "    {\"modules\": [\"2\"], "));
  EXPECT_TRUE(code.diagnostics.empty());
}

TEST(EmitPytorch, ARunIsOneEntryAndRepeatedBlocksAreOneLine) {
  const Lowered lowered = LowerChain({"/0/MatMul", "/1/MatMul", "/2/MatMul"});
  EXPECT_TRUE(absl::StrContains(Emit(lowered, PlanOf({{"0", "1"}})).text, "{\"modules\": [\"0\", \"1\"]"));
  EXPECT_TRUE(absl::StrContains(Emit(lowered, PlanOf({{"0"}, {"1"}, {"2"}})).text,
                                "    *({\"modules\": [f\"{i}\"], \"preserve_rng_state\": True}\n"
                                "      for i in range(0, 3)),  # 3, which free 3,702 bytes\n"));
}

TEST(EmitPytorch, EndsWithThePackagesOwnCode) {
  std::ifstream file(std::string(ONNX_MEM_SOURCE_DIR) + "/python/onnx_mem/_checkpoint/applied.py");
  const std::string own((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_FALSE(own.empty());
  EXPECT_TRUE(Emit(LowerChain({"/0/MatMul", "/1/MatMul", "/2/MatMul"}), PlanOf({{"0"}})).text.ends_with(own));
}

TEST(EmitPytorch, ImportsThePackageInFewLines) {
  const Lowered lowered = LowerChain({"/0/MatMul", "/1/MatMul", "/2/MatMul"});
  const std::string text = Emit(lowered, PlanOf({{"0", "1"}, {"2"}}), CodeForm::kImports).text;
  EXPECT_TRUE(absl::StrContains(text, "\nimport onnx_mem\n"));
  EXPECT_TRUE(absl::StrContains(text, "return onnx_mem.checkpoint(model, {\"segments\": PLAN, "));
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 30);
}

// Entries and rows of the table that have no pattern in common.
TEST(EmitPytorch, ManySegmentsAreThirtyLinesToo) {
  std::string weights, calls;
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> segments;
  constexpr int kLayers = 40;
  for (int i = 0; i < kLayers; ++i) {
    absl::StrAppend(&weights, i == 0 ? "" : ", ", "float[8,8] w", i, " = [\"location\": \"none\"]");
    absl::StrAppend(&calls, i + 1 == kLayers ? "y" : absl::StrCat("t", i + 1), " = MatMul (",
                    i == 0 ? "x" : absl::StrCat("t", i), ", w", i, ") ");
    segments.push_back({std::string(static_cast<size_t>(i / 20 + 1), static_cast<char>('a' + i % 20))});
    names.push_back(absl::StrCat("/", segments.back().front(), "/MatMul"));
  }
  Graph graph = ParseGraph(absl::StrCat("m (float[4,8] x) => (float[4,8] y) <", weights, "> { ", calls, "}"));
  for (int i = 0; i < kLayers; ++i) graph.nodes[NodeId(i)].name = names[static_cast<size_t>(i)];
  const absl::StatusOr<Lowered> lowered = Prepare(graph, onnx_mem::Run{});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  ModulePlan plan = PlanOf(segments);
  for (size_t i = 0; i < plan.segments.size(); i += 2) {
    Segment& segment = plan.segments[i].segment;
    segment.keep_calls = {{{segment.modules.front(), "aten.mm.default", static_cast<int32_t>(i)}, {0}}};
  }
  const std::string text = Emit(*lowered, plan, CodeForm::kImports).text;
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 30) << text;
  for (const auto& segment : segments) {
    EXPECT_TRUE(absl::StrContains(text, absl::StrCat("{\"modules\": [\"", segment.front(), "\"]"))) << text;
  }
  EXPECT_TRUE(absl::StrContains(text, "\"b\": \"mm#0\"") || absl::StrContains(text, "\"a\": \"mm\"")) << text;
}

TEST(EmitPytorch, WhatOnlyAnEditCanWrapIsLeftOutAndSaid) {
  const EmittedCode code = Emit(LowerChain({"/0/MatMul", "/MatMul", "/2/MatMul"}), PlanOf({{"0", "2"}, {"2"}}));
  EXPECT_TRUE(absl::StrContains(code.text, "# Not applied: 0 to 2: '/MatMul' runs between 0 and 2.\n"));
  EXPECT_FALSE(absl::StrContains(code.text, "[\"0\", \"2\"]"));
  EXPECT_TRUE(absl::StrContains(code.text, "[\"2\"]"));
  ASSERT_EQ(code.diagnostics.size(), size_t{1});
  EXPECT_EQ(code.diagnostics[0].code, Code::kEditForward);
}

TEST(EmitPytorch, ATrainingExportShowsThatNothingIsRandom) {
  Lowered lowered = LowerChain({"/0/MatMul", "/1/MatMul", "/2/MatMul"});
  lowered.training_form = true;
  EXPECT_TRUE(absl::StrContains(Emit(lowered, PlanOf({{"0"}})).text, "\"preserve_rng_state\": False"));
  FrameworkNode& node = lowered.graph.nodes[NodeId(0)];
  node.op = "dropout";
  node.attributes["p"] = 0.1;
  EXPECT_TRUE(absl::StrContains(Emit(lowered, PlanOf({{"0"}})).text, "\"preserve_rng_state\": True"));
}

TEST(EmitPytorch, NamesOfTheFileCannotLeaveTheirString) {
  Lowered lowered = LowerChain({"/0/MatMul", "/1/MatMul", "/2/MatMul"});
  lowered.graph.nodes[NodeId(1)].module = lowered.graph.nodes[NodeId(1)].calls[0] = "a\"]}\\";
  EXPECT_TRUE(absl::StrContains(Emit(lowered, PlanOf({{"a\"]}\\"}})).text, R"(["a\"]}\\"])"));
}

TEST(EmitPlanJson, IsWhatPlanFilesLookLike) {
  ModelInfo info;
  info.path = "chain.onnx";
  EXPECT_EQ(
      EmitPlanJson(info, PlanOf({{"0", "1"}})),
      "{\n  \"model\": \"chain.onnx\",\n  \"label\": \"by hand\\nos.remove('x')\",\n  \"peak_bytes\": 3552260915,\n"
      "  \"device_bytes\": 0,\n  \"recompute_flops\": 1024,\n  \"settings\": {},\n  \"segments\": [\n    {\n      "
      "\"modules\": [\n        \"0\",\n        \"1\"\n"
      "      ]\n    }\n  ]\n}\n");
}

}  // namespace
}  // namespace onnx_mem
