// onnxruntime's memory pattern: the first run of a session allocates tensor by tensor and is traced; every later run
// with the same shapes takes one block from the arena and puts the traced tensors at fixed offsets in it.
//
//   run 1   a [0, 2)  b [1, 3)  c [2, 4)  out [3, 5)    each from the arena
//   run 2   pattern [0, 5)  out [3, 5)                  graph outputs are not in the pattern
//
// Offsets: at each allocation of the trace, the smallest gap that fits, else behind the last block alive. What is left
// between that last block and the greatest height so far is a gap like any other, and often the smallest:
//
//   height 8   a [0, 3)  free [3, 6)  c [6, 7)  free [7, 8)      1 unit is placed at 7, not to 3
//
// Source: onnxruntime/core/framework/mem_pattern_planner.h (TraceAllocation, TraceFree), execution_frame.cc.
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_MEMORY_PATTERN_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_MEMORY_PATTERN_H_

#include <cstdint>
#include <functional>

#include "analyzer/memory/program.h"

namespace onnx_mem {

struct MemoryPattern {
  int64_t block_bytes = 0;
  MemoryProgram program;  // of runs 2 and later: one workspace-free block for all traced buffers, the rest as before
};

// `program`: one session run (memory/session_plan.h). Buffers for which `is_traced` is false, and those alive
// throughout, stay as they are. Sizes in the pattern are rounded to 256 bytes, as the runtime's are.
MemoryPattern TracePattern(const MemoryProgram& program, const std::function<bool(const Buffer&)>& is_traced);

// What a session traces: all activations but the graph's outputs, which the caller keeps.
bool IsTracedBySessions(const Buffer& buffer);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_MEMORY_PATTERN_H_
