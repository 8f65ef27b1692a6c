// The top of the page: the model, how much it needs, and whether that fits.
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"
#include "report/analyze/range.h"
#include "report/compare/compare_forms.h"
#include "report/compare/comparison.h"
#include "report/page/page.h"
#include "report/parts/figures.h"
#include "report/plan/plan_report.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostVerdicts = 4;  // on one line; every card has a row below

std::string WherePeak(const PartSummary& part) {
  if (!part.peak.known) return "";
  std::string text = absl::StrFormat("Peak at step %s of %s, %s: <code>%s</code>", WithThousands(part.peak.step + 1),
                                     WithThousands(part.steps), NameOf(part.peak.phase), HtmlText(part.peak.op));
  const std::string& place = part.peak.module.empty() ? part.peak.node : part.peak.module;
  if (!place.empty()) absl::StrAppendFormat(&text, " in <code>%s</code>", HtmlText(place));
  return text;
}

std::string VerdictHtml(const Need& need, const Limit& limit, const Screen& screen) {
  return absl::StrFormat(" <span class=\"verdict %s\">%s</span>", NameOf(VerdictOf(need, limit.bytes)),
                         HtmlText(VerdictText(need, limit, screen.units)));
}

// A card for each part: figure and verdict on one line, below it how sure that is and where the peak is.
std::string CardsHtml(const Report& report, const Screen& screen) {
  const RunSummary& run = report.runs.front();
  const std::vector<Limit>& limits = LimitsOf(report);
  const std::vector<AnswerLine> lines = AnswerLines(run, limits, screen.units);
  std::string html = "<div class=\"cards\">\n";
  size_t at = 0;
  for (const PartOfRun& which : kPartsOfRun) {
    if (!(run.*which.part)) continue;
    const AnswerLine& line = lines[at++];
    absl::StrAppendFormat(&html, "<div class=\"card\"><p class=\"need\">%s needs%s <b class=\"size\">%s</b>",
                          line.part == "training" ? "Training" : "Inference", line.at_least ? " at least" : "",
                          line.size);
    for (size_t i = 0; i < limits.size() && i < kMostVerdicts; ++i) {
      html += VerdictHtml(NeedOn(limits[i], run, which.part), limits[i], screen);
    }
    html += "</p>";
    if (!line.interval.empty()) {
      absl::StrAppendFormat(&html, "<p class=\"hint\">%s: %s</p>", HtmlText(line.interval),
                            RangeWords(report, *(run.*which.part)));
    }
    absl::StrAppendFormat(&html, "<p class=\"hint\">%s</p></div>\n", WherePeak(*(run.*which.part)));
  }
  return html + "</div>\n";
}

std::string ModelLine(const Report& report) {
  std::string text;
  if (report.runs.size() == 1) absl::StrAppendFormat(&text, "batch %d · ", report.runs.front().batch);
  text += ParameterWords(report.model);
  absl::StrAppendFormat(&text, " · %s nodes", WithThousands(report.model.nodes));
  if (!report.model.producer.empty()) absl::StrAppendFormat(&text, " · %s", report.model.producer);
  absl::StrAppendFormat(&text, " · from %s", report.model.source == "record" ? "a record of the run" : "the graph");
  return text;
}

std::string PlanHtml(const Report& report, const Screen& screen) {
  std::string html = "<div class=\"card\">";
  const std::vector<std::string> lines = PlanAnswerLines(report, screen);
  for (size_t i = 0; i < lines.size(); ++i) {
    absl::StrAppendFormat(&html, "<p class=\"%s\">%s", i == 0 ? "size small" : "hint",
                          HtmlText(lines[i], kLongestFlags));
    if (i == 0) {
      for (const PlanPart::Held& held : std::get<PlanPart>(report.part).held) {
        html += VerdictHtml(held.planned, held.limit, screen);
      }
    }
    html += "</p>";
  }
  return html + "</div>\n";
}

// A line for each head, then what it is held against.
std::string ChangeHtml(const ComparedReports& comparison, const Screen& screen) {
  std::string html = "<div class=\"card\">";
  for (size_t head = 0; head < comparison.heads.size(); ++head) {
    absl::StrAppendFormat(&html, "<p class=\"size small\">%s</p>", HtmlText(ChangeInWords(comparison, head, screen)));
  }
  for (const std::string& line : GateInWords(comparison, screen)) {
    absl::StrAppendFormat(&html, "<p class=\"verdict %s\">%s</p>",
                          NameOf(comparison.gate->exceeded.empty() ? Verdict::kFits : Verdict::kDoesNotFit),
                          HtmlText(line));
  }
  const std::vector<std::string> held = HeldInWords(comparison, screen);
  for (size_t i = 0; i < held.size(); ++i) {
    absl::StrAppendFormat(&html, "<p class=\"verdict %s\">%s</p>", NameOf(VerdictOfHeads(comparison, i)),
                          HtmlText(held[i]));
  }
  return html + "</div>\n";
}

}  // namespace

std::string HeadlineHtml(const Report& report, const Screen& screen) {
  const std::string name = report.model.path.empty() ? report.command : BaseName(report.model.path);
  std::string html = absl::StrFormat("<h1><bdi>%s</bdi></h1>\n", HtmlText(name));
  if (const auto* compared = std::get_if<ComparePart>(&report.part)) return html + ChangeHtml(**compared, screen);
  if (!IsOneRun(report)) return html;
  absl::StrAppendFormat(&html, "<p class=\"model\">%s</p>\n", HtmlText(ModelLine(report)));
  if (std::holds_alternative<PlanPart>(report.part)) html += PlanHtml(report, screen);
  return html + CardsHtml(report, screen);
}

}  // namespace onnx_mem
