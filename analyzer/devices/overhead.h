// What a process takes from the card beside its tensors: the CUDA context and the libraries' workspaces. Never in the
// framework's own figures, always in nvidia-smi's.
#ifndef ONNX_MEM_ANALYZER_DEVICES_OVERHEAD_H_
#define ONNX_MEM_ANALYZER_DEVICES_OVERHEAD_H_

#include <cstdint>

namespace onnx_mem {

struct Overhead {
  int64_t bytes = 0;
  int64_t low_bytes = 0;
  int64_t high_bytes = 0;
};

// Context of one process on Linux with lazy loading of kernels (CUDA 11.7 and later). Readings: 256 MiB (RTX 3090,
// torch 2.7), 274 (torch 1.13), 300 and 400 (maintainers' remarks, pytorch#107667 and #109888), 426 (RTX 6000 Ada,
// torch 2.10). It grows with the kernels that a program uses and with the generation of the card.
inline constexpr Overhead kCudaContext = {int64_t{400} << 20, int64_t{250} << 20, int64_t{700} << 20};

// cuBLAS workspace: 4096 KiB x 2 + 16 KiB x 8 (aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize), and
// 32 MiB on Hopper and Blackwell. It comes from the caching allocator, so max_memory_allocated() counts it: for each
// call by default (TORCH_CUBLAS_WORKSPACE_CACHE is false), in earlier versions once per handle and kept.
inline constexpr int64_t kCublasWorkspaceBytes = 8519680;
inline constexpr int64_t kCublasWorkspaceHopperBytes = int64_t{32} << 20;

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_DEVICES_OVERHEAD_H_
