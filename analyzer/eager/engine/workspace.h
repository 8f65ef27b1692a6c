// Scratch memory that libraries ask of the allocator while an operator runs: in no tensor, in max_memory_allocated().
//
//   step       0 addmm    1 relu     2 mm                 cuBLAS's workspace is taken for each call and given back
//   y          |==========================|               (CublasHandlePool.cpp, PyTorch 2.10 and later; earlier ones
//   workspace  |=========|          |=====|               keep one per handle and stream: MatmulHandles)
//
// cuDNN's convolutions take what their engine asks for, which nobody knows without the card: only a bound is given.
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_WORKSPACE_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_WORKSPACE_H_

#include <cstdint>
#include <vector>

#include "analyzer/memory/program.h"

namespace onnx_mem {

// The steps of `program` that are matrix products of cuBLAS.
std::vector<StepId> MatmulSteps(const MemoryProgram& program);

// `program` with a buffer of category workspace and `bytes` bytes for each of them.
MemoryProgram WithMatmulWorkspace(MemoryProgram program, int64_t bytes);

// Handles that run matrix products: the forward's thread has one, backward's another. 0 where there is no product.
int64_t MatmulHandles(const MemoryProgram& program);

// The largest matrix of patches of one image that a convolution of `program` would unfold (im2col): what its engine may
// ask for. 0 without convolutions.
int64_t LargestPatchBytes(const MemoryProgram& program);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_WORKSPACE_H_
