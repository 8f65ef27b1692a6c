#include "report/analyze/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "report/analyze/run_table.h"
#include "report/parts/formats.h"
#include "report/parts/layout.h"
#include "tests/report/sample_analysis.h"

namespace onnx_mem {
namespace {

using Json = nlohmann::ordered_json;

Report SampleReport(ReportRequest request = {}) {
  const Analysis analysis = SampleAnalysis();
  return BuildReport(request, {Summarize(analysis)}, {}, analysis);
}

RunSummary RunOf(int64_t batch, int64_t peak_bytes) {
  RunSummary run;
  run.batch = batch;
  run.training.emplace();
  run.training->peak_bytes = peak_bytes;
  run.training->device_bytes = peak_bytes + 1000;
  return run;
}

std::vector<std::string> Keys(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(ComputeScaling, ExactWhenAllPointsLieOnTheLaw) {
  const std::optional<Scaling> law = ComputeScaling({RunOf(8, 180), RunOf(1, 110), RunOf(64, 740)}, {});
  ASSERT_TRUE(law);
  EXPECT_EQ(law->fixed_bytes, 100);
  EXPECT_EQ(law->bytes_per_sample, 10);
  EXPECT_TRUE(law->exact);
  EXPECT_EQ(law->from_batch, 1);
}

TEST(ComputeScaling, SmallBatchesMayPeakElsewhere) {
  // At batches 1 and 8 the optimizer's step is the peak.
  const std::optional<Scaling> law =
      ComputeScaling({RunOf(1, 500), RunOf(8, 500), RunOf(64, 740)}, {RunOf(65, 750), RunOf(128, 1380)});
  ASSERT_TRUE(law);
  EXPECT_EQ(law->fixed_bytes, 100);
  EXPECT_EQ(law->bytes_per_sample, 10);
  EXPECT_TRUE(law->exact);
  EXPECT_EQ(law->from_batch, 64);
}

TEST(ComputeScaling, SaysWhenItIsNoLaw) {
  EXPECT_FALSE(ComputeScaling({RunOf(1, 111), RunOf(8, 180), RunOf(64, 740)}, {})->exact);
  EXPECT_FALSE(ComputeScaling({RunOf(1, 110), RunOf(64, 740)}, {RunOf(65, 750), RunOf(128, 1381)})->exact);
  EXPECT_FALSE(ComputeScaling({RunOf(2, 100), RunOf(5, 130)}, {})->exact);  // two points are always on a line
  EXPECT_FALSE(ComputeScaling({RunOf(2, 100)}, {}));
}

TEST(BatchesBeyond, DoNotOverflow) {
  EXPECT_EQ(BatchesBeyond(64), (std::vector<int64_t>{65, 128}));
  EXPECT_TRUE(BatchesBeyond(std::numeric_limits<int64_t>::max()).empty());
}

TEST(VerdictOfRuns, IsTheWorstOfEveryRunAndLimit) {
  const std::vector<RunSummary> runs = {RunOf(1, 100), RunOf(2, 200)};
  EXPECT_EQ(VerdictOf(runs, {}), std::nullopt);
  EXPECT_EQ(VerdictOf(runs, {{Limit::Kind::kBudget, "", 1200}}), Verdict::kFits);
  EXPECT_EQ(VerdictOf(runs, {{Limit::Kind::kBudget, "", 1200}, {Limit::Kind::kGpu, "", 1199}}), Verdict::kDoesNotFit);
}

TEST(VerdictOfRuns, IsOfTheRunOnTheCardThatALimitIs) {
  const std::vector<RunSummary> runs = {RunOf(1, 100), RunOf(2, 200)};
  Limit card{Limit::Kind::kGpu, "H100", 1200};
  EXPECT_EQ(VerdictOf(runs, {card}), Verdict::kFits);
  card.runs = std::make_shared<const std::vector<RunSummary>>(std::vector{RunOf(1, 100), RunOf(2, 300)});
  EXPECT_EQ(VerdictOf(runs, {card}), Verdict::kDoesNotFit);
  EXPECT_EQ(VerdictOf({runs.front()}, {card}), Verdict::kFits);
}

TEST(RenderJson, HasTheFieldsOfTheContractInOrder) {
  const Json json = Json::parse(RenderJson(SampleReport(), Screen()));
  EXPECT_EQ(Keys(json), (std::vector<std::string>{"schema", "tool", "command", "model", "source", "bindings",
                                                  "assumptions", "runs", "scaling", "diagnostics"}));
  EXPECT_EQ(json["bindings"].dump(), R"({"batch":4,"seq":16})");
  EXPECT_EQ(json["model"]["parameters"], 100);
  const Json& run = json["runs"][0];
  EXPECT_EQ(Keys(run), (std::vector<std::string>{"batch", "training", "inference", "flops", "time"}));
  EXPECT_EQ(run["flops"].dump(), R"({"forward":2000,"backward":4000,"macs":1000})");
  const Json& training = run["training"];
  EXPECT_EQ(training["peak_bytes"], 3904);
  EXPECT_EQ(training["first_step_peak_bytes"], 3804);
  EXPECT_EQ(training["device_interval_bytes"].dump(), "[8000,8400]");
  EXPECT_EQ(training["peak"]["phase"], "backward");
  EXPECT_EQ(training["peak"]["step"], 4);
  EXPECT_FALSE(training.contains("recompute_flops"));
  EXPECT_EQ(Keys(training["breakdown"]),
            (std::vector<std::string>{"parameters", "buffers", "inputs", "gradients", "optimizer_state",
                                      "saved_activations", "transient_activations", "activation_gradients",
                                      "optimizer_temporaries", "workspace"}));
  EXPECT_EQ(Keys(run["inference"]["breakdown"]),
            (std::vector<std::string>{"parameters", "buffers", "inputs", "activations", "workspace"}));
  EXPECT_TRUE(json["scaling"].is_null());
  EXPECT_EQ(json["diagnostics"][0]["code"], "bn-folded");
  EXPECT_EQ(json["diagnostics"][0]["count"], 53);
}

TEST(RenderJson, BreakdownsSumToThePeak) {
  const Json json = Json::parse(RenderJson(SampleReport(), Screen()));
  for (const char* part : {"training", "inference"}) {
    const Json& figures = json["runs"][0][part];
    int64_t sum = 0;
    for (const auto& [name, bytes] : figures["breakdown"].items()) sum += bytes.get<int64_t>();
    EXPECT_EQ(sum, figures["peak_bytes"]) << part;
  }
}

TEST(RenderJson, ListsEveryTensorOfTheGraph) {
  const Json json = Json::parse(RenderJson(SampleReport({.by = By::kTensor, .top = 0}), Screen()));
  ASSERT_EQ(json["tensors"].size(), 4u);
  EXPECT_EQ(json["tensors"][0].dump(),
            R"({"name":"x","dtype":"float32","shape":[75],"role":"input","bytes":300,"producer":null,"module":"",)"
            R"("file_name":null})");
  EXPECT_EQ(json["tensors"][2]["shape"].dump(), "[null,250]");
  EXPECT_TRUE(json["tensors"][2]["bytes"].is_null());
  EXPECT_EQ(json["live_at_peak"].size(), 7u);
}

TEST(RenderJson, LeavesOutAModeThatWasNotRequested) {
  Analysis analysis = SampleAnalysis();
  analysis.parts.erase(analysis.parts.begin());
  const Report report = BuildReport({}, {Summarize(analysis)}, {}, analysis);
  const Json json = Json::parse(RenderJson(report, Screen()));
  EXPECT_TRUE(json["runs"][0]["training"].is_null());
  EXPECT_EQ(json["runs"][0]["inference"]["peak_bytes"], 2700);
}

TEST(RenderJson, HasTheVerdictWhereALimitWasGiven) {
  const Json json = Json::parse(RenderJson(SampleReport({.limits = {{Limit::Kind::kBudget, "", 8191}}}), Screen()));
  EXPECT_EQ(json["budget_bytes"], 8191);
  EXPECT_EQ(json["fits"], false);
  EXPECT_EQ(json["verdict"], "does-not-fit");
  EXPECT_EQ(json["runs"][0]["training"]["verdict"], "does-not-fit");
}

TEST(RenderJson, HasARowForEachCard) {
  const std::vector<Limit> cards = {{Limit::Kind::kGpu, "small", 8191}, {Limit::Kind::kGpu, "large", 1 << 20}};
  const Json json = Json::parse(RenderJson(SampleReport({.limits = cards}), Screen()));
  EXPECT_FALSE(json.contains("gpu"));
  ASSERT_EQ(json["gpus"].size(), 2u);
  EXPECT_EQ(json["gpus"][0]["verdict"], "does-not-fit");
  EXPECT_EQ(json["gpus"][1]["verdict"], "fits");
  EXPECT_EQ(json["gpus"][1]["usable_bytes"], 1 << 20);
  EXPECT_EQ(json["gpus"][1]["training"]["device_bytes"], json["runs"][0]["training"]["device_bytes"]);
  EXPECT_EQ(json["verdict"], "does-not-fit");
}

TEST(RenderCsv, HasARowPerBatchOrTheListRequested) {
  const std::string runs = RenderCsv(SampleReport(), Screen());
  EXPECT_EQ(runs.substr(0, runs.find(',')), "batch");
  EXPECT_EQ(std::count(runs.begin(), runs.end(), '\n'), 2);
  const std::string layers = RenderCsv(SampleReport({.by = By::kLayer}), Screen());
  EXPECT_EQ(layers,
            "module,parameters,parameter_bytes,peak_bytes,saved_bytes,flops,macs\n"
            "a.conv,100,400,2600,1000,2000,1000\n"
            "a.relu,0,0,1000,0,0,0\n"
            "(no module),0,0,304,0,0,0\n");
}

TEST(RenderCsv, QuotesWhatNeedsIt) {
  Report report = SampleReport({.by = By::kLayer, .top = 1});
  report.tables.front().rows[0][0] = std::string("a,\"b\"");
  EXPECT_NE(RenderCsv(report, Screen()).find("\n\"a,\"\"b\"\"\",100,"), std::string::npos);
}

TEST(RenderMarkdown, BeginsWithTheAnswer) {
  const std::string text = RenderMarkdown(SampleReport({.limits = {{Limit::Kind::kBudget, "", 4096}}}), Screen());
  EXPECT_EQ(
      text.substr(0, text.find('\n')),
      "**net.onnx, batch 4: training needs 8.00 KiB** (7.81 - 8.20 KiB) - does not fit the budget of 4.00 KiB, 4.00 "
      "KiB over");
}

TEST(RenderQuiet, IsOneLinePerRun) {
  EXPECT_EQ(RenderQuiet(SampleReport()), "net.onnx batch=4 train=8192 infer=8192\n");
  Report report = SampleReport();
  report.runs[0].training->at_least = true;
  report.runs[0].inference.reset();
  EXPECT_EQ(RenderQuiet(report), "net.onnx batch=4 train>=8192\n");
}

TEST(RenderText, SaysAtLeastInWords) {
  Report report = SampleReport();
  report.runs[0].training->at_least = true;
  EXPECT_NE(RenderText(report, Screen()).find("TRAINING needs at least"), std::string::npos);
}

TEST(RenderText, AnswersInTheFirstLines) {
  const std::string text = RenderText(SampleReport({.limits = {{Limit::Kind::kGpu, "", 16384}}}), Screen());
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "net.onnx   100 parameters (float32), 2 nodes, pytorch 2.15.0, opset 20   batch 4");
  std::getline(lines, line);
  std::getline(lines, line);
  EXPECT_EQ(line, "  TRAINING needs  8.00 KiB  (7.81 - 8.20 KiB)  fits 16.0 KiB, 50 %");
}

TEST(RenderText, KeepsToTheWidthAndTheHeight) {
  Report report = SampleReport();
  report.model.path = std::string(300, 'x') + ".onnx";
  report.model.producer = std::string(80, 'p');
  AnalyzePart& part = std::get<AnalyzePart>(report.part);
  for (LayerShare& layer : part.layers_at_peak) layer.name = std::string(120, 'l');
  for (Row& row : part.largest_tensors.rows) row[0] = std::string(200, 't');
  for (size_t width : {80, 100}) {
    std::istringstream lines(RenderText(report, Screen{width, false, true, ByteUnit::kAuto}));
    size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(DisplayWidth(line), width) << line;
    EXPECT_LE(count, width == 100 ? 40u : 50u);
  }
}

TEST(RenderText, HasNoColourCodesUnlessRequested) {
  EXPECT_EQ(RenderText(SampleReport(), Screen()).find('\x1b'), std::string::npos);
  Screen screen;
  screen.color = true;
  EXPECT_NE(RenderText(SampleReport(), screen).find('\x1b'), std::string::npos);
}

TEST(RenderText, IsPlainAsciiWhereTheLocaleIs) {
  for (unsigned char byte : RenderText(SampleReport(), Screen())) EXPECT_LT(byte, 0x80);
}

TEST(RenderText, ListsOfByEndWithTheTotal) {
  const std::string text = RenderText(SampleReport({.by = By::kLayer, .top = 1}), Screen());
  EXPECT_NE(text.find("(2 others)"), std::string::npos);
  EXPECT_NE(text.find("total"), std::string::npos);
  EXPECT_NE(text.find("3,904 B"), std::string::npos);
}

TEST(RunTable, NamesEachColumnOnce) {
  const Table table = RunTable(SampleReport({.limits = {{Limit::Kind::kBudget, "", 4000}}}));
  std::set<std::string> keys, titles;
  for (const Column& column : table.columns) {
    EXPECT_TRUE(keys.insert(column.key).second) << column.key;
    EXPECT_TRUE(titles.insert(column.title).second) << column.title;
  }
  EXPECT_TRUE(keys.contains("training_verdict"));
}

TEST(Timeline, TellsEachStepByCategoryFromZeroInFilesAndFromOneOnTheScreen) {
  const Report report = SampleReport({.by = By::kStep, .top = 0});
  const Json steps = Json::parse(RenderJson(report, Screen()))["timeline"];
  const PartSummary& part = *report.runs.front().training;
  ASSERT_EQ(static_cast<int64_t>(steps.size()), part.steps);
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i]["step"], i);
    EXPECT_EQ(steps[i]["live_bytes"], part.live_bytes[i]);
    int64_t sum = 0;
    for (size_t c = 0; c < kNumCategories; ++c) {
      sum += steps[i][std::string(NameOf(static_cast<Category>(c))) + "_bytes"].get<int64_t>();
    }
    EXPECT_EQ(sum, part.live_bytes[i]);
  }
  EXPECT_TRUE(RenderCsv(report, Screen()).starts_with("step,live_bytes,phase,op,module,node,parameters_bytes,"));
  EXPECT_NE(RenderCsv(report, Screen()).find("\n0,"), std::string::npos);
  EXPECT_NE(RenderText(report, Screen()).find("\n       1  "), std::string::npos) << RenderText(report, Screen());
}

}  // namespace
}  // namespace onnx_mem
