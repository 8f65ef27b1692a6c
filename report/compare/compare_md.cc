// A comparison as Markdown for a pull request: the verdict first, since comments are cut off at their end; then one
// table of at most 50 rows.
#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"
#include "report/compare/compare_forms.h"
#include "report/parts/figures.h"
#include "report/parts/markdown.h"

namespace onnx_mem {
namespace {

// Rows of the table, for as many as there is room.
class Rows {
 public:
  void Add(std::string row) {
    if (rows_++ < kMostRowsOfMarkdown) text_ += row + '\n';
  }
  std::string Text() const {
    const size_t left_out = rows_ - std::min(rows_, kMostRowsOfMarkdown);
    return left_out == 0 ? text_ : absl::StrFormat("%s\n%d more rows.\n", text_, left_out);
  }

 private:
  std::string text_;
  size_t rows_ = 0;
};

std::string RowText(std::string_view name, int64_t base, int64_t head, bool bold, ByteUnit units) {
  const ByteUnit unit = ColumnUnit(std::max(base, head), units);
  const auto size = [&](int64_t bytes) { return bytes == 0 ? "-" : SizeIn(bytes, unit); };
  const std::string_view mark = bold ? "**" : "";
  return absl::StrFormat("| %s%s%s | %s | %s | %s%s%s | %s |", mark, name, mark, size(base), size(head), mark,
                         SignedSize(head - base, unit), mark, SignedPercent(base, head));
}

// Figures, then the layers that changed most.
void AddHead(const ComparedReports& comparison, size_t head, const Report& report, const Screen& screen, Rows& rows) {
  const std::vector<std::string> names = SideNames(comparison);
  const std::string of = comparison.heads.size() > 1 ? absl::StrFormat("%s: ", MarkdownText(names[head + 1])) : "";
  for (const ComparedFigure& figure : FiguresOf(comparison.base.run(), comparison.heads[head].run())) {
    rows.Add(RowText(absl::StrFormat("%s%s %s", of, figure.part, figure.title), figure.base, figure.head, figure.total,
                     screen.units));
  }
  if (!comparison.changes[head].layers) return;
  std::vector<LayerChange> layers = *comparison.changes[head].layers;
  if (report.shown_table != "layers") layers = Coarse(layers);
  int64_t shown = 0;
  for (const LayerChange& layer : layers) {
    if (layer.delta_bytes() == 0 || (report.top > 0 && shown++ == report.top)) break;
    rows.Add(RowText(absl::StrFormat("%s%s%s", of, TagOf(layer.presence), MarkdownText(layer.name)), layer.base_bytes,
                     layer.head_bytes, false, screen.units));
  }
}

}  // namespace

std::string CompareMarkdown(const ComparedReports& comparison, const Report& report, const Screen& screen) {
  std::string text;
  for (const auto& lines : {GateInWords(comparison, screen), HeldInWords(comparison, screen)}) {
    for (const std::string& line : lines) absl::StrAppendFormat(&text, "**%s**\n\n", MarkdownText(line));
  }
  Rows rows;
  for (size_t h = 0; h < comparison.heads.size(); ++h) {
    absl::StrAppendFormat(&text, "%s\n\n", MarkdownText(ChangeInWords(comparison, h, screen)));
    AddHead(comparison, h, report, screen, rows);
  }
  if (comparison.base_amp) {
    for (const ComparedFigure& figure : FiguresOf(comparison.base.run(), *comparison.base_amp)) {
      if (figure.key != "device_bytes") continue;
      rows.Add(RowText(absl::StrFormat("%s %s, base with --amp %s", figure.part, figure.title, AmpName(comparison)),
                       figure.base, figure.head, false, screen.units));
    }
  }
  const std::vector<std::string> names = SideNames(comparison);
  text += absl::StrFormat("| | %s | %s | change | %% |\n| --- | ---: | ---: | ---: | ---: |\n", MarkdownText(names[0]),
                          names.size() == 2 ? MarkdownText(names[1]) : "head");
  text += rows.Text();
  for (const std::string& line : PrecisionInWords(comparison, screen)) {
    absl::StrAppendFormat(&text, "\n%s\n", MarkdownText(line));
  }
  if (const std::string assumed = AssumptionsText(comparison.heads.front().report); !assumed.empty()) {
    absl::StrAppendFormat(&text, "\n%s\n", MarkdownText(assumed));
  }
  return text;
}

}  // namespace onnx_mem
