#include "solver/exact/anchor_room.h"

#include <algorithm>

#include "solver/exact/drop_knapsack.h"

namespace onnx_mem {

AnchorRoom RoomAt(const StageProblem& problem, const StageAnchor& anchor, int64_t budget_bytes) {
  AnchorRoom room{budget_bytes - anchor.fixed_bytes, {}};
  for (const StageItem& item : problem.items) room.bytes.push_back(item.bytes);
  const auto take = [&](const std::vector<int>& alternatives) {
    int64_t least = kImpossible;
    for (int item : alternatives) least = std::min(least, room.bytes[item]);
    for (int item : alternatives) room.bytes[item] -= least;
    room.room_bytes -= least;
  };
  for (int item : anchor.outputs) take({item});
  for (int need : anchor.needs) {
    if (need < problem.item_count()) take({need});
  }
  for (int need : anchor.needs) take(problem.requirements[need].alternatives);
  return room;
}

}  // namespace onnx_mem
