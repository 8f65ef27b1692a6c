// What an anchor leaves to items that others need later, when everything that it needs itself is in its place.
#ifndef ONNX_MEM_SOLVER_EXACT_ANCHOR_ROOM_H_
#define ONNX_MEM_SOLVER_EXACT_ANCHOR_ROOM_H_

#include <cstdint>
#include <vector>

#include "solver/problem/stages.h"

namespace onnx_mem {

struct AnchorRoom {
  int64_t room_bytes = 0;      // negative: the anchor itself does not fit
  std::vector<int64_t> bytes;  // per item: its bytes, less what the anchor's needs have of it already
};

// Where a choice of items serves a need, which one is open: the room lacks what the smallest takes beyond what it lacks
// already, and an alternative that is kept takes the rest of its bytes.
AnchorRoom RoomAt(const StageProblem& problem, const StageAnchor& anchor, int64_t budget_bytes);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EXACT_ANCHOR_ROOM_H_
