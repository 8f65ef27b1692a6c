#include "cli/files/saved_report.h"

#include <gtest/gtest.h>

#include "analyzer/graph/diagnostic.h"
#include "report/parts/formats.h"
#include "tests/report/sample_analysis.h"

namespace onnx_mem {
namespace {

std::string SavedSample() {
  const Analysis analysis = SampleAnalysis();
  ReportRequest request;
  request.tables = Tables::kAll;
  return RenderJson(BuildReport(request, {Summarize(analysis)}, {}, analysis), Screen());
}

TEST(ParseSavedReport, IsTheSideThatWasSaved) {
  const absl::StatusOr<ComparedSide> saved = ParseSavedReport(SavedSample(), "r.json", std::nullopt);
  ASSERT_TRUE(saved.ok()) << saved.status();
  const Change change = Compare(*saved, {ComparedOf(SampleAnalysis())}).changes.front();
  for (const auto* part : {&change.delta.training, &change.delta.inference}) {
    EXPECT_EQ((*part)->peak_bytes, 0);
    EXPECT_EQ((*part)->device_bytes, 0);
    EXPECT_EQ((*part)->breakdown, BytesByCategory{});
  }
  EXPECT_EQ(change.delta.forward_flops, 0);
  ASSERT_TRUE(change.layers);
  for (const LayerChange& layer : *change.layers) {
    EXPECT_EQ(layer.presence, Presence::kBoth) << layer.name;
    EXPECT_EQ(layer.delta_bytes(), 0) << layer.name;
  }
}

TEST(ParseSavedReport, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "not JSON"},
      {"[]", "not a report of onnx-mem"},
      {R"({"schema": "other/1"})", "not a report of onnx-mem"},
      {R"({"schema": "onnx-mem/1", "command": "gpus"})", "it has no runs of a model"},
      {R"({"schema": "onnx-mem/1", "runs": [3]})", "a run is not a JSON object"},
      {R"({"schema": "onnx-mem/1", "runs": [{"batch": 1}, {"batch": 2}]})", "it has 2 runs; say which: --batch"},
      {R"({"schema": "onnx-mem/1", "runs": [{"batch": 1, "training": null}]})", "its run has no figures"},
  };
  for (const auto& [text, what] : cases) {
    const absl::Status status = ParseSavedReport(text, "r.json", std::nullopt).status();
    EXPECT_EQ(status.message(), "'r.json': " + what) << text;
    EXPECT_EQ(DiagnosticOf(status).code, Code::kBadReport);
  }
  EXPECT_EQ(ParseSavedReport(SavedSample(), "r.json", 5).status().message(), "'r.json': it has no run of batch 5");
}

}  // namespace
}  // namespace onnx_mem
