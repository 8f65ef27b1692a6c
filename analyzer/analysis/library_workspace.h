// What PyTorch's allocators hand out beside tensors: the workspaces of cuBLAS (engine/workspace.h), for whoever replays
// or bounds a step without analysing it.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_LIBRARY_WORKSPACE_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_LIBRARY_WORKSPACE_H_

#include <string_view>

#include "analyzer/allocators/replay_script.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

// True if the libraries take their workspaces from this allocator.
bool ServesLibraries(std::string_view allocator);

// Adds a workspace for each matrix product of `program` to its script. Returns whether there is any.
bool AddLibraryWorkspaces(const MemoryProgram& program, ReplayScript& script);
// `program` with them.
MemoryProgram WithLibraryWorkspace(MemoryProgram program);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_LIBRARY_WORKSPACE_H_
