// Small files that a user names: plans, saved reports, costs, cards, instances.
#ifndef ONNX_MEM_ANALYZER_GRAPH_WHOLE_FILE_H_
#define ONNX_MEM_ANALYZER_GRAPH_WHOLE_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace onnx_mem {

// The whole content of a regular file, or of a pipe that is open already (/dev/stdin, "<(...)"). Errors: not-found;
// unreadable for a folder, a device, a pipe by name (which could block or never end) and a failing disk; too-large
// beyond 256 MiB.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_WHOLE_FILE_H_
