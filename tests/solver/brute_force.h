// The cheapest schedule of a tiny step graph by trying everything: Dijkstra's algorithm over (required operators run,
// set of resident activations), with every single run and every single free as a move. Knows nothing of stages, bounds
// or pruning, so that what does can be held against it.
#ifndef ONNX_MEM_TESTS_SOLVER_BRUTE_FORCE_H_
#define ONNX_MEM_TESTS_SOLVER_BRUTE_FORCE_H_

#include <cstdint>
#include <optional>

#include "solver/problem/problem.h"

namespace onnx_mem {

// Cost of the best schedule within the budget, over every order of forward runs and any number of re-runs; nothing if
// none fits. At most 20 activations; the graph must verify.
std::optional<int64_t> BestCostByBruteForce(const StepGraph& graph, int64_t budget_bytes);

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_SOLVER_BRUTE_FORCE_H_
