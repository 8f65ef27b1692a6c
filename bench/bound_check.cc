// Holds the lower bound against the exact optimum of random small step graphs, found by trying everything.
//
//   bound_check [GRAPHS]     100,000 if not given; exit code 1 when the bound is above an optimum anywhere
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "solver/bound/cut_bound.h"
#include "tests/solver/brute_force.h"
#include "tests/solver/random_graph.h"

int main(int argc, char** argv) {
  using namespace onnx_mem;
  const uint64_t graphs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
  long feasible = 0;
  long tight = 0;
  long wrong = 0;
  for (uint64_t seed = 0; seed < graphs; ++seed) {
    const StepGraph graph = seed % 2 == 0 ? RandomTrainingGraph(seed) : RandomOrderedGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    const std::optional<int64_t> best = BestCostByBruteForce(graph, budget);
    if (!best) continue;
    const CutBound bound = BoundByCuts(BuildStages(graph), budget, {});
    ++feasible;
    tight += bound.lower_bound == *best ? 1 : 0;
    if (bound.impossible_at < 0 && bound.lower_bound <= *best) continue;
    ++wrong;
    std::printf("graph %lu: bound %ld, optimum %ld\n", static_cast<unsigned long>(seed),
                static_cast<long>(bound.lower_bound), static_cast<long>(*best));
  }
  std::printf("%lu graphs, %ld with a schedule: bound met %ld times, above the optimum %ld times\n",
              static_cast<unsigned long>(graphs), feasible, tight, wrong);
  return wrong == 0 ? 0 : 1;
}
