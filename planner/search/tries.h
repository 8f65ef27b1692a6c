// What is tried for one class of plans, one way after another, each plan enacted by the front: of runs with kept calls
// the best sets by their limits; of modules all proposals, and a local search from them.
#ifndef ONNX_MEM_PLANNER_SEARCH_TRIES_H_
#define ONNX_MEM_PLANNER_SEARCH_TRIES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "planner/measure/accountant.h"
#include "planner/measure/effort.h"
#include "planner/measure/plan.h"
#include "planner/measure/profile.h"
#include "planner/search/exact.h"
#include "planner/search/front.h"
#include "planner/search/proof.h"
#include "planner/search/proposals.h"

namespace onnx_mem {

class Tries {
 public:
  // All outlive this. `done_before`: work of others.
  Tries(const PlanRequest& request, const Accountant& accountant, const Prover& prover, const Profile& profile,
        int64_t done_before, Effort& effort)
      : request_(request),
        accountant_(accountant),
        prover_(prover),
        profile_(profile),
        done_before_(done_before),
        effort_(effort) {}

  absl::Status TryCalls(Exact& exact, Front& front);
  absl::Status TryProposals(Exact& exact, Front& front);

  std::vector<PlanAnswer::MethodResult> TakeResults() { return std::move(method_results_); }
  // What the effort did not suffice for.
  std::vector<std::string> TakeNotSearched() { return std::move(not_searched_); }

 private:
  bool Uses(std::string_view method) const { return request_.method == "auto" || request_.method == method; }
  absl::Status TryOtherPrice(const std::function<bool()>& may_go_on, Front& front);
  absl::Status TryRow(const ProposalRow& row, Front& front);
  std::vector<Score> MostPromisingFirst(const Front& front, std::vector<Choice>& choices) const;
  std::optional<size_t> CheapestWithin(const std::vector<Score>& estimates) const;
  void Record(std::string_view method, const Front& front);
  void NoteCut(std::string what) { not_searched_.push_back(std::move(what)); }

  const PlanRequest& request_;
  const Accountant& accountant_;
  const Prover& prover_;
  const Profile& profile_;
  int64_t done_before_;
  Effort& effort_;
  std::vector<PlanAnswer::MethodResult> method_results_;
  std::vector<std::string> not_searched_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_SEARCH_TRIES_H_
