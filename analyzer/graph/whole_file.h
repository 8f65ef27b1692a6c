// Small files that a user names: plans, saved reports, costs, cards, instances.
#ifndef ONNX_MEM_ANALYZER_GRAPH_WHOLE_FILE_H_
#define ONNX_MEM_ANALYZER_GRAPH_WHOLE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace onnx_mem {

// The whole content of a regular file, or of a pipe that is open already (/dev/stdin, "<(...)"). Errors: not-found;
// unreadable for a folder, a device, a pipe by name (which could block or never end) and a failing disk; too-large
// beyond `most_bytes`.
inline constexpr int64_t kMostOfSmallFile = 256 << 20;  // the largest instances of the planner's own corpus have 20 MB
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, int64_t most_bytes = kMostOfSmallFile);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_WHOLE_FILE_H_
