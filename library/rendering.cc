#include "library/rendering.h"

#include <mutex>
#include <optional>
#include <utility>

#include "analyzer/graph/bytes.h"
#include "analyzer/graph/status_macros.h"
#include "cli/options/option_values.h"
#include "library/guard.h"
#include "report/parts/formats.h"
#include "report/parts/screen.h"

namespace onnx_mem::api {

struct Report::Content {
  onnx_mem::Report report;  // without savings
  std::function<Table(Advice)> savings;
  std::function<absl::StatusOr<EmittedCode>(std::string_view form)> emit;

  onnx_mem::Report Whole() const {
    onnx_mem::Report whole = report;
    if (!savings) return whole;
    const std::lock_guard lock(mutex);
    if (!saved) saved = savings(Advice::kWhole);
    std::get<AnalyzePart>(whole.part).savings = *saved;
    return whole;
  }

 private:
  mutable std::mutex mutex;
  mutable std::optional<Table> saved;
};

Report::Report(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

Report ReportOf(onnx_mem::CommandAnswer answered) {
  auto content = std::make_shared<Report::Content>();
  content->report = std::move(answered.report);
  content->savings = std::move(answered.savings);
  content->emit = std::move(answered.emit);
  return Report(std::move(content));
}

namespace {

absl::StatusOr<std::string> RenderedCode(const Report::Content& content, std::string_view form) {
  if (!content.emit) return UsageError("there is no chosen plan to print as code");
  ASSIGN_OR_RETURN(EmittedCode code, content.emit(form));
  return std::move(code.text);
}

absl::StatusOr<std::string> Rendered(const Report::Content* content, std::string_view format, std::string_view units) {
  if (content == nullptr) return UsageError("a report that answers nothing cannot be rendered");
  ASSIGN_OR_RETURN(const ByteUnit unit, ParseByteUnit(units));
  if (format == "quiet") return RenderQuiet(content->report);
  if (format == "pytorch") return RenderedCode(*content, "pytorch");
  if (format == "plan") return RenderedCode(*content, "json");
  const FormatRow* row = FormatMeant(format);
  if (row == nullptr) {
    std::vector<std::string> names = FormatNames();
    names.emplace_back("quiet");
    return UnknownChoice(format, names);
  }
  const Screen screen{kWidest, /*color=*/false, /*utf8=*/true, unit};
  return ShownAs(*row, content->Whole(), screen);
}

}  // namespace

Result<std::string> Report::Render(std::string_view format, std::string_view units) const {
  return Guarded<std::string>([&] { return Rendered(content_.get(), format, units); });
}

}  // namespace onnx_mem::api
