#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "analyzer/order/stable_sort.h"
#include "analyzer/run/work.h"
#include "planner/advice/fit.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostParts = 3;         // changes in a combination
constexpr size_t kMostCombinations = 3;  // that are reported
constexpr int64_t kMostTried = 40;       // combinations that are measured

bool ChangesBatch(const Workload& from, const Workload& to) { return from.bindings.batch != to.bindings.batch; }

class Ways {
 public:
  Ways(Study& study, const Workload& workload, int64_t limit_bytes, const AdviceRequest& request, const Axis& axis)
      : study_(study), workload_(workload), limit_bytes_(limit_bytes), request_(request), axis_(axis) {}

  absl::StatusOr<std::vector<FitWay>> Run() {
    ASSIGN_OR_RETURN(now_, FootprintOf(study_, workload_));
    for (const WayRow& row : WayRows()) {
      if (!work::HasLeft(work::kAdviceShare)) break;
      if (IsSpread(workload_.layout) && !row.spread) continue;
      RETURN_IF_ERROR(TrySingle(row));
    }
    const bool cheap =
        std::any_of(fitting_.begin(), fitting_.end(), [](const Saving& s) { return s.change.price <= Price::kTime; });
    if (!cheap) Combine();
    StableSort(fitting_, Cheaper);
    std::vector<FitWay> ways;
    for (Saving& saving : fitting_) ways.push_back(WithLargestBatch(std::move(saving)));
    return ways;
  }

 private:
  static bool Cheaper(const Saving& a, const Saving& b) {
    if (a.change.price != b.change.price) return a.change.price < b.change.price;
    return a.extra_compute < b.extra_compute;
  }

  std::vector<Proposal> Propose(const WayRow& row, const Workload& workload) {
    absl::StatusOr<Situation> situation = SituationOf(study_, workload);
    if (!situation.ok()) return {};
    situation->card = request_.card;
    situation->budget_bytes = limit_bytes_;
    situation->plan_iterations = request_.plan_iterations;
    if (&workload == &workload_) situation->checkpoints = request_.checkpoints;
    return row.propose(*situation);
  }

  // Of the changes of a row, smallest first, the first one that is enough.
  absl::Status TrySingle(const WayRow& row) {
    for (Proposal& change : Propose(row, workload_)) {
      absl::StatusOr<Saving> saving = MeasureChange(study_, workload_, now_, std::move(change));
      if (!saving.ok()) continue;  // the model cannot do it
      if (saving->footprint.device_bytes <= limit_bytes_) {
        fitting_.push_back(*std::move(saving));
        break;
      }
      const bool helps = saving->saves_bytes >= now_.device_bytes / kWorthwhile;
      if (helps && saving->change.price <= Price::kTraining) helping_.push_back({&row, *std::move(saving)});
    }
    return absl::OkStatus();
  }

  // Adds later changes to earlier ones until it is enough, in the order of the table, which is by price.
  void Combine() {
    struct Partial {
      Saving saving;
      size_t last;
      size_t parts;
    };
    std::vector<Partial> open;
    for (size_t i = 0; i < helping_.size(); ++i) open.push_back({helping_[i].second, i, 1});
    size_t found = 0;
    int64_t tried = 0;
    for (size_t at = 0; at < open.size() && found < kMostCombinations; ++at) {
      const Partial partial = open[at];
      if (partial.parts == kMostParts) continue;
      for (size_t i = partial.last + 1; i < helping_.size() && found < kMostCombinations; ++i) {
        if (!work::HasLeft(work::kAdviceShare)) return;
        if (helping_[i].first == helping_[partial.last].first) continue;  // two of one way exclude each other
        if (++tried > kMostTried) return;
        std::optional<Saving> both = Add(partial.saving, helping_[i]);
        if (!both || both->footprint.device_bytes >= partial.saving.footprint.device_bytes) continue;
        if (both->footprint.device_bytes > limit_bytes_) {
          open.push_back({*std::move(both), i, partial.parts + 1});
          continue;
        }
        fitting_.push_back(*std::move(both));
        ++found;
      }
    }
  }

  // The same change proposed again where `first` has been made.
  std::optional<Saving> Add(const Saving& first, const std::pair<const WayRow*, Saving>& second) {
    for (Proposal& change : Propose(*second.first, first.change.workload)) {
      if (change.flags != second.second.change.flags) continue;
      change.flags.insert(change.flags.begin(), first.change.flags.begin(), first.change.flags.end());
      change.change = first.change.change + ", " + change.change;
      if (!first.change.cost.empty()) change.cost = first.change.cost + (change.cost.empty() ? "" : "; ") + change.cost;
      change.price = std::max(change.price, first.change.price);
      absl::StatusOr<Saving> saving = MeasureChange(study_, workload_, now_, std::move(change));
      if (saving.ok()) return *std::move(saving);
    }
    return std::nullopt;
  }

  FitWay WithLargestBatch(Saving saving) {
    FitWay way;
    const bool comparable = !axis_.length.empty() || !ChangesBatch(workload_, saving.change.workload);
    if (comparable && work::HasLeft(work::kAdviceShare)) {
      const absl::StatusOr<FittingBatch> largest =
          FindLargestBatch(study_, saving.change.workload, limit_bytes_, axis_);
      if (largest.ok()) way.largest_batch = largest->batch;
    }
    way.saving = std::move(saving);
    return way;
  }

  Study& study_;
  const Workload& workload_;
  int64_t limit_bytes_;
  AdviceRequest request_;
  Axis axis_;
  Footprint now_;
  std::vector<Saving> fitting_;
  std::vector<std::pair<const WayRow*, Saving>> helping_;
};

}  // namespace

absl::StatusOr<std::vector<FitWay>> WaysToFit(Study& study, const Workload& workload, int64_t limit_bytes,
                                              const AdviceRequest& request, const Axis& axis) {
  return Ways(study, workload, limit_bytes, request, axis).Run();
}

}  // namespace onnx_mem
