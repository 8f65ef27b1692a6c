// Report -> the text of standard output and the files of --export.
#ifndef ONNX_MEM_CLI_PRESENT_H_
#define ONNX_MEM_CLI_PRESENT_H_

#include <string>

#include "absl/status/status.h"
#include "cli/options/options.h"
#include "report/analyze/report.h"
#include "report/parts/formats.h"
#include "report/parts/screen.h"

namespace onnx_mem {

std::string Present(const Report& report, const Options& options);

// Does the report go anywhere in a format that draws every step?
bool DrawsSteps(const Options& options);

// Writes each of options.exports. Error: write-failed.
absl::Status WriteExports(const Report& report, const Options& options);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_PRESENT_H_
