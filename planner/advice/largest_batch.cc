#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "analyzer/runtimes/runtime.h"
#include "planner/advice/batch_search.h"
#include "planner/advice/fit.h"

namespace onnx_mem {
namespace {

// The largest size of `grid` that is within the limit. Searches count its sizes, so that each one they look at runs.
absl::StatusOr<FittingBatch> LargestOn(const SizeGrid& grid, BatchSearch::BytesAt bytes_at, int64_t limit_bytes,
                                       const std::map<int64_t, int64_t>& known, int64_t start) {
  std::map<int64_t, int64_t> known_by_number;
  for (const auto& [size, bytes] : known) known_by_number.emplace(grid.NumberOf(size), bytes);
  const auto at_number = [&](int64_t number) { return bytes_at(grid.At(number)); };
  ASSIGN_OR_RETURN(FittingBatch largest,
                   BatchSearch(at_number, limit_bytes, std::move(known_by_number)).Run(grid.NumberOf(start)));
  largest.next = grid.At(largest.batch + 1);
  if (largest.batch > 0) largest.batch = grid.At(largest.batch);
  return largest;
}

}  // namespace

absl::StatusOr<BatchNeeds> BatchNeeds::Create(Study& study, const Workload& workload, const Axis& axis) {
  ASSIGN_OR_RETURN(Shared<ImportedModel> model, study.Import(workload.bindings));
  return BatchNeeds(study, workload, axis, std::move(model));
}

SizeGrid BatchNeeds::grid() const {
  const RankLayout& layout = workload_.layout;
  if (!axis_.length.empty() || !IsPipeline(layout)) return GridAlong(axis_, *model_);
  const int64_t micro_batches = MicroBatchesOf(layout.pipeline);
  return {.first = micro_batches, .step = micro_batches};
}

Workload BatchNeeds::WorkloadAt(int64_t size) const {
  Workload workload = workload_;
  workload.bindings = WithSize(axis_, workload_.bindings, *model_, start_, size);
  return workload;
}

absl::StatusOr<int64_t> BatchNeeds::ExpectedAt(int64_t batch) {
  if (const auto known = known_.find(batch); known != known_.end()) return known->second.expected_bytes;
  if (!RuntimeOf(workload_).eager) {  // whose range costs nothing
    ASSIGN_OR_RETURN(const Need need, At(batch));
    return need.expected_bytes;
  }
  ASSIGN_OR_RETURN(const Shared<RunFigures> figures, study_->Figures(WorkloadAt(batch)));
  return figures->device_bytes;
}

absl::StatusOr<Need> BatchNeeds::At(int64_t batch) {
  if (const auto known = known_.find(batch); known != known_.end()) return known->second;
  ASSIGN_OR_RETURN(const Need need, study_->NeedOf(WorkloadAt(batch)));
  known_.emplace(batch, need);
  return need;
}

std::map<int64_t, int64_t> BatchNeeds::Known(int64_t Need::*figure) const {
  std::map<int64_t, int64_t> known;
  for (const auto& [batch, need] : known_) known.emplace(batch, need.*figure);
  return known;
}

absl::StatusOr<FittingBatch> FindLargestBatch(Study& study, const Workload& workload, int64_t limit_bytes,
                                              const Axis& axis) {
  ASSIGN_OR_RETURN(BatchNeeds needs, BatchNeeds::Create(study, workload, axis));
  const auto expected = [&](int64_t batch) { return needs.ExpectedAt(batch); };
  return LargestOn(needs.grid(), expected, limit_bytes, {}, needs.start());
}

absl::StatusOr<BatchEdges> FindBatchEdges(BatchNeeds& needs, int64_t limit_bytes) {
  const auto expected = [&](int64_t batch) { return needs.ExpectedAt(batch); };
  BatchEdges edges;
  ASSIGN_OR_RETURN(edges.expected, LargestOn(needs.grid(), expected, limit_bytes, {}, needs.start()));
  // The ends of the range, from where the figure itself meets the limit: safe below, impossible above.
  const int64_t from = std::max<int64_t>(edges.expected.batch, needs.grid().first);
  RETURN_IF_ERROR(needs.At(from).status());
  const auto end = [&](int64_t Need::*figure) {
    const auto bytes_at = [&needs, figure](int64_t batch) -> absl::StatusOr<int64_t> {
      ASSIGN_OR_RETURN(const Need need, needs.At(batch));
      return need.*figure;
    };
    return LargestOn(needs.grid(), bytes_at, limit_bytes, needs.Known(figure), from);
  };
  ASSIGN_OR_RETURN(edges.safe, end(&Need::high_bytes));
  ASSIGN_OR_RETURN(const FittingBatch possible, end(&Need::low_bytes));
  if (possible.at_least) return edges;
  edges.impossible_from = possible.next;
  edges.possible = possible.batch;
  edges.impossible_low_bytes = possible.device_bytes_beyond;
  edges.possible_low_bytes = possible.device_bytes;
  return edges;
}

}  // namespace onnx_mem
