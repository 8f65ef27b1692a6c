#include "solver/methods/incumbent.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "solver/problem/simulate.h"

namespace onnx_mem {

Incumbent::Incumbent(const StepGraph& graph, int64_t budget_bytes) : graph_(graph), budget_bytes_(budget_bytes) {}

bool Incumbent::Offer(const OpSequence& runs, std::string_view method) {
  std::optional<Schedule> schedule = ScheduleOf(graph_, runs);
  if (!schedule) return false;
  const absl::StatusOr<ScheduleMeasure> measure = Simulate(graph_, *schedule);
  if (!measure.ok() || measure->peak_bytes > budget_bytes_) return false;
  const bool better = measure->cost < cost_ || (measure->cost == cost_ && measure->peak_bytes < peak_bytes_);
  if (!better) return false;
  cost_ = measure->cost;
  peak_bytes_ = measure->peak_bytes;
  runs_ = runs;
  schedule_ = *std::move(schedule);
  method_ = std::string(method);
  return true;
}

void Incumbent::RaiseBound(int64_t cost) { lower_bound_ = std::max(lower_bound_, cost); }

void Incumbent::ProveInfeasible(std::string why) { why_infeasible_ = std::move(why); }

}  // namespace onnx_mem
