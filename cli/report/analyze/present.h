// Report -> the text of standard output and the files of --export.
#ifndef ONNX_MEM_CLI_REPORT_ANALYZE_PRESENT_H_
#define ONNX_MEM_CLI_REPORT_ANALYZE_PRESENT_H_

#include <string>

#include "absl/status/status.h"
#include "cli/options/options.h"
#include "cli/report/analyze/report.h"
#include "cli/report/parts/formats.h"
#include "cli/report/parts/screen.h"

namespace onnx_mem {

// As standard output shows it, beside which warnings are told: of notes, the screen of fit has only the better arena's.
std::string ShownAs(const FormatRow& format, const Report& report, const Screen& screen);

std::string Present(const Report& report, const Options& options);

// Does the report go anywhere in a format that draws every step?
bool DrawsSteps(const Options& options);

// Writes each of options.exports. Error: write-failed.
absl::Status WriteExports(const Report& report, const Options& options);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_REPORT_ANALYZE_PRESENT_H_
