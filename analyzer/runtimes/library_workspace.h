// What PyTorch's allocators hand out beside the tensors of a step: the workspaces of cuBLAS and cuDNN
// (engine/workspace.h), and what a kernel on a card makes for its own run; for whoever replays or bounds a step.
//
//   step         0 addmm   1 relu    2 mm'     3 addmm      step 2 is backward's, which has a thread and a handle of
//   PyTorch 2.15 |=======|           |=======| |=======|    its own
//   up to 2.14   |==================================...     each handle keeps its workspace, in all later steps too
//                                    |=============...
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_LIBRARY_WORKSPACE_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_LIBRARY_WORKSPACE_H_

#include <cstdint>
#include <string_view>

#include "analyzer/allocators/replay_script.h"
#include "analyzer/devices/overhead.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

// True if the libraries take their workspaces from this allocator.
bool ServesLibraries(std::string_view allocator);

// One way in which they may.
struct LibraryCase {
  int64_t product_bytes = 0;  // of a matrix product
  int64_t biased_bytes = 0;   // of one that adds a bias in the same call, beside what its handle keeps
  int64_t kept_bytes = 0;     // of each handle, from its first product on
  enum class Convolutions : uint8_t { kNone, kChosen, kTried } convolutions = Convolutions::kNone;
  bool kernels = false;  // with what the framework's kernels make for their own run (Step::kernel_takes)
  friend bool operator==(const LibraryCase&, const LibraryCase&) = default;
};

struct LibraryCases {
  LibraryCase expected;
  LibraryCase low, high;  // between which it lies, whatever `platform` does not tell
};
// All cases are empty for an allocator that does not serve the libraries.
LibraryCases LibraryCasesOf(std::string_view allocator, const Platform& platform);

// How many workspaces cuBLAS has at once in `program`, all of `of` and equal in size.
int64_t CublasBlocks(const MemoryProgram& program, const LibraryCase& of);

// The script of `program` with them. `first`: of step 1, in which a handle's first product comes; in all later
// steps what it keeps is there from the start.
ReplayScript ScriptWithLibraries(const MemoryProgram& program, const LibraryCase& of, bool first);
// `program`, a later step, with them; what is kept is there as a module's buffers are.
MemoryProgram WithLibraryWorkspaces(MemoryProgram program, const LibraryCase& of);

// True of what is there before the first step, in blocks out of an empty cache.
bool ComesWithTheModel(const Buffer& buffer);

// The peak of `program` in blocks as PyTorch's allocators round them, with the workspaces of `of`. `first`: as of
// ScriptWithLibraries. `uncut_bytes`: what comes with each block of more than 1 MiB that a step takes.
int64_t PeakOfBlocks(const MemoryProgram& program, const LibraryCase& of, bool first = false, int64_t uncut_bytes = 0);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_LIBRARY_WORKSPACE_H_
