// A run -> what would save most of its memory: every way (ways.cc), each measured, largest first.
#ifndef ONNX_MEM_PLANNER_ADVICE_SAVINGS_H_
#define ONNX_MEM_PLANNER_ADVICE_SAVINGS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/advice/footprint.h"
#include "planner/advice/way.h"

namespace onnx_mem {

struct Saving {
  Proposal change;
  Footprint footprint;       // with it
  int64_t saves_bytes = 0;   // on the device
  double extra_compute = 0;  // FLOPs that it adds, as a fraction of the step's
};

struct AdviceRequest {
  const Gpu* card = nullptr;    // where the run is to be; nullptr: not known
  int64_t plan_iterations = 0;  // enactments that a search for checkpoint plans may take; 0: no search
  // Who shows only the best way for each of so many prices, cheapest first, need not wait for the rest: once as many
  // have a way, dearer ones are not measured, and other tasks never. 0: all are.
  size_t prices = 0;
  // What ProposeCheckpoints proposes for the run as it is, where that is known: its search is the dearest of all.
  const std::vector<Proposal>* checkpoints = nullptr;
};

// Measures `change` against `now`, the run without it. Errors: those of Analyze, and FailedPrecondition where the
// changed model is understood less well than before (what it reports would be no saving).
absl::StatusOr<Saving> MeasureChange(Study& study, const Workload& workload, const Footprint& now, Proposal change);

// `workload` is a training step or, with mode kInference, an inference. Only what saves at least a hundredth of the
// bytes on the device, largest saving first. Errors: those of Analyze for the run as it is.
absl::StatusOr<std::vector<Saving>> RankSavings(Study& study, const Workload& workload, const AdviceRequest& request);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_SAVINGS_H_
