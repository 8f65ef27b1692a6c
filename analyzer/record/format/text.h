// Text <-> Record, format `eager 1`.
#ifndef ONNX_MEM_ANALYZER_RECORD_FORMAT_TEXT_H_
#define ONNX_MEM_ANALYZER_RECORD_FORMAT_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "analyzer/record/format/record.h"

namespace onnx_mem::record {

// Whether a file that begins so is meant to be a record, of whatever version.
bool LooksLikeRecord(std::string_view head);

// Error: InvalidArgument "bad-record", which names the line; "too-large" beyond the limits of budget.h. Work and memory
// are linear in the text; a value is defined before it is used, spans are closed in order. `stored_bytes`: of the file,
// where the text was packed in it.
absl::StatusOr<Record> ParseRecord(std::string_view text, std::optional<int64_t> stored_bytes = std::nullopt);

// ParseRecord(ToText(r)) is r, but for the numbers of the lines.
std::string ToText(const Record& record);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_FORMAT_TEXT_H_
