// Offsets for buffers whose live ranges are known ahead: how high one arena must be if a runtime plans every address.
//
//   a [0, 2) 4 bytes   b [1, 3) 2 bytes   c [2, 4) 4 bytes
//
//     6 |      bb bb                most alive at once: 6 (a and b, or b and c)
//     4 | aa aa cc cc               offsets a 0, b 4, c 0: height 6, which nothing can beat
//     0 +------------> steps
//
// The most bytes alive at once is a lower bound of every height, and not always reached. The exact problem is dynamic
// storage allocation (NP-hard); runtimes that plan ahead place greedily, and so does this.
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_OFFSET_PACKING_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_OFFSET_PACKING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/memory/program.h"

namespace onnx_mem {

// Alive in steps [begin, end).
struct LiveRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t bytes = 0;
  friend bool operator==(const LiveRange&, const LiveRange&) = default;
};

inline bool Overlap(const LiveRange& a, const LiveRange& b) { return a.begin < b.end && b.begin < a.end; }

struct Packing {
  std::vector<int64_t> offset_bytes;  // in the order of the ranges
  int64_t height_bytes = 0;
  int64_t lower_bound_bytes = 0;  // most alive at once
};

// Best fit: buffers by falling size, by area or by length, whichever order gives the lowest height, each into the
// smallest gap between those placed before it. Sizes must not be negative and ranges not empty; sizes are rounded up to
// `alignment_bytes`, offsets are multiples of it.
Packing PackOffsets(std::span<const LiveRange> ranges, int64_t alignment_bytes = 1);

// The buffers of a program that are allocated and freed (those alive from the first step to the end are not in an
// arena's plan), as ranges over its steps.
std::vector<LiveRange> TransientRanges(const MemoryProgram& program);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_OFFSET_PACKING_H_
