#include "analyzer/eager/engine/workspace.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analyzer/eager/engine/tensor.h"
#include "analyzer/memory/made_by_a_step.h"

namespace onnx_mem {
namespace {

constexpr auto kProducts = std::to_array<std::string_view>({"addmm", "baddbmm", "bmm", "mm"});

bool IsProduct(const Step& step) { return std::find(kProducts.begin(), kProducts.end(), step.op) != kProducts.end(); }

}  // namespace

std::vector<StepId> MatmulSteps(const MemoryProgram& program) {
  std::vector<StepId> steps;
  for (StepId step(0); program.steps.contains(step); step = StepId(step.value() + 1)) {
    if (IsProduct(program.steps[step])) steps.push_back(step);
  }
  return steps;
}

MemoryProgram WithMatmulWorkspace(MemoryProgram program, int64_t bytes) {
  const SharedText name = "cuBLAS workspace";
  for (StepId step : MatmulSteps(program)) {
    Buffer workspace;
    workspace.name = name;
    workspace.category = Category::kWorkspace;
    workspace.bytes = bytes;
    workspace.begin = step;
    workspace.end = StepId(step.value() + 1);
    workspace.dtype = DType::kUInt8;
    workspace.module = program.steps[step].module;
    program.buffers.Add(std::move(workspace));
  }
  return program;
}

int64_t MatmulHandles(const MemoryProgram& program) {
  bool forward = false, backward = false;
  for (const Step& step : program.steps) {
    if (IsProduct(step)) (step.phase == Phase::kBackward ? backward : forward) = true;
  }
  return int64_t{forward} + int64_t{backward};
}

int64_t LargestPatchBytes(const MemoryProgram& program) {
  int64_t largest = 0;
  for (const Buffer& buffer : program.buffers) {
    if (!buffer.begin.valid() || !program.steps.contains(buffer.begin)) continue;
    const Step& step = program.steps[buffer.begin];
    if (step.op != "convolution" || step.flops <= 0 || buffer.dims.size() < 3 || !MadeByAStep(buffer)) continue;
    // flops = 2 x images x output channels x positions x (input channels x kernel): a patch matrix holds the last two.
    const int64_t results = buffer.dims[0] * buffer.dims[1];
    largest = std::max(largest, eager::Quotient(step.flops / 2, results) * RowOf(buffer.dtype).bits / 8);
  }
  return largest;
}

}  // namespace onnx_mem
