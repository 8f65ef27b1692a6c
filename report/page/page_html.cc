// What of the page needs no script: what the answer adds up from, assumptions.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_format.h"
#include "analyzer/order/stable_sort.h"
#include "report/analyze/answer.h"
#include "report/analyze/run_table.h"
#include "report/compare/comparison.h"
#include "report/page/page.h"
#include "report/parts/figures.h"
#include "report/parts/formats.h"
#include "report/plan/plan_report.h"

namespace onnx_mem {
namespace {

// Rows that add up to what the device shows. A row that is 0 in both runs is left out.
class PartsTable {
 public:
  PartsTable(const RunSummary& run, const Screen& screen) {
    html_ = "<table class=\"parts\"><caption>What it consists of, at the peak</caption><thead><tr><th></th>";
    int64_t largest = 0;
    for (const PartOfRun& which : kPartsOfRun) {
      if (!(run.*which.part)) continue;
      parts_.push_back(&*(run.*which.part));
      absl::StrAppendFormat(&html_, "<th scope=\"col\" class=\"n\">%s</th>", which.name);
      largest = std::max(largest, parts_.back()->device_bytes);
    }
    html_ += "<td class=\"share\"></td></tr></thead><tbody>\n";
    unit_ = ColumnUnit(largest, screen.units);
  }

  template <class BytesOf>
  void Add(std::string_view kind, std::string_view name, BytesOf bytes_of) {
    std::vector<int64_t> bytes;
    for (const PartSummary* part : parts_) bytes.push_back(bytes_of(*part));
    if (std::all_of(bytes.begin(), bytes.end(), [](int64_t b) { return b == 0; })) return;
    absl::StrAppendFormat(&html_, "<tr class=\"%s\"><th scope=\"row\"><i class=\"key %s\"></i>%s</th>", kind, kind,
                          name);
    for (int64_t b : bytes) {
      absl::StrAppendFormat(&html_, "<td class=\"n\" data-v=\"%d\">%s</td>", b, b == 0 ? "-" : SizeIn(b, unit_));
    }
    // Of the run that answers, as a bar; in attributes, since the page's policy allows no style in an element.
    html_ += "<td class=\"share\">";
    if (kind != "sum" && parts_.front()->device_bytes > 0) {
      const auto whole = static_cast<double>(parts_.front()->device_bytes);
      absl::StrAppendFormat(&html_,
                            "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
                            "class=\"%s\" width=\"%.2f\" height=\"10\"/></svg>",
                            kind, 100.0 * static_cast<double>(bytes.front()) / whole);
    }
    html_ += "</td></tr>\n";
  }

  std::string Html() const { return html_ + "</tbody></table>\n"; }

 private:
  std::vector<const PartSummary*> parts_;
  std::string html_;
  ByteUnit unit_ = ByteUnit::kAuto;
};

std::string PartsHtml(const Report& report, const RunSummary& run, const Screen& screen) {
  PartsTable table(run, screen);
  for (size_t c = 0; c < kNumCategories; ++c) {
    table.Add(absl::StrFormat("c%d", c), Words(NameOf(static_cast<Category>(c))),
              [&](const PartSummary& part) { return part.breakdown[c]; });
  }
  table.Add("sum", "tensors at the peak", [](const PartSummary& part) { return part.peak_bytes; });
  const DeviceWords words = WordsOfDevice(report);
  if (MainPart(run).session) {
    table.Add("extra", words.rest, [](const PartSummary& part) { return part.device_bytes - part.peak_bytes; });
  } else {
    table.Add("extra", "rounding, cuBLAS workspace",
              [](const PartSummary& part) { return part.allocated_peak_bytes - part.peak_bytes; });
    table.Add("extra", "cached by the allocator",
              [](const PartSummary& part) { return part.reserved_peak_bytes - part.allocated_peak_bytes; });
    table.Add("extra", "CUDA context", [](const PartSummary& part) { return part.context_bytes; });
  }
  table.Add("sum", words.whole, [](const PartSummary& part) { return part.device_bytes; });
  return table.Html();
}

// Line by line, as a page may hold many more than the 400 bytes to which names are cut.
std::string ScreenHtml(const Report& report, const Screen& screen) {
  Screen page = screen;
  page.rows = 0;  // nothing scrolls away
  const std::string text = RenderText(report, page);
  std::string html = "<pre tabindex=\"0\" role=\"region\" aria-label=\"The report as text\">";
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    html += HtmlText(std::string_view(text).substr(from, end - from), kLongestFlags) + "\n";
    from = end + 1;
  }
  return html + "</pre>\n";
}

}  // namespace

bool IsOneRun(const Report& report) { return !report.model.path.empty() && report.runs.size() == 1; }

std::string AnswerHtml(const Report& report, const Screen& screen) {
  if (!IsOneRun(report)) return "<h2>In words</h2>\n" + ScreenHtml(report, screen);
  const std::vector<Limit>& limits = LimitsOf(report);
  std::string html = "<h2>What: the parts of the figure</h2>\n";
  if (limits.size() > 1) html += TableHtml(GpusTable(report.runs, limits), screen, /*stacks=*/true);
  html += PartsHtml(report, report.runs.front(), screen);
  const auto* analyzed = std::get_if<AnalyzePart>(&report.part);
  if (analyzed == nullptr || analyzed->savings.rows.empty()) return html;
  return html + "<div class=\"scroll less\" tabindex=\"0\" role=\"region\" aria-label=\"How to need less\">" +
         TableHtml(CheapestWaysTable(analyzed->savings), screen, /*stacks=*/true) + "</div>\n";
}

std::string NotesHtml(const Report& report, const Screen& screen) {
  std::string html;
  if (!report.assumptions.empty())
    absl::StrAppendFormat(&html, "<p>%s</p>\n", HtmlText(AssumptionsText(report), kLongestFlags));
  std::vector<const Diagnostic*> notes;
  for (const Diagnostic& note : report.notes) notes.push_back(&note);
  // Those that move most first.
  StableSort(notes,
             [](const Diagnostic* a, const Diagnostic* b) { return a->bytes.value_or(0) > b->bytes.value_or(0); });
  if (!notes.empty()) html += "<ul class=\"notes\">\n";
  for (const Diagnostic* note : notes) {
    absl::StrAppendFormat(&html, "<li class=\"%s\"><span class=\"worth\">%s</span><div><p>%s <code>%s</code></p>",
                          NameOf(note->severity), note->bytes ? FormatBytesIn(*note->bytes, screen.units) : "",
                          HtmlText(note->message), HtmlText(CodeOf(*note)));
    for (const std::string& line : note->details) {
      absl::StrAppendFormat(&html, "<p class=\"hint\">%s</p>", HtmlText(line, kLongestFlags));
    }
    html += "</div></li>\n";
  }
  if (!notes.empty()) html += "</ul>\n";
  return html;
}

}  // namespace onnx_mem
