// Offsets for buffers with known live ranges within a given height, by search: the decision half of offset_packing.h.
//
// Buffers are placed from the bottom up. Every placement tree has a canonical form in which buffers come in the order
// (offset, rank); the search visits only those. A buffer that is passed over must lie higher than what was placed, and
// so must everything that it overlaps: bounds per section (a set of buffers that are alive together) refute a branch as
// soon as one section can no longer be filled to the height. Restarts with growing limits put those buffers first that
// refuted branches before (weights as in conflict-driven constraint search).
//
// The problem is dynamic storage allocation (NP-hard); the canonical form and the name "section" are those of
// M. Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023.
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_PACKING_SEARCH_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_PACKING_SEARCH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/allocators/offset_packing.h"

namespace onnx_mem {

// Offsets in the order of `ranges`, or nullopt: none exist (then `work` is left above 0), or the work ran out. `work`
// counts checks of a placement and is lowered by those made; the same work gives the same answer on any machine.
std::optional<std::vector<int64_t>> SearchPacking(std::span<const LiveRange> ranges, int64_t height_bytes,
                                                  int64_t& work);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_PACKING_SEARCH_H_
