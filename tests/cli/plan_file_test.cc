#include "cli/files/plan_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

TEST(ParsePlan, SegmentsWrittenByHand) {
  EXPECT_EQ(
      ParsePlan(R"({"segments": [{"modules": ["layer1", "layer2.0"]}, {"nodes": ["/Relu_3"]}]})", "p.json")->segments,
      (std::vector<Segment>{{{"layer1", "layer2.0"}, {}}, {{}, {"/Relu_3"}}}));
  EXPECT_TRUE(ParsePlan(R"({"segments": []})", "p.json")->segments.empty());
}

TEST(ParsePlan, TheChosenPlanOfAReport) {
  const std::string report = R"({"schema": "onnx-mem/1", "command": "plan", "chosen": 2, "plans": [
      {"id": 0, "segments": []},
      {"id": 2, "segments": [{"modules": ["layer1"], "nodes": ["/Conv_1", "/Relu_2"], "saves_bytes": 12}]}]})";
  // The modules say what to wrap; the nodes beside them are for readers.
  EXPECT_EQ(ParsePlan(report, "p.json")->segments, (std::vector<Segment>{{{"layer1"}, {}}}));
}

TEST(ParsePlan, CallsThatAreKeptAndSkipped) {
  const std::vector<Segment> read = ParsePlan(R"({"segments": [
      {"modules": ["a"], "keep": ["addmm"]},
      {"modules": ["b"], "keep": {"b.fc:aten.addmm.default#0": [], "aten.native_dropout.default#2": [1]},
       "skip": ["b:aten.mul.Tensor#1"]},
      {"modules": ["c"], "keep": ["mm", "aten.mm.default#3", "c:aten.add.Tensor#0[0,2]"]}]})",
                                              "p.json")
                                        ->segments;
  EXPECT_EQ(read[0], (Segment{.modules = {"a"}, .nodes = {}, .keep = {"addmm"}}));
  // By JSON's rule the order of an object's members means nothing: it is that of their names.
  EXPECT_EQ(
      read[1],
      (Segment{.modules = {"b"},
               .nodes = {},
               .keep_calls = {{{"", "aten.native_dropout.default", 2}, {1}}, {{"b.fc", "aten.addmm.default", 0}, {}}},
               .skip = {{"b", "aten.mul.Tensor", 1}}}));
  EXPECT_EQ(read[2],
            (Segment{.modules = {"c"},
                     .nodes = {},
                     .keep = {"mm"},
                     .keep_calls = {{{"", "aten.mm.default", 3}, {}}, {{"c", "aten.add.Tensor", 0}, {0, 2}}}}));
  for (const KeptCall& kept : read[2].keep_calls) EXPECT_EQ(ParseKeptCall(TextOf(kept)), kept);
}

TEST(ParsePlan, CallsThatWaitOnTheHost) {
  const auto read = [](const std::string& offload) {
    return ParsePlan(R"({"segments": [{"modules": ["b"], "keep": {}, "offload": )" + offload + "}]}", "p.json");
  };
  const std::vector<Segment> calls = read(R"({"calls": {"b.fc:addmm": [0]}, "when": "waiting"})")->segments;
  EXPECT_EQ(calls[0], (Segment{.modules = {"b"},
                               .nodes = {},
                               .offload = Offload::kWaiting,
                               .host_calls = {{{"b.fc", "aten.addmm.default", 0}, {0}}}}));
  const std::vector<Segment> inputs = read(R"({"inputs": true})")->segments;
  EXPECT_EQ(inputs[0], (Segment{.modules = {"b"}, .nodes = {}, .offload = Offload::kOverlapped, .host_inputs = true}));
  const auto refusal = [&](const std::string& offload) { return std::string(read(offload).status().message()); };
  EXPECT_EQ(refusal("{}"), R"('p.json': "offload" of a segment names no "calls" and no "inputs")");
  EXPECT_EQ(
      refusal(R"({"when": "held", "inputs": true})"),
      R"('p.json': "offload" of a segment has "when": "held"; it may have "calls", an object of calls, "inputs", )"
      R"(true or false, and "when", "overlapped" or "waiting")");
  EXPECT_EQ(refusal(R"({"calls": {"addmm": [0]}})"), "'p.json': 'addmm' has no output 0");
  EXPECT_EQ(
      ParsePlan(R"({"segments": [{"modules": ["b"], "keep": {"b.fc:addmm": [0]}, "offload": "waiting"}]})", "p.json")
          .status()
          .message(),
      R"('p.json': a segment that keeps or skips calls has an object as "offload": {"calls": {...}})");
}

