// Who runs a model: one row for each runtime.
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_RUNTIME_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_RUNTIME_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/onnx/build/import.h"

namespace onnx_mem {

struct RuntimeRow {
  std::string_view name;  // as --for and reports have it
  Client client;          // of its allocators
  // It runs what is enacted, operator by operator: a training step too, and what the file does not say and what
  // libraries take moves its figures. A runtime that is not eager plans the file's own operators before they run.
  bool eager;
  // What is expected of an inference.
  absl::StatusOr<RunFigures> (*inference)(const ImportedModel& model, const std::shared_ptr<const Enacted>& enacted,
                                          const Workload& workload);
};

// The one that has the workload's allocator.
const RuntimeRow& RuntimeOf(const Workload& workload);

// The rows' functions, a file each.
absl::StatusOr<RunFigures> EagerInference(const ImportedModel& model, const std::shared_ptr<const Enacted>& enacted,
                                          const Workload& workload);
absl::StatusOr<RunFigures> SessionInference(const ImportedModel& model, const std::shared_ptr<const Enacted>& enacted,
                                            const Workload& workload);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_RUNTIME_H_
