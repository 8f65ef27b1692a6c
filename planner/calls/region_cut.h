// What a region of the forward, run a second time, may keep from its first run, and what each choice costs: all corners
// of the convex trade-off between bytes held until backward and time of the second run.
//
// One choice is one minimum cut. Autograd needs the values that it saved; a value is kept, or the call that makes it
// runs again and needs what it reads:
//
//   source -> saved value -(bytes)-> its call -(cost)-> sink        the call -> each value that it reads
//
// With a price for bytes against cost the cheapest choice follows; the price between two known corners finds the next
// corner, until there is none (parametric minimum cuts). Calls on neither side are skipped: nothing reads what they
// make. Where a value may also wait in host memory, its arc costs the less of both.
#ifndef ONNX_MEM_PLANNER_CALLS_REGION_CUT_H_
#define ONNX_MEM_PLANNER_CALLS_REGION_CUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace onnx_mem {

// Values that are there anyway, parameters and what the region is given, are none of these.
struct CutRegion {
  static constexpr int64_t kNever = -1;  // bytes of a value that cannot be kept, cost of a call that cannot run again
  struct Call {
    std::vector<int32_t> reads = {};  // values
    std::vector<int32_t> makes = {};
    int64_t cost = 0;
  };
  std::vector<Call> calls;     // in their order
  std::vector<int64_t> bytes;  // by value: to keep it; 0: it is held anyway
  // By value: what it costs to keep it in host memory, kNever where that cannot be. Empty: none can.
  std::vector<int64_t> move_cost = {};
  std::vector<int32_t> saved;  // values that autograd needs
  struct Pair {
    int32_t first = 0;
    int32_t then = 0;
  };
  std::vector<Pair> together =
      {};  // calls: where the first runs again, so does the other, which writes over its result
  friend bool operator==(const CutRegion&, const CutRegion&) = default;
};

struct CutOption {
  int64_t held_bytes = 0;
  int64_t cost = 0;            // of the calls that run again, and of what moves
  std::vector<int32_t> kept;   // values, rising; on the device
  std::vector<int32_t> moved;  // and in host memory
  std::vector<int32_t> again;  // calls, rising
};

struct FrontLimits {
  size_t corners = 64;
  // Equal blocks within a region change all at once at one price. With a slightly higher price for later calls they
  // change one by one, which gives points between those corners, and nearly as good.
  bool one_by_one = true;
};

struct CutFront {
  std::vector<CutOption> options;  // by rising bytes and falling cost, no one bettered by another
  // Proven of every choice: one that holds no more than the next option does costs at least this. One for each option;
  // for the last one 0.
  std::vector<int64_t> least_cost;
  int64_t least_bytes = 0;  // no choice holds less
};

// Empty where the region cannot run again at all.
CutFront FrontOf(const CutRegion& region, const FrontLimits& limits = {});

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CALLS_REGION_CUT_H_
