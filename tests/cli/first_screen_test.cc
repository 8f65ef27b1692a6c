// The first screen of every model at hand: at most 23 lines, which a terminal of 24 rows holds beside its prompt, and
// nothing cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "absl/strings/str_format.h"
#include "cli/answers/answers.h"
#include "report/analyze/answer.h"
#include "report/parts/formats.h"
#include "report/parts/layout.h"

namespace onnx_mem {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLines = 23;

// The report of `model` at batch 2, with so much of what would save most; every other free size is 64.
absl::StatusOr<Report> ReportOn(const fs::path& model, Advice advice = Advice::kFirstScreen) {
  Options options;
  options.command = "analyze";
  options.operands = {model.string()};
  options.batches = {2};
  absl::StatusOr<CommandAnswer> answered = AnswerAnalyze(options);
  if (!answered.ok()) {
    options.workload.bindings.dims = {{"seq", 64}, {"sequence", 64}};
    answered = AnswerAnalyze(options);
  }
  if (!answered.ok()) {
    options.batches.clear();
    answered = AnswerAnalyze(options);
  }
  if (!answered.ok()) return answered.status();
  if (answered->savings) std::get<AnalyzePart>(answered->report.part).savings = answered->savings(advice);
  return std::move(answered->report);
}

// A figure and both ends of its range are reported in one unit, named once.
void ExpectOneUnit(const RunSummary& run, const fs::path& model) {
  for (const AnswerLine& line : AnswerLines(run, {}, ByteUnit::kAuto)) {
    if (line.interval.empty()) continue;
    const std::string unit = line.size.substr(line.size.find(' '));
    EXPECT_TRUE(line.interval.ends_with(unit)) << model << ": " << line.size << " in " << line.interval;
    EXPECT_EQ(line.interval.find("iB"), line.interval.size() - 2) << model << ": " << line.interval;
  }
}

void ExpectScreenHolds(const Report& report, const fs::path& model) {
  for (size_t width : {80, 100}) {
    const std::string text = RenderText(report, Screen{width, false, true, ByteUnit::kAuto});
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kMostLines) << model << '\n' << text;
    std::istringstream lines(text.substr(text.find('\n') + 1));  // the heading may cut a path
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(DisplayWidth(line), width) << model << '\n' << line;
    }
    for (const AnswerLine& line : AnswerLines(report.runs.front(), {}, ByteUnit::kAuto)) {
      EXPECT_NE(text.find(line.interval), std::string::npos) << model << ": no " << line.interval << '\n' << text;
    }
  }
}

void ExpectFits(const fs::path& folder, size_t least_models) {
  size_t models = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx" && entry.path().extension() != ".eager") continue;
    absl::StatusOr<Report> report = ReportOn(entry.path());
    if (!report.ok()) continue;
    ++models;
    ExpectOneUnit(report->runs.front(), entry.path());
    ExpectScreenHolds(*report, entry.path());
    std::get<AnalyzePart>(report->part).limits = {{Limit::Kind::kGpu, "GeForce RTX 4090", int64_t{23} << 30}};
    ExpectScreenHolds(*report, entry.path());
    std::get<AnalyzePart>(report->part).limits = {{Limit::Kind::kGpu, "Tesla T4", int64_t{14} << 30},
                                                  {Limit::Kind::kGpu, "GeForce RTX 4090", int64_t{23} << 30},
                                                  {Limit::Kind::kGpu, "H100 PCIe", int64_t{79} << 30}};
    ExpectScreenHolds(*report, entry.path());
  }
  EXPECT_GE(models, least_models);
}

TEST(FirstScreen, ShowsOfTheAdviceWhatItWouldOfAllOfIt) {
  const Screen screen{80, false, true, ByteUnit::kAuto};
  size_t measured = 0, known = 0;
  for (const std::string model : {"resnet18.train.ts.op17.onnx", "vit_b_16.train.ts.op17.onnx"}) {
    const fs::path path = fs::path(ONNX_MEM_SOURCE_DIR) / "testdata" / "models" / model;
    const absl::StatusOr<Report> some = ReportOn(path);
    const absl::StatusOr<Report> all = ReportOn(path, Advice::kWhole);
    ASSERT_TRUE(some.ok() && all.ok()) << model;
    const std::string text = RenderText(*some, screen);
    EXPECT_NE(text.find("Less by"), std::string::npos) << text;
    EXPECT_EQ(text, RenderText(*all, screen));
    measured += std::get<AnalyzePart>(some->part).savings.rows.size();
    known += std::get<AnalyzePart>(all->part).savings.rows.size();
  }
  EXPECT_LT(measured, known) << "the part is all";
}

TEST(FirstScreen, FitsATerminalForEveryModel) { ExpectFits(fs::path(ONNX_MEM_SOURCE_DIR) / "testdata" / "models", 20); }

TEST(FirstScreen, FitsATerminalForEveryRecord) {
  ExpectFits(fs::path(ONNX_MEM_SOURCE_DIR) / "testdata" / "records", 15);
}

// The screen counts steps from 1; JSON has the index of the same step, and CSV's list of steps too.
TEST(FirstScreen, TellsTheStepThatFilesCountFromZero) {
  absl::StatusOr<Report> report = ReportOn(fs::path(ONNX_MEM_SOURCE_DIR) / "testdata/models/lenet5.train.ts.op17.onnx");
  ASSERT_TRUE(report.ok()) << report.status();
  const int64_t step = report->runs.front().training->peak.step, steps = report->runs.front().training->steps;
  const std::string screen = RenderText(*report, Screen{80, false, true, ByteUnit::kAuto});
  EXPECT_NE(screen.find(absl::StrFormat("Peak at step %d of %d", step + 1, steps)), std::string::npos) << screen;
  EXPECT_NE(RenderJson(*report, Screen()).find(absl::StrFormat("\"step\": %d,", step)), std::string::npos);
}

TEST(FirstScreen, MayFitWhereTheRangeEndsBeyondTheLimit) {
  absl::StatusOr<Report> report =
      ReportOn(fs::path(ONNX_MEM_SOURCE_DIR) / "testdata/models/resnet18.train.ts.op17.onnx");
  ASSERT_TRUE(report.ok()) << report.status();
  const RunSummary& run = report->runs.front();
  const PartSummary& part = *run.training;
  const auto verdict_at = [&](int64_t bytes) {
    return VerdictOf(run, &RunSummary::training, {{Limit::Kind::kBudget, "", bytes}});
  };
  ASSERT_LT(part.device_bytes, part.device_high_bytes);
  EXPECT_EQ(verdict_at(part.device_bytes - 1), Verdict::kDoesNotFit);
  EXPECT_EQ(verdict_at(part.device_bytes), Verdict::kMayFit);
  EXPECT_EQ(verdict_at(part.device_high_bytes - 1), Verdict::kMayFit);
  EXPECT_EQ(verdict_at(part.device_high_bytes), Verdict::kFits);
  EXPECT_EQ(VerdictOf(run, &RunSummary::training, {}), std::nullopt);
}

}  // namespace
}  // namespace onnx_mem
