// What viewers of other projects get.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "report/analyze/report.h"
#include "report/parts/formats.h"
#include "tests/report/sample_analysis.h"

namespace onnx_mem {
namespace {

Report ViewedReport() {
  auto analysis = std::make_shared<Analysis>();
  analysis->parts = {{kTrainingPart, std::make_shared<const RunFigures>(SampleTraining())}};
  Parameter weight;
  weight.name = "w";
  weight.module = "a.conv";
  analysis->parameters.push_back(weight);
  Report report;
  AnalyzePart part;
  part.analysis = analysis;
  report.part = std::move(part);
  return report;
}

TEST(Folded, BytesAtThePeakByModuleAndCategory) {
  EXPECT_EQ(RenderFolded(ViewedReport(), {}),
            "(no module);inputs 300\n"
            "(no module);transient activations 4\n"
            "a;conv;gradients 400\n"
            "a;conv;optimizer state 800\n"
            "a;conv;parameters 400\n"
            "a;conv;saved activations 1000\n"
            "a;relu;activation gradients 1000\n");
}

TEST(Trace, HasAnEventForEachStepAndItsBytes) {
  const nlohmann::json events = nlohmann::json::parse(RenderTrace(ViewedReport(), {}))["traceEvents"];
  int64_t most = 0, steps = 0;
  for (const nlohmann::json& event : events) {
    if (event["ph"] == "X") {
      EXPECT_EQ(event["ts"], steps++);
      EXPECT_EQ(event["dur"], 1);
    }
    if (event["ph"] != "C") continue;
    int64_t sum = 0;
    for (const auto& [category, bytes] : event["args"].items()) sum += bytes.get<int64_t>();
    most = std::max(most, sum);
  }
  EXPECT_EQ(steps, 6);
  EXPECT_EQ(most, 3904);
  EXPECT_EQ(events[0]["args"]["name"], "training");
}

TEST(Svg, StandsAlone) {
  const std::string svg = RenderSvg(ViewedReport(), {});
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
  EXPECT_NE(svg.find(".c5{fill:"), std::string::npos);
  EXPECT_NE(svg.find("peak 3.81 KiB"), std::string::npos);
}

TEST(Viewers, OfAReportWithoutStepsShowNothing) {
  EXPECT_EQ(RenderFolded({}, {}), "");
  EXPECT_EQ(RenderSvg({}, {}), "");
  EXPECT_TRUE(nlohmann::json::parse(RenderTrace({}, {}))["traceEvents"].empty());
}

}  // namespace
}  // namespace onnx_mem
