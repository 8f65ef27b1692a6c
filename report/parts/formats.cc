#include "report/parts/formats.h"

#include <array>

#include "analyzer/graph/suggest.h"
#include "report/analyze/report.h"

namespace onnx_mem {
namespace {

constexpr auto kRows = std::to_array<FormatRow>({
    {"table", "txt text", "text for a screen", RenderText, false, false, Filter::kText, true},
    {"json", "json", "everything, in bytes", RenderJson, false, false, Filter::kData, true},
    {"csv", "csv", "the list of --by, or a row per batch", RenderCsv, false, false, Filter::kData},
    {"md", "md markdown", "a table for a pull request", RenderMarkdown},
    {"html", "html htm", "a page with pictures that opens offline", RenderPage, true, false, Filter::kData, true},
    {"svg", "svg", "the course of memory as a picture", RenderSvg, true, true, Filter::kData},
    {"trace", "trace perfetto", "every step, for Perfetto", RenderTrace, true, true, Filter::kData},
    {"folded", "folded collapsed", "bytes at the peak by module, for flame graphs", RenderFolded, true, true,
     Filter::kData},
    {"speedscope", "speedscope", "the same for speedscope", RenderSpeedscope, true, true, Filter::kData},
    {"snapshot", "pickle pkl", "every buffer at its address, for PyTorch's memory_viz", RenderSnapshot, true, true,
     Filter::kBinary},
    {"onnx", "onnx", "the model without weights, its nodes with their bytes, for Netron", RenderAnnotated, true, true,
     Filter::kBinary},
});

}  // namespace

absl::Span<const FormatRow> FormatRows() { return kRows; }

const FormatRow* FormatNamed(std::string_view name) {
  for (const FormatRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

const FormatRow* FormatMeant(std::string_view word) {
  for (const FormatRow& row : kRows) {
    if (SameWord(word, row.name) || HasWord(row.extensions, word)) return &row;
  }
  return nullptr;
}

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const FormatRow& row : kRows) names.emplace_back(row.name);
  return names;
}

std::string ShownAs(const FormatRow& format, const Report& report, const Screen& screen) {
  if (!std::holds_alternative<FitPart>(report.part) || format.name != "table") return format.render(report, screen);
  Report answer = report;
  std::erase_if(answer.notes, [](const Diagnostic& note) { return note.code != Code::kArenaStrategy; });
  return format.render(answer, screen);
}

}  // namespace onnx_mem
