#include "cli/present.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "cli/host/output_file.h"
#include "cli/host/terminal.h"
#include "report/parts/formats.h"
#include "report/parts/printable.h"

namespace onnx_mem {
namespace {

// What the command reads.
std::vector<std::string> InputFiles(const Options& options) {
  std::vector<std::string> inputs = options.operands;
  inputs.insert(inputs.end(), {options.plan_file, options.instance_file, options.cost_file});
  if (const char* cards = std::getenv("ONNX_MEM_GPUS")) inputs.emplace_back(cards);
  return inputs;
}

absl::Status NothingToShow(const FormatRow& format) {
  return ErrorStatus(
      absl::StatusCode::kFailedPrecondition, Code::kUsage,
      absl::StrFormat("format %s has nothing to show of this: it wants an ONNX graph that was analyzed", format.name),
      {"try: onnx-mem MODEL -o page.html"});
}

}  // namespace

std::string Present(const Report& report, const Options& options) {
  if (options.quiet) return RenderQuiet(report);
  return ShownAs(*FormatNamed(options.format), report, ScreenOfStandardOutput(options.color, options.units));
}

bool DrawsSteps(const Options& options) {
  if (FormatNamed(options.format)->every_step && !options.quiet) return true;
  return std::any_of(options.exports.begin(), options.exports.end(),
                     [](const Export& file) { return FormatNamed(file.format)->every_step; });
}

absl::Status WriteExports(const Report& report, const Options& options) {
  for (const Export& file : options.exports) {
    // A file looks the same wherever it is written.
    const Screen screen{kWidest, /*color=*/false, /*utf8=*/true, options.units};
    const FormatRow& format = *FormatNamed(file.format);
    const std::string text = Printable(format.render(report, screen), format.filter);
    if (text.empty() && format.one_run) return NothingToShow(format);
    RETURN_IF_ERROR(WriteOutputFile(file.path, text, InputFiles(options)));
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
