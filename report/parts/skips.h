// Tensors that an inference holds for a long time between two uses: the skip connections of a U-Net.
#ifndef ONNX_MEM_REPORT_PARTS_SKIPS_H_
#define ONNX_MEM_REPORT_PARTS_SKIPS_H_

#include <cstdint>
#include <vector>

#include "analyzer/memory/program.h"
#include "report/parts/table.h"

namespace onnx_mem {

struct Skip {
  BufferId buffer;
  int64_t bytes = 0;
  int64_t held_steps = 0;
  int64_t saves_bytes = 0;  // of the peak, if it were not held between its first and its last steps
};

// Activations of an inference `program` whose lives take at least a tenth of its steps, and four at the least; largest
// first. An encoder's output that its decoder reads is one, the argument that a stage's call holds
// another; the shortcut of a residual block is none.
std::vector<Skip> FindSkips(const MemoryProgram& program);

// "skips"; `program` is an inference.
Table SkipTable(const MemoryProgram& program);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_SKIPS_H_
