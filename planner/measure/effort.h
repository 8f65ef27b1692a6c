// How much of a request's effort is left: enactments, and as a ceiling processor time, so that a busy machine plans no
// worse.
#ifndef ONNX_MEM_PLANNER_MEASURE_EFFORT_H_
#define ONNX_MEM_PLANNER_MEASURE_EFFORT_H_

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "analyzer/run/work.h"
#include "planner/measure/accountant.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

// Work without an iteration limit, in enactments times nodes: about a second of a 2020s core. Beyond that, for models
// of any size, a handful of enactments.
inline constexpr int64_t kDefaultWork = 200'000;
inline constexpr int64_t kHandful = 8;
inline constexpr int64_t kSmall = 48;
inline constexpr double kSearchShare = 0.7;  // of the time limit; the rest is for measuring the curve

class Effort {
 public:
  // Both outlive this.
  Effort(const PlanRequest& request, const Accountant& accountant, int64_t spent_before = 0)
      : accountant_(accountant),
        spent_before_(spent_before),
        begin_(std::clock()),
        seconds_(request.time_limit_s),
        stop_(request.stop) {
    const auto nodes = static_cast<int64_t>(accountant.lowered().graph.nodes.size());
    enactments_ = request.iteration_limit > 0 ? request.iteration_limit
                                              : std::max(kHandful, kDefaultWork / std::max<int64_t>(nodes, 1));
  }

  // Work that was done whatever was left takes nothing from what follows.
  void Forgive(int64_t enactments) { spent_before_ += enactments; }

  // So few enactments that whatever is tried must be spread over the whole trade-off.
  bool IsSmall() const { return enactments_ < kSmall; }

  // True while less than `share` of the effort is spent.
  bool Left(double share) const {
    if (stop_ != nullptr && *stop_) return false;
    if (!work::HasLeft(work::kAdviceShare)) return false;
    if (static_cast<double>(accountant_.work() - spent_before_) >= share * static_cast<double>(enactments_))
      return false;
    const double spent = static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC;
    return seconds_ <= 0 || spent < share * kSearchShare * seconds_;
  }

 private:
  const Accountant& accountant_;
  int64_t spent_before_;  // enactments that others took
  std::clock_t begin_;
  double seconds_;
  const std::atomic<bool>* stop_;
  int64_t enactments_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_EFFORT_H_
