// What sets of segments can do at best where the budget means the device: segment_bound.h, with all that is certain of
// the caching allocator in the bytes. Its fragments are not: those depend on the course of a run, and no sum tells
// them.
//
//   reserved  >=  small pool + large pool + context, and each pool, which gives nothing back until memory runs out, at
//   least as much as its blocks alive at any one time: rounded up to 512 bytes, workspaces of cuBLAS among them; taken
//   from the device in whole segments, so in steps of 2 MiB (of 20 MiB in the large pool of expandable segments)
//
// Parameters come first and never move. What their segments have left over holds no block that is larger than the gap:
//
//   | weight 9 MiB | weight 9 MiB | 2 |   blocks above 2 MiB alive together are on top of these 20 MiB, not of 18
//
// Each of these is a sum over blocks, in which each block of a size counts the same: a line. The bound holds for all.
#ifndef ONNX_MEM_PLANNER_SEARCH_DEVICE_BOUND_H_
#define ONNX_MEM_PLANNER_SEARCH_DEVICE_BOUND_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/measure/accountant.h"
#include "planner/search/proof.h"
#include "planner/search/segment_bound.h"

namespace onnx_mem {

class DeviceBound {
 public:
  // nullopt: the workload's allocator is none of PyTorch's, or the step's own code checkpoints already.
  static std::optional<DeviceBound> Create(const Accountant& accountant, const Prover& prover,
                                           const std::vector<Candidate>& candidates);

  // No set of segments takes less on the device.
  int64_t Floor() const { return FloorOf(pools_[0]) + FloorOf(pools_[1]) + context_bytes_; }

  // No set that takes at most `device_bytes` costs less; nullopt: none takes so little.
  std::optional<int64_t> LeastCost(int64_t device_bytes) const;

 private:
  struct Line {
    SegmentBound bound;
    int64_t constant_bytes = 0;  // reserved beside what the line counts
  };
  struct Pool {
    int64_t grain_bytes = 0;
    std::vector<Line> lines;
  };
  static int64_t FloorOf(const Pool& pool);

  Pool pools_[2];
  int64_t context_bytes_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_SEARCH_DEVICE_BOUND_H_
