// A report that onnx-mem saved (-f json, -o report.json) -> a side of a comparison, so that CI keeps a few kilobytes
// instead of a model.
#ifndef ONNX_MEM_CLI_FILES_SAVED_REPORT_H_
#define ONNX_MEM_CLI_FILES_SAVED_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "report/compare/comparison.h"

namespace onnx_mem {

// The run of `batch`, or the only one. Layers are there if the report lists them; operators never are. Errors:
// bad-report for what is not a report of analyze, and for a batch that it does not have; `path` is for messages.
absl::StatusOr<ComparedSide> ParseSavedReport(std::string_view text, const std::string& path,
                                              std::optional<int64_t> batch);

// Errors also: not-found.
absl::StatusOr<ComparedSide> ReadSavedReport(const std::string& path, std::optional<int64_t> batch);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_FILES_SAVED_REPORT_H_
