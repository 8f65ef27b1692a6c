// Scratch memory that libraries ask of the allocator while an operator runs: in no tensor, in max_memory_allocated().
// cuBLAS takes one of a known size for a matrix product (devices/overhead.h). What cuDNN takes for a convolution
// depends on the engine that its heuristics choose on the card: a bound is given for those that a convolution allows.
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_WORKSPACE_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_WORKSPACE_H_

#include <cstdint>
#include <vector>

#include "analyzer/graph/dtype.h"
#include "analyzer/graph/shape.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

// Whether a step is a matrix product of cuBLAS, and whether it adds a bias in the same call.
enum class Product : uint8_t { kNone, kPlain, kBiased };
Product ProductOf(const Step& step);

// Handles that run matrix products: the forward's thread has one, backward's another. 0 where there is no product.
int64_t MatmulHandles(const MemoryProgram& program);

// The largest matrix of patches of one image that a convolution of `program` would unfold (im2col): what its engine may
// ask for. 0 without convolutions.
int64_t LargestPatchBytes(const MemoryProgram& program);

// A convolution: `large` and `small` are its input and its result; of a transposed one its result and its input.
struct ConvolutionSizes {
  Dims large, small, weight;
  DType dtype = DType::kFloat32;
  int64_t groups = 1;
  bool dense = true;  // neither strided nor dilated
  bool channels_last = false;
};

struct WorkspaceBound {
  int64_t chosen_bytes = 0;  // of the engines that cuDNN's heuristics may choose
  int64_t tried_bytes = 0;   // with torch.backends.cudnn.benchmark, which tries all of them once
};

// The most that cuDNN's engines for it ask for. PyTorch sets them no limit but the memory that is there
// (aten/src/ATen/native/cudnn/Conv_v7.cpp, Conv_v8.cpp: without benchmark the first of the heuristics' list that runs,
// with it the fastest, after the largest workspace of all that fit was taken), so the bound is what each kind of engine
// stores (NVIDIA's documentation of cudnnConvolutionFwdAlgo_t names the kinds and what they are for):
//   copies of all three tensors in the other layout   tensor cores work channels last
//   the patches of one image                          GEMM
//   all tensors transformed, tile by tile             WINOGRAD_NONFUSED: 3x3 and 5x5, dense (Lavin and Gray,
//                                                     arXiv:1509.09308: F(4x4, 3x3) has tiles of 6x6)
//   their spectra, in tiles of 32x32                  FFT_TILING: dense, kernels up to 32x32; when benchmarked
WorkspaceBound ConvolutionWorkspace(const ConvolutionSizes& sizes);

// A group norm, whose kernel on a card makes tensors for its own run (aten/src/ATen/native/cuda/group_norm_kernel.cu):
// in none that autograd or the CPU's kernel has, and in max_memory_allocated().
struct GroupNormKernel {
  Dims dims;  // of its input
  int64_t groups = 1;
  DType dtype = DType::kFloat32;
  bool weight = false, bias = false;
};
// Bytes of each in the order in which they are made. Sums and coefficients of half inputs are float32.
std::vector<int64_t> ForwardTakes(const GroupNormKernel& norm);                  // mean_acc, rstd_acc; a, b
std::vector<int64_t> BackwardTakes(const GroupNormKernel& norm, bool of_input);  // ds, db; of an input: c2, c3, c1

// PyTorch's own kernel of a CTC loss (aten/src/ATen/native/cuda/LossCTC.cu), beside what the CPU's makes too.
struct CtcKernel {
  Dims log_probabilities;  // [steps, batch, labels]
  Dims log_alpha;          // [batch, steps, 2 * the longest target + 1]
  DType dtype = DType::kFloat32;
  bool zero_infinity = false;
};
std::vector<int64_t> ForwardTakes(const CtcKernel& ctc);   // the lengths of targets and inputs, the targets' offsets
std::vector<int64_t> BackwardTakes(const CtcKernel& ctc);  // the same; of a large problem what it works out

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_WORKSPACE_H_
