// Files that the program writes.
#ifndef ONNX_MEM_CLI_HOST_OUTPUT_FILE_H_
#define ONNX_MEM_CLI_HOST_OUTPUT_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace onnx_mem {

// Writes all of `text` or nothing: beside `path` first, and then under its name, so that a reader never sees a half,
// and a full disk or an interrupt leaves what was there. What is there and no regular file (/dev/stdout, a pipe
// somebody reads) is written to as it is. Errors: write-failed; is-input where `path` is one of `inputs` under some
// name.
absl::Status WriteOutputFile(const std::string& path, std::string_view text, const std::vector<std::string>& inputs);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_HOST_OUTPUT_FILE_H_
