// Random small step graphs of every kind that the planners meet: training steps with skips, saved bundles (variants of
// a forward operator), several outputs, side inputs, gradients with several contributions; and ordered graphs, in which
// every operator may run again.
#ifndef ONNX_MEM_TESTS_SOLVER_RANDOM_GRAPH_H_
#define ONNX_MEM_TESTS_SOLVER_RANDOM_GRAPH_H_

#include <cstdint>

#include "solver/problem/problem.h"

namespace onnx_mem {

// The same graph for the same seed on every machine. At most 10 activations.
StepGraph RandomTrainingGraph(uint64_t seed);
StepGraph RandomOrderedGraph(uint64_t seed);

// A budget between "hopeless" and "keeps everything" for the graph.
int64_t RandomBudget(const StepGraph& graph, uint64_t seed);

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_SOLVER_RANDOM_GRAPH_H_
