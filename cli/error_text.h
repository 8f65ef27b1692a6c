// Diagnostics as the user reads them on standard error, and as a program reads them with --format json.
//
//   onnx-mem: error: cannot open 'resnet.onx': no such file [not-found]
//     did you mean: resnet.onnx
#ifndef ONNX_MEM_CLI_ERROR_TEXT_H_
#define ONNX_MEM_CLI_ERROR_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "analyzer/graph/diagnostic.h"
#include "cli/exit_code.h"

namespace onnx_mem {

// Lines for standard error, wrapped to `width` columns but for what is to be copied ("try: ..."); 0: not wrapped.
std::string ErrorText(const Diagnostic& diagnostic, size_t width = 0);

// Of the terminal that standard error is; 0 where it is none.
size_t WidthOfStandardError();

// {"schema": ..., "command": ..., "error": {"code": ..., "message": ..., "details": [...]}}
std::string ErrorJson(const Diagnostic& diagnostic, std::string_view command);

// What went wrong, completed by what only the program knows: which files lie beside one that was not found, and that a
// bug of ours is to be reported.
Diagnostic ErrorOf(const absl::Status& status);

// kBug for Internal and for what no code of ours stands on, else kCannot.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ERROR_TEXT_H_
