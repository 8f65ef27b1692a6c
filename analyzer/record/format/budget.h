// Limits on what a small record can expand to, counted while it is read: zlib can multiply bytes by a thousand, a size
// of two bytes becomes a function of the batch, and every node gets the names of all calls that enclose it.
#ifndef ONNX_MEM_ANALYZER_RECORD_FORMAT_BUDGET_H_
#define ONNX_MEM_ANALYZER_RECORD_FORMAT_BUDGET_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/record/format/record.h"

namespace onnx_mem::record {

// An exporter's record has six and more packed bytes a line.
constexpr int64_t MostLines(int64_t stored_bytes) { return 50'000 + stored_bytes; }
// Bytes of all lines and values of a record, and of the names of the calls that enclose the operators of one program.
inline constexpr int64_t kMostRecordBytes = int64_t{256} << 20;
// Operators of one program: as many take a second and most of a gigabyte.
inline constexpr int64_t kMostOperators = 100'000;
// Spans within spans.
inline constexpr size_t kDeepestSpans = 256;

class Budget {
 public:
  // `stored_bytes`: of the text, or of what it was packed in.
  explicit Budget(int64_t stored_bytes) : most_lines_(MostLines(stored_bytes)) {}

  void StartProgram();
  void OpenCall(std::string_view name);
  void CloseCall();
  void Count(const Line& line);
  void Count(const Value& value);  // what it holds beside itself
  void CountBytes(size_t bytes) { made_bytes_ += static_cast<int64_t>(bytes); }

  // too-large, where one of the limits is passed at line number `lines`, in so many open spans.
  absl::Status Check(int64_t lines, size_t open_spans) const;

 private:
  int64_t most_lines_;
  std::vector<int64_t> open_names_;  // bytes of each
  int64_t open_bytes_ = 0;           // of them together
  int64_t named_bytes_ = 0;          // of the names of calls, of this program's nodes
  int64_t operators_ = 0;            // of this program
  int64_t made_bytes_ = 0;           // of all lines and values
};

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_FORMAT_BUDGET_H_
