// What is known so far about one planning question: the cheapest schedule found that fits the budget, and the proven
// lower bound. Methods offer runs and raise the bound; whoever comes later starts from both.
//
// Every offer is simulated here, so no method can claim what its schedule does not do.
#ifndef ONNX_MEM_SOLVER_METHODS_INCUMBENT_H_
#define ONNX_MEM_SOLVER_METHODS_INCUMBENT_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "solver/bound/cut_bound.h"
#include "solver/problem/op_sequence.h"
#include "solver/problem/problem.h"

namespace onnx_mem {

class Incumbent {
 public:
  static constexpr int64_t kNoCost = std::numeric_limits<int64_t>::max();

  // `graph` must verify and outlive this object.
  Incumbent(const StepGraph& graph, int64_t budget_bytes);

  // Takes the operator runs if their schedule (every tensor freed after its last use) is legal, fits the budget and is
  // better: cheaper, or as cheap with a lower peak. Says whether it did.
  bool Offer(const OpSequence& runs, std::string_view method);

  // Proven: no schedule within the budget costs less.
  void RaiseBound(int64_t cost);

  // Proven: no schedule fits. `why` names the operator that cannot run and what it needs.
  void ProveInfeasible(std::string why);

  // Cuts solved on the way to the bound, for plans that follow them.
  void RememberCuts(std::vector<SolvedCut> cuts) { cuts_ = std::move(cuts); }
  const std::vector<SolvedCut>& cuts() const { return cuts_; }

  bool feasible() const { return cost_ != kNoCost; }
  bool infeasible() const { return !why_infeasible_.empty(); }
  // Nothing is left to look for: the cost meets the bound, or no schedule fits.
  bool done() const { return infeasible() || cost_ <= lower_bound_; }

  int64_t cost() const { return cost_; }  // kNoCost while there is no schedule
  int64_t peak_bytes() const { return peak_bytes_; }
  int64_t lower_bound() const { return lower_bound_; }
  const OpSequence& runs() const { return runs_; }
  const Schedule& schedule() const { return schedule_; }
  const std::string& method() const { return method_; }
  const std::string& why_infeasible() const { return why_infeasible_; }

 private:
  const StepGraph& graph_;
  const int64_t budget_bytes_;
  int64_t cost_ = kNoCost;
  int64_t peak_bytes_ = 0;
  int64_t lower_bound_ = 0;
  OpSequence runs_;
  Schedule schedule_;
  std::vector<SolvedCut> cuts_;
  std::string method_;
  std::string why_infeasible_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_METHODS_INCUMBENT_H_
