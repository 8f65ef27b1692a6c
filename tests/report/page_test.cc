#include "report/page/page.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_format.h"
#include "report/parts/formats.h"
#include "tests/report/sample_analysis.h"

namespace onnx_mem {
namespace {

// The report of `analysis` as AnswerAnalyze makes it for a file.
Report PageReport(Analysis analysis) {
  analysis.info.path = "m.onnx";
  const auto shared = std::make_shared<const Analysis>(std::move(analysis));
  ReportRequest request;
  request.tables = Tables::kAll;
  Report report = BuildReport(request, {Summarize(*shared)}, {}, *shared);
  std::get<AnalyzePart>(report.part).analysis = shared;
  return report;
}

Analysis OneTraining(RunFigures training = SampleTraining()) {
  Analysis analysis;
  analysis.parts = {{kTrainingPart, std::make_shared<const RunFigures>(std::move(training))}};
  return analysis;
}

size_t CountOf(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string DataIn(const std::string& page) {
  const size_t begin = page.find("id=\"page-data\">") + 15;
  return page.substr(begin, page.find("</script>", begin) - begin);
}

TEST(CleanText, KeepsWhatPeopleWriteAndNothingThatHarms) {
  EXPECT_EQ(CleanText("layer1.conv é 层 🙂"), "layer1.conv é 层 🙂");
  EXPECT_EQ(CleanText("a\x1b[31m"), "a\uFFFD[31m");
  EXPECT_EQ(CleanText("a\x7f"), "a\uFFFD");
  EXPECT_EQ(CleanText("a\u0085z"), "a\uFFFDz");            // C1
  EXPECT_EQ(CleanText("gpj.\u202Eexe"), "gpj.\uFFFDexe");  // right-to-left override
  EXPECT_EQ(CleanText("\u2066x\u2069"), "\uFFFDx\uFFFD");
  EXPECT_EQ(CleanText("\xff\xc3"), "\uFFFD\uFFFD");
  EXPECT_EQ(CleanText("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // half of a surrogate pair
}

TEST(CleanText, CutsTheMiddleOfALongNameBetweenCharacters) {
  std::string name;
  for (int i = 0; i < 30000; ++i) name += "é";
  const std::string cut = CleanText(name + "end");
  EXPECT_LT(cut.size(), 420u);
  EXPECT_TRUE(cut.ends_with("éend"));
  EXPECT_EQ(cut.find("\uFFFD"), std::string::npos);
}

TEST(HtmlText, LeavesNoMarkup) { EXPECT_EQ(HtmlText("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;"); }

TEST(Filled, FillsTheTemplateAndNotWhatItIsFilledWith) {
  EXPECT_EQ(Filled("a {{x}} b {{y}}{{z}} {{", {{"x", "{{y}}"}, {"y", "2"}}), "a {{y}} b 2 {{");
}

TEST(Page, AllowsItsOwnScriptAndStyleAlone) {
  const std::string page = RenderPage(PageReport(OneTraining()), {});
  EXPECT_EQ(CountOf(page, "default-src 'none'"), 1u);
  EXPECT_EQ(CountOf(page, "'sha256-"), 2u);
  EXPECT_EQ(page.find("unsafe"), std::string::npos);
  EXPECT_EQ(page.find(" style=\""), std::string::npos);  // the policy would forbid it
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  EXPECT_EQ(page.find("href=\"http"), std::string::npos);
}

TEST(Page, HasARunForEachRank) {
  Analysis analysis = OneTraining();
  analysis.ranks = {{1, "rank 1: stage 1 of 2, which needs most", nullptr},
                    {0, "rank 0: stage 0 of 2", std::make_shared<const Analysis>(OneTraining())}};
  const auto data = nlohmann::json::parse(DataIn(RenderPage(PageReport(std::move(analysis)), {})));
  ASSERT_EQ(data["runs"].size(), 2u);
  EXPECT_EQ(data["runs"][0]["name"], "rank 1: stage 1 of 2, which needs most");
  EXPECT_EQ(data["runs"][1]["name"], "rank 0: stage 0 of 2");
}

// A name that is markup, in every place that a file can put one.
TEST(Page, ShowsMarkupInNamesAsText) {
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'";
  RunFigures training = SampleTraining();
  MemoryProgram program = *training.program;
  for (Step& step : program.steps) {
    step.op = evil;
    step.node = step.module = evil;
  }
  for (Buffer& buffer : program.buffers) buffer.name = buffer.module = buffer.kept_by = evil;
  training.program = std::make_shared<const MemoryProgram>(std::move(program));
  Analysis analysis = OneTraining(std::move(training));
  analysis.info.producer = evil;
  analysis.assumptions = {{evil, evil}};
  analysis.diagnostics.push_back({.message = evil, .details = {evil}});
  const std::string harmless = RenderPage(PageReport(OneTraining()), {});
  Report report = PageReport(std::move(analysis));
  report.model.path = "/" + evil;
  const std::string page = RenderPage(report, {});
  EXPECT_EQ(CountOf(page, "<script"), CountOf(harmless, "<script"));
  EXPECT_EQ(CountOf(page, "</script"), CountOf(harmless, "</script"));
  EXPECT_EQ(CountOf(page, "<img"), 0u);
  EXPECT_TRUE(nlohmann::json::accept(DataIn(page)));
}

// The rows of the answer are the integers of the JSON report.
TEST(Page, AnswersWithTheIntegersOfTheJsonReport) {
  const Report report = PageReport(OneTraining());
  const std::string page = AnswerHtml(report, {});
  const nlohmann::json training = nlohmann::json::parse(RenderJson(report, {}))["runs"][0]["training"];
  for (const auto& [category, bytes] : training["breakdown"].items()) {
    const bool shown = CountOf(page, absl::StrFormat("data-v=\"%d\"", bytes.get<int64_t>())) > 0;
    EXPECT_EQ(shown, bytes != 0) << category;
  }
  EXPECT_EQ(CountOf(page, absl::StrFormat("data-v=\"%d\"", training["device_bytes"].get<int64_t>())), 1u);
}

// What a reader looks for first: how much, and does it fit, in one line for each limit.
TEST(Page, BeginsWithFigureAndVerdictInOneParagraph) {
  Report report = PageReport(OneTraining());
  auto& limits = std::get<AnalyzePart>(report.part).limits;
  limits.push_back({Limit::Kind::kBudget, "", int64_t{1} << 40});
  limits.push_back({Limit::Kind::kBudget, "", 1});
  const std::string page = HeadlineHtml(report, {});
  const size_t begin = page.find("<p class=\"need\">Training needs <b class=\"size\">");
  ASSERT_NE(begin, std::string::npos) << page;
  const std::string line = page.substr(begin, page.find("</p>", begin) - begin);
  EXPECT_EQ(CountOf(line, "class=\"verdict fits\">fits the budget of 1.00 TiB"), 1u) << line;
  EXPECT_EQ(CountOf(line, "class=\"verdict does-not-fit\">does not fit the budget of 1 B"), 1u) << line;
}

// A flag that lost its middle would be another flag.
TEST(Page, CutsNoCommandLine) {
  CommandWords words;
  for (int i = 0; i < 100; ++i) words.insert(words.end(), {"--segment", absl::StrFormat("encoder.layers.%d", i)});
  const Table table{"ways", "Ways", {{"flags", "flags"}}, {{words}}, 0};
  const std::string html = TableHtml(table, {});
  EXPECT_EQ(html.find("…"), std::string::npos);
  EXPECT_EQ(CountOf(html, "<span>--segment</span> <span>encoder.layers."), 100u);
}

TEST(Page, TellsEveryStepAndBuffer) {
  const nlohmann::json data = nlohmann::json::parse(DataIn(RenderPage(PageReport(OneTraining()), {})));
  const nlohmann::json& run = data["runs"][0];
  EXPECT_EQ(run["peak_bytes"], 3904);
  EXPECT_EQ(run["peak_step"], 4);
  EXPECT_EQ(run["steps"]["count"], 6);
  EXPECT_EQ(run["buffers"]["count"], 8);
  EXPECT_EQ(run["others"]["count"], 0);
  EXPECT_TRUE(run["buffers"]["address"].is_null());
  // Forward, forward, loss, backward, backward, optimizer: each twice its number, folded to twice that.
  EXPECT_EQ(run["steps"]["phase"], "AAAECAgM");
}

TEST(Page, OfManyTensorsTellsTheLargestOneByOne) {
  RunFigures training = SampleTraining();
  MemoryProgram program = *training.program;
  for (int i = 0; i < 80'000; ++i) {
    std::string name(60, 'a');
    for (int digit = 0, rest = i; digit < 60; ++digit, rest = (rest * 7 + 13) % 200'003) name[digit] += rest % 26;
    program.buffers.Add(
        SampleBuffer(name + std::to_string(i), Category::kTransientActivations, 8 + 4 * (i % 1000), 0, 1 + i % 5, "m"));
  }
  training.timeline = ComputeTimeline(program);
  training.program = std::make_shared<const MemoryProgram>(std::move(program));
  const std::string page = RenderPage(PageReport(OneTraining(std::move(training))), {});
  EXPECT_LT(page.size(), 5'000'000u);
  const nlohmann::json run = nlohmann::json::parse(DataIn(page))["runs"][0];
  EXPECT_GT(run["buffers"]["count"], 5'000);
  EXPECT_EQ(run["buffers"]["count"].get<int>() + run["others"]["count"].get<int>(), 80'008);
}

TEST(TimelinePicture, HasItsPeakAndACategoryForEachColour) {
  const std::string svg = TimelinePicture(*SampleTraining().program, 3000);
  EXPECT_NE(svg.find("peak 3.81 KiB"), std::string::npos);
  EXPECT_NE(svg.find("limit 2.93 KiB"), std::string::npos);
  for (const char* category : {"c0", "c2", "c3", "c4", "c5", "c6", "c7"}) {
    EXPECT_EQ(CountOf(svg, std::string("<polygon class=\"") + category + "\""), 1u) << category;
  }
  EXPECT_EQ(CountOf(svg, "<polygon class=\"c1\""), 0u);
  EXPECT_EQ(TimelinePicture({}, 0), "");
}

}  // namespace
}  // namespace onnx_mem
