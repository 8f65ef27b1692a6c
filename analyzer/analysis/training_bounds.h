// An export has lost what training needs: in evaluation mode dropouts and which weights are shared, in any mode what is
// written in place and what is written by hand. What the training peak is when each is taken the other way, measured by
// the same accountant:
//
//   dropout-assumed   none (--dropout file); one behind every activation as well
//   eval-dropout      one at each usual place (--dropout 0.1); one behind every activation as well
//   tied-weights      weights of their own (--tied no)
//   maybe-tied        shared (--tied yes)
//   bn-undecided      with a BatchNorm behind every convolution that has a bias (--bn unfold)
//   trained-undecided  with single numbers that scale activations frozen
//   inplace-assumed   not in place (--inplace none)
//   inplace-possible  every activation in place that may be (--inplace all)
//   silu-assumed      written by hand (--no-rewrite silu); likewise hardswish-, mish- and glu-assumed
//   custom-function   all that autograd would keep (--no-rewrite custom-function); nothing
//                     (--no-rewrite function-inputs)
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_TRAINING_BOUNDS_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_TRAINING_BOUNDS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// The peak of a training step, bytes.
using PeakOfRun = absl::FunctionRef<absl::StatusOr<int64_t>(const Run& run)>;

// The range of the training peak of `run`, `peak_bytes` within it, by the `diagnostics` that it gave. Each that is
// about something lost is told in a line of its details what the peak is the other way, and is a warning where
// something as likely as what was counted moves it by more than 1 %. A range of one value where nothing was lost.
absl::StatusOr<PeakBounds> BoundTraining(const Run& run, int64_t peak_bytes, PeakOfRun peak_of,
                                         std::vector<Diagnostic>& diagnostics);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_TRAINING_BOUNDS_H_
