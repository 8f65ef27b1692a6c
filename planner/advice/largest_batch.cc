#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "analyzer/runtimes/runtime.h"
#include "planner/advice/batch_search.h"
#include "planner/advice/fit.h"

namespace onnx_mem {

absl::StatusOr<BatchNeeds> BatchNeeds::Create(Study& study, const Workload& workload) {
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, study.Import(workload.bindings));
  BatchNeeds needs(study, workload);
  for (TensorId id : model->graph.inputs) needs.inputs_.push_back(model->graph.tensors[id].name);
  needs.start_ = std::max<int64_t>(workload.bindings.batch.value_or(model->info.file_batch), 1);
  needs.bound_to_ = needs.start_;
  return needs;
}

// Inputs that were given whole carry the batch in dim 0.
void BatchNeeds::SetBatch(int64_t batch) {
  Bindings& bindings = workload_.bindings;
  bindings.batch = batch;
  for (const std::string& name : inputs_) {
    const auto given = bindings.inputs.find(name);  // weights may be given, too
    if (given == bindings.inputs.end() || given->second.empty()) continue;
    if (given->second.front() == bound_to_) given->second.front() = batch;
  }
  bound_to_ = batch;
}

absl::StatusOr<int64_t> BatchNeeds::ExpectedAt(int64_t batch) {
  if (const auto known = known_.find(batch); known != known_.end()) return known->second.expected_bytes;
  if (!RuntimeOf(workload_).eager) {  // whose range costs nothing
    ASSIGN_OR_RETURN(const Need need, At(batch));
    return need.expected_bytes;
  }
  SetBatch(batch);
  ASSIGN_OR_RETURN(const Footprint footprint, FootprintOf(*study_, workload_));
  return footprint.device_bytes;
}

absl::StatusOr<Need> BatchNeeds::At(int64_t batch) {
  if (const auto known = known_.find(batch); known != known_.end()) return known->second;
  SetBatch(batch);
  ASSIGN_OR_RETURN(const Need need, study_->NeedOf(workload_));
  known_.emplace(batch, need);
  return need;
}

std::map<int64_t, int64_t> BatchNeeds::Known(int64_t Need::*figure) const {
  std::map<int64_t, int64_t> known;
  for (const auto& [batch, need] : known_) known.emplace(batch, need.*figure);
  return known;
}

absl::StatusOr<FittingBatch> FindLargestBatch(Study& study, const Workload& workload, int64_t limit_bytes) {
  ASSIGN_OR_RETURN(BatchNeeds needs, BatchNeeds::Create(study, workload));
  const auto expected = [&](int64_t batch) { return needs.ExpectedAt(batch); };
  return BatchSearch(expected, limit_bytes).Run(needs.start());
}

absl::StatusOr<BatchEdges> FindBatchEdges(BatchNeeds& needs, int64_t limit_bytes) {
  const auto expected = [&](int64_t batch) { return needs.ExpectedAt(batch); };
  BatchEdges edges;
  ASSIGN_OR_RETURN(edges.expected, BatchSearch(expected, limit_bytes).Run(needs.start()));
  // The ends of the range, from where the figure itself meets the limit: safe below, impossible above.
  const int64_t from = std::max<int64_t>(edges.expected.batch, 1);
  RETURN_IF_ERROR(needs.At(from).status());
  const auto end = [&](int64_t Need::*figure) {
    const auto bytes_at = [&needs, figure](int64_t batch) -> absl::StatusOr<int64_t> {
      ASSIGN_OR_RETURN(const Need need, needs.At(batch));
      return need.*figure;
    };
    return BatchSearch(bytes_at, limit_bytes, needs.Known(figure)).Run(from);
  };
  ASSIGN_OR_RETURN(edges.safe, end(&Need::high_bytes));
  ASSIGN_OR_RETURN(const FittingBatch possible, end(&Need::low_bytes));
  if (possible.at_least) return edges;
  edges.impossible_from = possible.batch + 1;
  edges.impossible_low_bytes = possible.device_bytes_beyond;
  edges.possible_low_bytes = possible.device_bytes;
  return edges;
}

}  // namespace onnx_mem
