// What PyTorch's allocators hand out beside tensors: the workspaces of cuBLAS (engine/workspace.h), for whoever replays
// or bounds a step without analysing it.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_LIBRARY_WORKSPACE_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_LIBRARY_WORKSPACE_H_

#include <string_view>
#include <vector>

#include "analyzer/memory/program.h"

namespace onnx_mem {

// True if the libraries take their workspaces from this allocator.
bool ServesLibraries(std::string_view allocator);

// A workspace for each matrix product of `program`.
std::vector<Buffer> LibraryWorkspaces(const MemoryProgram& program);
// `program` with them.
MemoryProgram WithLibraryWorkspace(MemoryProgram program);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_LIBRARY_WORKSPACE_H_
