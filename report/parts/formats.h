// The forms of a report: one row each, one file each.
#ifndef ONNX_MEM_REPORT_PARTS_FORMATS_H_
#define ONNX_MEM_REPORT_PARTS_FORMATS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "report/parts/printable.h"
#include "report/parts/screen.h"

namespace onnx_mem {

struct Report;

struct FormatRow {
  std::string_view name;        // --format and --export NAME=FILE
  std::string_view extensions;  // of files, separated by spaces
  std::string_view description;
  std::string (*render)(const Report& report, const Screen& screen);
  bool every_step = false;  // wants AnalyzePart::analysis and PlanPart::drawn, and every table
  bool one_run = false;     // shows the steps of one model at one batch, and nothing else
  Filter filter = Filter::kText;
  bool advises = false;  // shows what would save most, which takes longer to know than all the rest
};

absl::Span<const FormatRow> FormatRows();

// nullptr when there is none.
const FormatRow* FormatNamed(std::string_view name);
// By its name or an extension of its files, in any case.
const FormatRow* FormatMeant(std::string_view word);
std::vector<std::string> FormatNames();

std::string RenderText(const Report& report, const Screen& screen);
std::string RenderJson(const Report& report, const Screen& screen);
std::string RenderCsv(const Report& report, const Screen& screen);
std::string RenderMarkdown(const Report& report, const Screen& screen);
std::string RenderPage(const Report& report, const Screen& screen);
std::string RenderSvg(const Report& report, const Screen& screen);
std::string RenderTrace(const Report& report, const Screen& screen);
std::string RenderFolded(const Report& report, const Screen& screen);
std::string RenderSpeedscope(const Report& report, const Screen& screen);
std::string RenderAnnotated(const Report& report, const Screen& screen);
std::string RenderSnapshot(const Report& report, const Screen& screen);

// One line per run, for grep and awk: "resnet50.onnx batch=64 train=6420221133 infer=1324666061". Bytes on the device;
// "train>=" where they are a lower bound.
std::string RenderQuiet(const Report& report);

// As standard output shows it, beside which warnings are printed: of notes, the screen of fit has only the better
// arena's.
std::string ShownAs(const FormatRow& format, const Report& report, const Screen& screen);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_FORMATS_H_
