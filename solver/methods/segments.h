// Checkpointing in equal parts: cut a chain into segments, keep what crosses the cuts, and run each segment but the
// last once more, saving everything, when the backward reaches it.
//
//   8 blocks, 3 segments   1 2 3 | 4 5 6 | 7 8     keeps a3, a6 and all of 7 8; runs 1 2 3 4 5 6 twice
//
// sqrt_n: as many segments as the root of the number of blocks (Chen et al. 2016), equal by count, bytes or cost.
// chen: a segment is closed when it has grown to a given size; the size is swept, so the budget picks the segments.
#ifndef ONNX_MEM_SOLVER_METHODS_SEGMENTS_H_
#define ONNX_MEM_SOLVER_METHODS_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "solver/methods/chain.h"
#include "solver/methods/methods.h"

namespace onnx_mem {

enum class SegmentWeight { kCount, kBytes, kCost };

// The first block of every segment, ascending, the first of all being 0.
using SegmentStarts = std::vector<int>;

SegmentStarts SqrtSegments(const Chain& chain, SegmentWeight weight);

// At most 64 different cuts, from small segments to one large one.
std::vector<SegmentStarts> SweepSegments(const Chain& chain, SegmentWeight weight);

OpSequence RunsOfSegments(const Chain& chain, const SegmentStarts& starts);

struct SegmentMeasure {
  int64_t peak_bytes = 0;  // by the chain's numbers: the simulator finds no more
  int64_t cost = 0;        // forward operators
};
SegmentMeasure MeasureSegments(const Chain& chain, const SegmentStarts& starts);

// Rows of the method table.
void PlanSqrt(const PlanningTask& task, Incumbent& incumbent);
void PlanChen(const PlanningTask& task, Incumbent& incumbent);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_METHODS_SEGMENTS_H_
