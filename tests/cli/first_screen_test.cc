// The first screen of every model at hand: at most 24 lines, which a terminal holds as it opens, and nothing cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cli/answers/answers.h"
#include "cli/report/parts/formats.h"
#include "cli/report/parts/layout.h"

namespace onnx_mem {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLines = 24;

// The report of `model` at batch 2, with what would save most; every other free size is 64.
absl::StatusOr<Report> ReportOn(const fs::path& model) {
  Options options;
  options.command = "analyze";
  options.operands = {model.string()};
  options.batches = {2};
  absl::StatusOr<Answered> answered = AnswerAnalyze(options);
  if (!answered.ok()) {
    options.workload.bindings.dims = {{"seq", 64}, {"sequence", 64}};
    answered = AnswerAnalyze(options);
  }
  if (!answered.ok()) {
    options.batches.clear();
    answered = AnswerAnalyze(options);
  }
  if (!answered.ok()) return answered.status();
  if (answered->savings) std::get<AnalyzePart>(answered->report.part).savings = answered->savings();
  return std::move(answered->report);
}

void ExpectFits(const fs::path& folder, size_t least_models) {
  size_t models = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx" && entry.path().extension() != ".eager") continue;
    const absl::StatusOr<Report> report = ReportOn(entry.path());
    if (!report.ok()) continue;
    ++models;
    for (size_t width : {80, 100}) {
      const std::string text = RenderText(*report, Screen{width, false, true, ByteUnit::kAuto});
      EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kMostLines) << entry.path() << '\n' << text;
      std::istringstream lines(text.substr(text.find('\n') + 1));  // the heading may cut a path
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(DisplayWidth(line), width) << entry.path() << '\n' << line;
      }
    }
  }
  EXPECT_GE(models, least_models);
}

TEST(FirstScreen, FitsATerminalForEveryModel) {
  ExpectFits(fs::path(ONNX_MEM_SOURCE_DIR) / "testdata" / "models", 20);
}

TEST(FirstScreen, FitsATerminalForEveryRecord) {
  ExpectFits(fs::path(ONNX_MEM_SOURCE_DIR) / "testdata" / "records", 15);
}

}  // namespace
}  // namespace onnx_mem
