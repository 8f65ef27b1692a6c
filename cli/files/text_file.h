// Small text files that the user names: plans, saved reports, measured costs.
#ifndef ONNX_MEM_CLI_FILES_TEXT_FILE_H_
#define ONNX_MEM_CLI_FILES_TEXT_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace onnx_mem {

// The whole content. Errors: not-found, and unreadable for a folder or a failing disk.
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_FILES_TEXT_FILE_H_
