#include "planner/advice/savings.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "analyzer/order/stable_sort.h"
#include "analyzer/run/work.h"

namespace onnx_mem {
namespace {

int64_t Warnings(const std::vector<Diagnostic>& diagnostics) {
  return std::count_if(diagnostics.begin(), diagnostics.end(),
                       [](const Diagnostic& d) { return d.severity != Severity::kNote; });
}

// Other sizes may bring shapes that nobody can infer; their bytes would be missing and look like a saving.
absl::Status CheckUnderstood(Study& study, const Bindings& before, const Bindings& after) {
  if (before == after) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Shared<ImportedModel> old_model, study.Import(before));
  const int64_t old_warnings = Warnings(old_model->diagnostics);
  ASSIGN_OR_RETURN(const Shared<ImportedModel> new_model, study.Import(after));
  if (Warnings(new_model->diagnostics) <= old_warnings) return absl::OkStatus();
  return absl::FailedPreconditionError("the model is understood less well with these sizes");
}

// Whether a way of this price may be among the best of the `prices` cheapest ones.
bool IsRequested(Price price, const std::set<Price>& found, size_t prices) {
  const auto cheaper = std::distance(found.begin(), found.lower_bound(price));
  return price != Price::kTask && static_cast<size_t>(cheaper) < prices;
}

}  // namespace

absl::StatusOr<Saving> MeasureChange(Study& study, const Workload& workload, const Footprint& now, Proposal change) {
  RETURN_IF_ERROR(CheckUnderstood(study, workload.bindings, change.workload.bindings));
  Saving saving;
  ASSIGN_OR_RETURN(saving.footprint, FootprintOf(study, change.workload));
  saving.change = std::move(change);
  saving.saves_bytes = now.device_bytes - saving.footprint.device_bytes;
  const int64_t extra = saving.footprint.recompute_flops - now.recompute_flops;
  const int64_t step_flops = saving.footprint.forward_flops + saving.footprint.backward_flops;
  if (step_flops > 0) {
    saving.extra_compute = static_cast<double>(extra) / static_cast<double>(step_flops);
  }
  return saving;
}

absl::StatusOr<std::vector<Saving>> RankSavings(Study& study, const Workload& workload, const AdviceRequest& request) {
  ASSIGN_OR_RETURN(const Footprint now, FootprintOf(study, workload));
  std::vector<Saving> savings;
  std::set<Price> found;
  for (const WayRow& row : WayRows()) {
    if (!work::HasLeft(work::kAdviceShare)) break;
    if (request.prices > 0 && !IsRequested(row.price, found, request.prices)) continue;
    ASSIGN_OR_RETURN(Situation situation, SituationOf(study, workload));
    situation.card = request.card;
    situation.plan_iterations = request.plan_iterations;
    for (Proposal& change : row.propose(situation)) {
      absl::StatusOr<Saving> saving = MeasureChange(study, workload, now, std::move(change));
      if (!saving.ok()) continue;  // the model cannot do it
      if (saving->saves_bytes < now.device_bytes / kWorthwhile) continue;
      found.insert(saving->change.price);
      savings.push_back(*std::move(saving));
    }
  }
  StableSort(savings, [](const Saving& a, const Saving& b) { return a.saves_bytes > b.saves_bytes; });
  return savings;
}

}  // namespace onnx_mem
