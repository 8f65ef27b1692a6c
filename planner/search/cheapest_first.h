// Sets of disjoint segments whose peak is within a limit by their limits (segment_limits.h), cheapest first: with the
// lower cost of what must still follow known from segment_bound.h, the next set is found without looking at dearer
// ones.
#ifndef ONNX_MEM_PLANNER_SEARCH_CHEAPEST_FIRST_H_
#define ONNX_MEM_PLANNER_SEARCH_CHEAPEST_FIRST_H_

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "planner/measure/candidates.h"
#include "planner/search/segment_bound.h"

namespace onnx_mem {

class CheapestFirst {
 public:
  // `bound` outlives this.
  CheapestFirst(const SegmentBound& bound, int64_t limit);

  // No set that has not been given yet costs less; nullopt: all have been given.
  std::optional<int64_t> LeastCost() const;

  struct Set {
    Choice ranges;     // of the bound's limits, by node
    int64_t cost = 0;  // at least
  };
  // The next set; of equal ones, that which frees most comes first. nullopt: there is none, or it would take more than
  // `steps` to find.
  std::optional<Set> Next(int steps = 20'000);

 private:
  struct Partial {
    int64_t least_cost = 0;  // of the whole set
    size_t place = 0;
    int64_t freed_bytes = 0;
    int64_t cost = 0;
    int32_t before = -1;                         // in taken_
    bool operator<(const Partial& other) const;  // for a queue: the best one is the greatest
  };
  struct Taken {
    int32_t range = -1;
    int32_t before = -1;
  };
  void Push(Partial partial);

  const SegmentBound& bound_;
  const SegmentBound::Suffixes& suffixes_;
  int64_t limit_;
  std::priority_queue<Partial> queue_;
  std::vector<Taken> taken_;
};

// One such set without a search, nearly the cheapest: at each place the move whose cheapest known suffix costs least.
// `most`: suffixes of each place. nullopt: there is none.
std::optional<Choice> NearlyCheapest(const SegmentBound& bound, int64_t limit,
                                     size_t most = SegmentBound::kMostSuffixes);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_SEARCH_CHEAPEST_FIRST_H_
