// Step graphs of any size, for the planners' benchmarks: the same on every machine.
#ifndef ONNX_MEM_BENCH_STEP_GRAPHS_H_
#define ONNX_MEM_BENCH_STEP_GRAPHS_H_

#include "solver/problem/problem.h"

namespace onnx_mem {

// Blocks of random sizes and costs, each with a forward that saves and one that does not: 3 operators a block.
StepGraph ChainOfBlocks(int blocks);

// Layers of attention and a feed-forward part with residual connections: 28 operators a layer, and 2.
StepGraph TransformerLayers(int layers);

}  // namespace onnx_mem

#endif  // ONNX_MEM_BENCH_STEP_GRAPHS_H_
