// A MemoryProgram summed up: bytes alive at every step, by category; the peak and who is in it.
#ifndef ONNX_MEM_ANALYZER_MEMORY_TIMELINE_H_
#define ONNX_MEM_ANALYZER_MEMORY_TIMELINE_H_

#include <cstdint>
#include <vector>

#include "analyzer/memory/program.h"

namespace onnx_mem {

struct Timeline {
  std::vector<int64_t> live_bytes;  // per step, exact sizes
  StepId peak_step;                 // the first step with the largest sum; invalid for an empty program
  int64_t peak_bytes = 0;
  BytesByCategory at_peak = {};  // sums to peak_bytes
  friend bool operator==(const Timeline&, const Timeline&) = default;
};

// `program` must be valid (VerifyProgram). Linear in steps + buffers.
Timeline ComputeTimeline(const MemoryProgram& program);

// Buffers alive at `step`, largest first; equal sizes in order of allocation.
std::vector<BufferId> LiveAt(const MemoryProgram& program, StepId step);

// Bytes by category at every step: [step][category]. For charts.
std::vector<BytesByCategory> BytesPerStep(const MemoryProgram& program);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_MEMORY_TIMELINE_H_
