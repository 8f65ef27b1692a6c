// An enacted run -> its figures, by the optimizer and the allocator of a workload: hops of study.h. Those of planners
// too, which enact one model again and again.
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_FIGURES_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_FIGURES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/analysis/peak_bounds.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/parallel/data_parallel.h"

namespace onnx_mem {

// `workload` with the version of PyTorch that the file is of. All functions here want it so.
Workload WithTorchOf(const ModelInfo& info, Workload workload);

// What is expected of a training step: the low and high ends are those of the CUDA context alone.
absl::StatusOr<RunFigures> TrainingFigures(const LocalStep& step, const Workload& workload);
absl::StatusOr<RunFigures> TrainingFigures(const Enacted& enacted, const Workload& workload);
absl::StatusOr<RunFigures> TrainingFigures(Enacted&& enacted, const Workload& workload);

// Moves the ends to what they are whatever the libraries take as workspaces. `program` and `figures` are those of
// `step`; of an inference no step is read.
absl::Status WidenByLibraries(const LocalStep& step, const Workload& workload, const MemoryProgram& program,
                              PeakFigures& figures);
// And to what they are whatever the file leaves open: that moves what the card holds as it moves the peak.
void WidenByFile(const PeakBounds& bounds, PeakFigures& figures);

// What a runtime that plans ahead would take for the same inference.
void AddPlannedAhead(const Graph& graph, PeakFigures& figures);

// Where the allocator puts every buffer of `figures`, which are those of `step`; empty where it keeps no addresses.
absl::StatusOr<std::vector<int64_t>> AddressesOf(const LocalStep& step, const Workload& workload,
                                                 const RunFigures& figures);

// The interval of `figures`' peak by what the file leaves open (peak_bounds.h). `lowered` is lower_for(workload.run),
// which says of one run alone.
absl::StatusOr<PeakBounds> BoundRun(const Lowered& lowered, const Workload& workload, Peak peak, LowerFor lower_for,
                                    std::vector<Diagnostic>& diagnostics);
// Where it lies.
Peak PeakOf(const RunFigures& figures);

// Of a step that was recorded whole (analysis/recorded_step.h), of which `later` is what was enacted.
absl::StatusOr<RunFigures> RecordedFigures(const Graph& graph, const std::shared_ptr<const Enacted>& later,
                                           const Workload& workload);

// Bytes alive, step by step, of the steady training step alone: the timeline of TrainingFigures.
absl::StatusOr<std::vector<int64_t>> TrainingCourse(const Enacted& enacted, const Workload& workload);
std::vector<int64_t> TrainingCourse(const LocalStep& step, const Workload& workload);

// The exact peak of the steady training step alone.
int64_t TrainingPeak(const LocalStep& step, const Workload& workload);
absl::StatusOr<int64_t> TrainingPeak(const Enacted& enacted, const Workload& workload);

// The same step on a card that has no more than `device_bytes` for the process (or with
// set_per_process_memory_fraction): where memory runs out, the allocator gives back what it has cached and tries again.
// nullopt: it runs out all the same.
struct LimitedRun {
  int64_t device_bytes = 0;      // with the CUDA context, at most the limit
  int64_t first_retries = 0;     // in the first steps, until the cache has settled
  int64_t retries_per_step = 0;  // in every later one: each waits for the card and costs time
};
absl::StatusOr<std::optional<LimitedRun>> TrainingWithin(const Enacted& enacted, const Workload& workload,
                                                         int64_t device_bytes);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_FIGURES_H_
