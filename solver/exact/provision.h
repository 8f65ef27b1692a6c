// How a set of items can be brought about while only so many bytes fit: runs within one gap, any operator any number of
// times.
//
// The search leads back from the items that must be there: a run takes its results off the set and puts its inputs on
// it, until the set is part of what is resident to begin with. States that take least to finish come first, then those
// with few bytes. Where it ends without an answer, there is none: with nothing resident to begin with, no schedule
// fits that runs what needs the items.
//
//   F1: x -> a1, F2: a1 -> a2, wanted {a2}, resident {}:   {a2}  <- F2 -  {a1}  <- F1 -  {}
#ifndef ONNX_MEM_SOLVER_EXACT_PROVISION_H_
#define ONNX_MEM_SOLVER_EXACT_PROVISION_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "solver/exact/bits.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

struct ProvisionQuestion {
  int gap = 0;                              // operators that run first behind it are not there yet
  std::vector<int> needs;                   // requirements that must be served in the end
  std::vector<Word> resident;               // items that are there to begin with, and may go
  std::vector<Word> held;                   // of these, the ones that must stay; empty: none
  int64_t room_bytes = 0;                   // for items and workspaces, in the gap
  int64_t last_bytes = 0;                   // beside the items that are wanted, while they are used
  bool ignores_what_nothing_makes = false;  // items that no operator makes: take no bytes and are there
};

struct ProvisionLimits {
  int64_t state_limit = 5000;
  double past_weight = 0.02;  // of what has been run, against what is left to run
  std::function<bool()> stop = [] { return false; };
};

struct Provision {
  enum class Outcome { kFound, kImpossible, kUnknown };
  Outcome outcome = Outcome::kUnknown;
  std::vector<int> ops;                     // to run, in this order
  std::vector<std::vector<Word>> required;  // items that must be resident before each of them, and after the last
  int64_t states = 0;
};

class Provisioner {
 public:
  explicit Provisioner(const StageProblem& problem);

  int words() const { return words_; }
  Provision Find(const ProvisionQuestion& question, const ProvisionLimits& limits);

  // Proven: no schedule within the budget runs anchor t. False: one may, or the limits were too small to tell.
  bool CannotRun(int t, int64_t budget_bytes, const ProvisionLimits& limits);

  // What it costs to make the item again from what is resident, each operator once, whatever that takes of the room.
  int64_t CostToMake(int item, int gap, const Word* resident);

 private:
  friend class ProvisionSearch;
  // The cheapest operator that makes the item in the gap, -1 if none does.
  int MakerOf(int item, int gap) const;
  // Marks the operators that must run for `row` where `resident` is there; sum of their costs.
  int64_t Closure(const Word* row, const Word* resident, int gap);

  const StageProblem& problem_;
  const int words_;
  int64_t CostOf(int op) const { return problem_.ops[op].cost + unit_cost_; }

  int64_t unit_cost_ = 1;           // of any run, beside its cost: so that free ones count too
  std::vector<int32_t> op_seen_;    // by operator: in which closure
  std::vector<int32_t> item_seen_;  // by item
  std::vector<int> open_;
  std::vector<int> closure_;  // operators of the last closure
  int32_t stamp_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EXACT_PROVISION_H_
