#include "cli/files/plan_file.h"

#include <gtest/gtest.h>

#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

TEST(ParsePlan, SegmentsWrittenByHand) {
  EXPECT_EQ(*ParsePlan(R"({"segments": [{"modules": ["layer1", "layer2.0"]}, {"nodes": ["/Relu_3"]}]})", "p.json"),
            (std::vector<Segment>{{{"layer1", "layer2.0"}, {}}, {{}, {"/Relu_3"}}}));
  EXPECT_TRUE(ParsePlan(R"({"segments": []})", "p.json")->empty());
}

TEST(ParsePlan, TheChosenPlanOfAReport) {
  const std::string report = R"({"schema": "onnx-mem/1", "command": "plan", "chosen": 2, "plans": [
      {"id": 0, "segments": []},
      {"id": 2, "segments": [{"modules": ["layer1"], "nodes": ["/Conv_1", "/Relu_2"], "saves_bytes": 12}]}]})";
  // The modules say what to wrap; the nodes beside them are for readers.
  EXPECT_EQ(*ParsePlan(report, "p.json"), (std::vector<Segment>{{{"layer1"}, {}}}));
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
