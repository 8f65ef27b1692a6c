#include "report/page/page.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"
#include "report/page/page_source.h"
#include "report/parts/formats.h"

namespace onnx_mem {
namespace {

std::string PolicyHash(std::string_view sha256_hex) {
  return absl::StrFormat("'sha256-%s'", absl::Base64Escape(absl::HexStringToBytes(std::string(sha256_hex))));
}

// The figure of the run that answers.
std::string PictureHtml(const Report& report) {
  const auto* part = std::get_if<AnalyzePart>(&report.part);
  const Analysis* analysis = part != nullptr ? part->analysis.get() : nullptr;
  if (part == nullptr && std::holds_alternative<PlanPart>(report.part)) {
    analysis = std::get<PlanPart>(report.part).baseline.get();
  }
  const RunFigures* figures = analysis != nullptr ? MainFigures(*analysis) : nullptr;
  if (figures == nullptr || figures->program->steps.empty()) return "";
  int64_t limit_bytes = 0;
  if (part != nullptr && !part->limits.empty()) limit_bytes = LiveLimit(part->limits.front(), *figures);
  return TimelinePicture(*figures->program, limit_bytes);
}

}  // namespace

int64_t LiveLimit(const Limit& limit, const PeakFigures& part) {
  return limit.bytes - (part.device_bytes - part.peak_bytes);
}

std::string Filled(std::string_view template_text, const std::vector<Filling>& fillings) {
  std::string text;
  while (!template_text.empty()) {
    const size_t open = template_text.find("{{");
    const size_t close = open == std::string_view::npos ? open : template_text.find("}}", open);
    if (close == std::string_view::npos) break;
    text += template_text.substr(0, open);
    const std::string_view name = template_text.substr(open + 2, close - open - 2);
    for (const Filling& filling : fillings) {
      if (filling.name == name) text += filling.text;
    }
    template_text.remove_prefix(close + 2);
  }
  return text + std::string(template_text);
}

std::string RenderPage(const Report& report, const Screen& screen) {
  const std::string name = report.model.path.empty() ? report.command : BaseName(report.model.path);
  const std::string tables = TablesHtml(report, screen), data = PageData(report);
  const bool still = tables.empty() && data == "{}";  // nothing that a script would draw or sort
  return Filled(kPageTemplate, {{"title", HtmlText(name)},
                                {"style_hash", PolicyHash(kPageStyleSha256)},
                                {"script_hash", PolicyHash(kPageScriptSha256)},
                                {"style", std::string(kPageStyle)},
                                {"headline", HeadlineHtml(report, screen)},
                                {"answer", AnswerHtml(report, screen)},
                                {"picture", PictureHtml(report)},
                                {"tables", tables},
                                {"notes", NotesHtml(report, screen)},
                                {"version", ONNX_MEM_VERSION},
                                {"data", data},
                                {"script", still ? "" : PageScript()}});
}

}  // namespace onnx_mem
