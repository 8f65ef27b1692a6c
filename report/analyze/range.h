// Why the range of what a device holds is as wide as it is: each cause with what it moves down to the low end and up
// to the high one, which add up.
//
//   low 1780.3 MiB          expected 2032.0 MiB          high 2480.0 MiB
//   the CUDA context    -150.0 MiB  +300.0 MiB   nvidia-smi of a running process less torch.cuda.memory_reserved()
//   library workspace            -  +148.0 MiB   ...
//   the allocator's gaps -101.7 MiB          -
#ifndef ONNX_MEM_REPORT_ANALYZE_RANGE_H_
#define ONNX_MEM_REPORT_ANALYZE_RANGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/analyze/report.h"
#include "report/parts/table.h"

namespace onnx_mem {

struct RangeCause {
  std::string_view key;       // "cuda_context"
  std::string_view words;     // "the CUDA context"
  std::string_view known_by;  // the one fact that closes it
  int64_t less_bytes = 0;     // from the expected figure down to the low one
  int64_t more_bytes = 0;     // up to the high one
};

// True where the steps of the run differ in size.
bool SizesVary(const Report& report);

// Widest first; what moves nothing is left out. Empty where the figure has no range.
std::vector<RangeCause> RangeCauses(const Report& report, const PartSummary& part);

// "low and high, mostly by the CUDA context and library workspace"; "" where the figure has no range.
std::string RangeWords(const Report& report, const PartSummary& part);

// A row for each part and cause of one run: what the ends consist of, in bytes.
Table RangeTable(const Report& report);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_ANALYZE_RANGE_H_
