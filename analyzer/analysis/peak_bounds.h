// The interval that holds a peak, given what the file does not say: each open row of assume/table is taken the other
// way and measured by the same accountant, and all ways that lead down, or up, together; of conventions of code one at
// a time.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_PEAK_BOUNDS_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_PEAK_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

struct PeakBounds {
  int64_t low_bytes = 0;
  int64_t high_bytes = 0;
};

// The model lowered for another run.
using LowerFor = absl::FunctionRef<absl::StatusOr<Lowered>(const Run& run)>;
// The peak of a lowered model, bytes.
using PeakOfLowered = absl::FunctionRef<absl::StatusOr<int64_t>(const Lowered& lowered, const Run& run)>;

struct Peak {
  int64_t bytes = 0;
  bool in_forward = true;  // it lies there, not in backward or in the optimizer's step
};

// The interval of the peak of `run` (training or inference), `peak` within it. `lowered` is lower_for(run).
// `diagnostics` are those that the model gave: each that is about something lost is reported in a line of its details
// what the training peak is the other way, and is a warning where something as likely as what was counted moves it by
// more than 1 %.
absl::StatusOr<PeakBounds> BoundPeak(const Lowered& lowered, const Run& run, Peak peak, LowerFor lower_for,
                                     PeakOfLowered peak_of, std::vector<Diagnostic>& diagnostics);

// `open`, the interval of a peak of `peak_bytes` by what the file leaves open, with the margin for what no row stands
// for (assume/table/margins.h). Records have none.
PeakBounds WithMargin(const PeakBounds& open, int64_t peak_bytes, const Lowered& lowered, bool training);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_PEAK_BOUNDS_H_
