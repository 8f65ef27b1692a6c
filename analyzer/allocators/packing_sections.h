// What a search for offsets (packing_search.h) has to know of buffers: which of them are alive together.
//
// A section is a step at which a set of buffers is alive that no other step's set contains. Time between sections does
// not matter: what fits in every section fits.
//
//   a [0, 4)  b [2, 6)  c [5, 9):   sections at 2 (a, b) and 5 (b, c)
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_PACKING_SECTIONS_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_PACKING_SECTIONS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/allocators/offset_packing.h"

namespace onnx_mem {

// One buffer: alive in sections [first, last).
struct PackingItem {
  int first = 0;
  int last = 0;
  int64_t bytes = 0;
  double length = 0;    // in steps
  double pressure = 0;  // most bytes alive in one of its sections
};

struct PackingSections {
  std::vector<PackingItem> items;          // in the order of the ranges
  std::vector<std::vector<int>> overlaps;  // by item: items that are alive together with it
  std::vector<int64_t> bytes;              // by section: alive in it
};

PackingSections FindPackingSections(std::span<const LiveRange> ranges);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_PACKING_SECTIONS_H_
