// The cheapest persistent schedule of a chain within a budget (the class of Beaumont et al. 2019, "Rotor": what is kept
// stays until its use; with several ways to save a block, as in Rockmate), by dynamic programming over exact integers.
//
// F(s, t) says, for blocks s..t with a_{s-1} at hand and the gradient of a_t in place, what turning them into the
// gradient of a_{s-1} costs, as a step function of the bytes left:
//   save block s        its forward, F(s+1, t) with fewer bytes, its backward
//   keep only a_{q-1}   run blocks s..q-1 without saving, F(q, t) with a_{q-1} kept, then F(s, q-1) from the start
//                       again
// A function is kept as its list of steps, so one solution holds the schedules of all budgets. Stretches of identical
// blocks share their function.
#ifndef ONNX_MEM_SOLVER_METHODS_CHAIN_DP_H_
#define ONNX_MEM_SOLVER_METHODS_CHAIN_DP_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "solver/methods/chain.h"
#include "solver/methods/methods.h"

namespace onnx_mem {

// Turning blocks first..last (from 0) into the gradient of their input costs `cost` where `bytes` are left.
struct ChainStep {
  int64_t bytes = 0;  // less the gap bytes of the last block
  int64_t cost = 0;
  int choice = 0;  // >= 0: save the first block in this way; < 0: -q keeps the output of the block before first + q
};

class ChainSolution {
 public:
  // Cheapest first-and-further forward cost within `budget_bytes` (base included; backward operators not counted).
  std::optional<int64_t> CostWithin(int64_t budget_bytes) const;

  // The runs of a cheapest schedule. The chain must still be there.
  std::optional<OpSequence> RunsWithin(int64_t budget_bytes) const;

  // Budgets at which the cost changes, ascending, with the cost from there on.
  std::vector<std::pair<int64_t, int64_t>> Curve() const;

  // False where long functions had to be thinned: costs are then what the schedules cost, but not proven cheapest.
  bool exact() const { return exact_; }

 private:
  friend class ChainSolver;
  explicit ChainSolution(const Chain& chain) : chain_(chain) {}
  const std::vector<ChainStep>& Steps(int first, int last) const;
  void Emit(int first, int last, int64_t bytes, OpSequence& runs) const;

  const Chain& chain_;
  std::vector<std::vector<int>> class_of_;  // [first][last - first]
  std::vector<std::vector<ChainStep>> functions_;
  bool exact_ = true;
};

// `most_bytes`: no budget above it will be asked for. `most_work` limits time and memory (about 10 ns and less than
// 1 byte each): functions that would grow too long are thinned, always to the side of more bytes.
ChainSolution SolveChain(const Chain& chain, int64_t most_bytes, int64_t most_work = 60'000'000);

// Row of the method table: the chain in the step graph, joined to at most a few hundred blocks.
void PlanChain(const PlanningTask& task, Incumbent& incumbent);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_METHODS_CHAIN_DP_H_
