// Report -> the course of memory as a picture of its own, for documents.
#include "absl/strings/str_format.h"
#include "report/page/page.h"
#include "report/parts/formats.h"
#include "report/viewers/drawn_runs.h"

namespace onnx_mem {
namespace {

// As web/page.css: the colours of categories, and of lines.
constexpr std::string_view kStyle =
    "<style>text{font:12px system-ui,sans-serif;fill:#5a6570}.grid{stroke:#e3e7ea}.phase{stroke:#5a6570;"
    "stroke-dasharray:3 3}.limit{stroke:#b3261e;stroke-dasharray:6 4}.peak{stroke:#1c2126}.c0{fill:#0072b2}"
    ".c1{fill:#8193a3}.c2{fill:#b0b7bd}.c3{fill:#d55e00}.c4{fill:#cc79a7}.c5{fill:#009e73}.c6{fill:#56b4e9}"
    ".c7{fill:#e69f00}.c8{fill:#d9c81e}.c9{fill:#4b535b}</style>\n";

}  // namespace

std::string RenderSvg(const Report& report, const Screen&) {
  const std::vector<ViewedRun> runs = ViewedRuns(report);
  if (runs.empty()) return "";
  const auto* part = std::get_if<AnalyzePart>(&report.part);
  const bool limited = part != nullptr && !part->limits.empty();
  const RunFigures& figures = *runs.front().figures;
  std::string svg = TimelinePicture(*figures.program, limited ? LiveLimit(part->limits.front(), figures) : 0);
  const size_t open = svg.find("<svg "), inside = svg.find(">\n");
  if (inside == std::string::npos) return "";
  svg.insert(inside + 2, absl::StrFormat("%s<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", kStyle));
  svg.insert(open + 5, "xmlns=\"http://www.w3.org/2000/svg\" ");
  return svg;
}

}  // namespace onnx_mem
