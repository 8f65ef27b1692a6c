// Chains of blocks as step graphs, for tests (Beaumont et al. 2019, "Rotor"): block l has Fn_l (writes a_l), Fe_l
// (writes S_l, which contains a_l) and B_l.
#ifndef ONNX_MEM_TESTS_SOLVER_CHAIN_GRAPH_H_
#define ONNX_MEM_TESTS_SOLVER_CHAIN_GRAPH_H_

#include <cstdint>
#include <random>
#include <vector>

#include "solver/problem/problem.h"

namespace onnx_mem {

// Entry l belongs to block l. S contains a; g is the gradient of the block's output; f and b are costs of forward and
// backward; of, oe, ob are transient bytes of the forward that saves nothing, of the one that saves, and of the
// backward.
struct ChainArrays {
  int64_t base = 0;
  std::vector<int64_t> a, S, g, f, b, of, oe, ob;
};

StepGraph GraphOfChain(const ChainArrays& arrays);

// n blocks with small sizes and costs; a_n is the loss.
ChainArrays RandomChain(int n, std::mt19937& random);

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_SOLVER_CHAIN_GRAPH_H_
