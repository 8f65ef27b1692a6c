// A training step as a chain of blocks, the form in which checkpointing is classically solved (Griewank; Chen 2016;
// Beaumont et al. 2019, "Rotor"): block l turns a_{l-1} into a_l, and its backward needs a_{l-1} and what the block
// saved.
//
//   x -> [block 1] -a1-> [block 2] -a2-> [block 3] -> loss        backward: 3, 2, 1
//
// The forward of a block either saves nothing but its output ("run") or also saves what its backward reads ("save").
// Gradients follow from how far the backward has come, so their bytes are numbers of the blocks.
#ifndef ONNX_MEM_SOLVER_METHODS_CHAIN_H_
#define ONNX_MEM_SOLVER_METHODS_CHAIN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "solver/problem/op_sequence.h"
#include "solver/problem/stages.h"

namespace onnx_mem {

// One way to save what the backward of a block needs.
struct ChainSaving {
  int64_t saved_bytes = 0;    // stays until the backward; the block's output is part of it
  int64_t forward_bytes = 0;  // activations and work at the worst moment of the forward, the block's input left out
  int64_t backward_bytes =
      0;             // everything (base and gradients too) at the worst moment of the backward, less the input
  int64_t cost = 0;  // of the forward, and of what the backward has to run again
  OpSequence forward;
  OpSequence backward;
};

struct ChainBlock {
  int64_t output_bytes = 0;
  int64_t run_bytes = 0;  // activations and work at the worst moment of a run that saves nothing, the input left out
  int64_t run_cost = 0;
  int64_t gap_bytes = 0;  // base and gradients while the next backward to run is that of this block
  OpSequence run;
  std::vector<ChainSaving> savings;  // the first saves everything
};

struct Chain {
  std::vector<ChainBlock> blocks;
  int size() const { return static_cast<int>(blocks.size()); }
};

// The arrays of the literature (planning notation of Rotor): entry l - 1 belongs to block l. S includes a; g is the
// gradient of the block's output; of, oe, ob are transient bytes of the forward that saves nothing, of the one that
// saves, and of the backward.
struct ChainArrays {
  int64_t base = 0;
  std::vector<int64_t> a, S, g, f, b, of, oe, ob;
};

// A chain without operators, for what only needs the numbers. All arrays have the same length.
Chain ChainOf(const ChainArrays& arrays);

// The step graph as a chain, cut wherever the forward has at most one tensor to hand on and the backward respects the
// cut: skip connections and tensors that the backward shares between blocks make one block of what they span. Nothing
// if the graph has no backward, or if its forward is not over when the backward begins.
//
// The numbers are safe: a schedule that fits by them fits by the simulator.
std::optional<Chain> ExtractChain(const StepGraph& graph, const StageProblem& problem);

// The same chain with at most `most_blocks` blocks, neighbours joined.
Chain JoinBlocks(const Chain& chain, int most_blocks);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_METHODS_CHAIN_H_
