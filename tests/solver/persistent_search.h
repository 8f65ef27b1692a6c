// An oracle for chains: the cheapest of all persistent schedules, found by trying them all.
//
// Persistent: what a forward sweep keeps (the plain output of a block, or all that the block saves) stays until the
// backward of the next block, or of its own, has used it. Every sweep starts at the last thing kept and ends with the
// saving forward of the block whose backward is next; a block is saved only behind a kept input, which its backward
// reads. Memory is counted tensor by tensor, as the simulator does.
#ifndef ONNX_MEM_TESTS_SOLVER_PERSISTENT_SEARCH_H_
#define ONNX_MEM_TESTS_SOLVER_PERSISTENT_SEARCH_H_

#include <cstdint>
#include <optional>

#include "solver/methods/chain.h"

namespace onnx_mem {

// Least cost of forward operators within the budget; nothing if no persistent schedule fits.
std::optional<int64_t> CheapestPersistent(const ChainArrays& arrays, int64_t budget_bytes);

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_SOLVER_PERSISTENT_SEARCH_H_