TEST(ParsePlan, CallsHaveShortNamesToo) {
  const std::vector<Segment> read = ParsePlan(R"({"segments": [{"modules": ["a"],
      "keep": {"a.fc:addmm": [], "a:add.Tensor#1": [0]}, "skip": ["relu_#2"]}]})",
                                              "p.json")
                                        ->segments;
  EXPECT_EQ(read[0],
            (Segment{.modules = {"a"},
                     .nodes = {},
                     .keep_calls = {{{"a.fc", "aten.addmm.default", 0}, {}}, {{"a", "aten.add.Tensor", 1}, {0}}},
                     .skip = {{"", "aten.relu_.default", 2}}}));
}

TEST(ParsePlan, SettingsNameAnAllocator) {
  const auto allocator = [](const std::string& settings) {
    const auto plan = ParsePlan(R"({"segments": [], "settings": )" + settings + "}", "p.json");
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan->allocator;
  };
  EXPECT_EQ(allocator(R"({"PYTORCH_ALLOC_CONF": "expandable_segments:True"})"), "pytorch-expandable");
  EXPECT_EQ(allocator("{}"), std::nullopt);
  EXPECT_EQ(allocator("null"), std::nullopt);
  // Those of the chosen plan, as its segments.
  EXPECT_EQ(ParsePlan(R"({"chosen": 1, "plans": [{"id": 0, "settings": {"A": "b"}, "segments": []},
      {"id": 1, "settings": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, "segments": []}]})",
                      "p.json")
                ->allocator,
            "pytorch-expandable");
}

TEST(WithPlanFile, AnAllocatorOfTheUsersOwnStays) {
  const std::string path = testing::TempDir() + "/with_settings.json";
  std::ofstream(path) << R"({"settings": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, "segments": []})";
  Options options;
  options.plan_file = path;
  EXPECT_EQ(WithPlanFile(options)->workload.allocator, "pytorch-expandable");
  options.allocator_given = true;
  EXPECT_EQ(WithPlanFile(options)->workload.allocator, "pytorch");
}

TEST(ParsePlan, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"[]", "not a JSON object"},
      {"{}", "it has no list \"segments\""},
      {R"({"segments": 3})", "it has no list \"segments\""},
      {R"({"segments": [3]})", "a segment is not a JSON object"},
      {R"({"segments": [{}]})", "a segment names no modules or nodes"},
      {R"({"segments": [{"modules": "layer1"}]})", "\"modules\" of a segment is not a list"},
      {R"({"segments": [{"modules": [1]}]})", "\"modules\" of a segment holds something other than names"},
      {R"({"segments": [{"modules": ["a"], "keep": ["#0"]}]})",
       R"('#0' is no call: a call is "module:aten.addmm.default#0", the module may be missing)"},
      {R"({"segments": [{"modules": ["a"], "keep": {"addmm#x": []}}]})",
       R"('addmm#x' is no call: a call is "module:aten.addmm.default#0", the module may be missing)"},
      {R"({"segments": [{"modules": ["a"], "keep": {"addmm#0": [-1]}}]})", "'addmm#0' has no output -1"},
      {R"({"segments": [{"modules": ["a"], "keep": {"addmm#0": 1}}]})", "the outputs of a kept call are not a list"},
      {R"({"segments": [{"modules": ["a"], "skip": ["addmm"]}]})",
       R"('addmm' is no call: a call is "module:aten.addmm.default#0", the module may be missing)"},
      {R"({"segments": [], "settings": 1})", "\"settings\" is not a JSON object"},
      {R"({"segments": [], "settings": {"A": 1}})", "a value of \"settings\" is not a string"},
      {R"({"segments": [], "settings": {"A": "b"}})", "it needs A=b, whose memory this program does not know"},
      {R"({"plans": []})", "the report chose no plan"},
      {R"({"plans": [], "chosen": null})", "the report chose no plan"},
      {R"({"plans": [{"id": 1}], "chosen": 2})", "the chosen plan is not among the report's plans"},
  };
  for (const auto& [text, what] : cases) {
    const absl::Status status = ParsePlan(text, "p.json").status();
    EXPECT_EQ(status.message(), "'p.json': " + what) << text;
    EXPECT_EQ(DiagnosticOf(status).code, Code::kBadPlan);
  }
}

TEST(ReadPlanFile, NamesAFileThatIsNotThere) {
  EXPECT_EQ(DiagnosticOf(ReadPlanFile("no-such-plan.json").status()).code, Code::kNotFound);
}

}  // namespace
}  // namespace onnx_mem
