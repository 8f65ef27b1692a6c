// Chains as step graphs, for tests: block l has Fn_l (writes a_l), Fe_l (writes S_l, which contains a_l) and B_l.
#ifndef ONNX_MEM_TESTS_SOLVER_CHAIN_GRAPH_H_
#define ONNX_MEM_TESTS_SOLVER_CHAIN_GRAPH_H_

#include <random>

#include "solver/methods/chain.h"
#include "solver/problem/problem.h"

namespace onnx_mem {

StepGraph GraphOfChain(const ChainArrays& arrays);

// n blocks with small sizes and costs; a_n is the loss.
ChainArrays RandomChain(int n, std::mt19937& random);

// Forward and backward cost of running everything once.
int64_t BackwardCost(const ChainArrays& arrays);

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_SOLVER_CHAIN_GRAPH_H_
