#include "analyzer/analysis/library_workspace.h"

#include <utility>

#include "analyzer/devices/overhead.h"
#include "analyzer/eager/engine/workspace.h"

namespace onnx_mem {

bool ServesLibraries(std::string_view allocator) { return allocator.starts_with("pytorch"); }

std::vector<Buffer> LibraryWorkspaces(const MemoryProgram& program) {
  return MatmulWorkspaces(program, kCublasWorkspaceBytes);
}

MemoryProgram WithLibraryWorkspace(MemoryProgram program) {
  return WithMatmulWorkspace(std::move(program), kCublasWorkspaceBytes);
}

}  // namespace onnx_mem
