// Runs of neighbouring blocks, as one call of checkpoint: blocks that a loop calls, children of one nn.Sequential or of
// several behind one another, with the modules before the first and behind the last block.
//
//   conv1 bn1 relu maxpool | layer1.0 layer1.1 | layer2.0 ...    a run may hold any of these that are neighbours
//
// Blocks are found by what crosses between modules: where the children of a module give one tensor to each other they
// are blocks of their own; a block with a residual connection around its children is not taken apart.
#ifndef ONNX_MEM_PLANNER_CALLS_BLOCK_RUNS_H_
#define ONNX_MEM_PLANNER_CALLS_BLOCK_RUNS_H_

#include <cstddef>
#include <vector>

#include "analyzer/analysis/enact.h"
#include "planner/measure/candidates.h"

namespace onnx_mem {

// In order of their nodes, disjoint; modules that are called more than once are in none.
std::vector<Candidate> BlocksOf(const Lowered& lowered);

// Of at most `longest` blocks, single ones among them, that code can wrap (wrapping.h).
std::vector<Candidate> RunsOf(const Lowered& lowered, const std::vector<Candidate>& blocks, size_t longest);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CALLS_BLOCK_RUNS_H_
