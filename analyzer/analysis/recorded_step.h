// A training step that its author wrote and onnx_mem.record(step=...) counted, at one batch and length: there is
// nothing to enact in it.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_RECORDED_STEP_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_RECORDED_STEP_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/graph/graph.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

bool IsRecordedStep(const Graph& graph);

// Error: Unimplemented "record-settles" where `workload` wants an inference, several cards, or another step.
absl::Status CheckRecordedStep(const Workload& workload);

// Of a graph that is one: a later call, with its optimizer in it, and the first one. Errors: InvalidArgument
// "bad-record" for a category or phase that there is not, and where a size is no whole number at this batch.
absl::StatusOr<Enacted> EnactRecordedStep(const Graph& graph);
absl::StatusOr<MemoryProgram> FirstCallOf(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_RECORDED_STEP_H_
