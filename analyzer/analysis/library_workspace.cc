#include "analyzer/analysis/library_workspace.h"

#include <utility>
#include <vector>

#include "analyzer/devices/overhead.h"
#include "analyzer/eager/engine/workspace.h"

namespace onnx_mem {

bool ServesLibraries(std::string_view allocator) { return allocator.starts_with("pytorch"); }

bool AddLibraryWorkspaces(const MemoryProgram& program, ReplayScript& script) {
  const std::vector<StepId> steps = MatmulSteps(program);
  for (StepId step : steps) script.Add(kCublasWorkspaceBytes, step, StepId(step.value() + 1));
  return !steps.empty();
}

MemoryProgram WithLibraryWorkspace(MemoryProgram program) {
  return WithMatmulWorkspace(std::move(program), kCublasWorkspaceBytes);
}

}  // namespace onnx_mem
