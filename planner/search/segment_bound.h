// The least that any set of disjoint segments can reach by its limits (segment_limits.h): the lowest peak, and for a
// limit on the peak the lowest cost. Both are proven for all sets, of which there may be more than can be counted.
//
// From the end of the model backwards: a suffix of choices has a cost, and a peak where no earlier segment frees
// anything:
//   node n in no segment:   peak = max(peak after, live(n))
//   segment c:              peak = max(peak after - frees(c), live(c))
// It keeps within a limit where earlier segments free what its peak is above that, so one table serves all limits. Of
// all suffixes that begin at a node, those stay that no other betters in both. Where they are too many, two become one
// with the lower figure of each: a bound still.
#ifndef ONNX_MEM_PLANNER_SEARCH_SEGMENT_BOUND_H_
#define ONNX_MEM_PLANNER_SEARCH_SEGMENT_BOUND_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "planner/measure/segment_limits.h"

namespace onnx_mem {

class SegmentBound {
 public:
  explicit SegmentBound(SegmentLimits limits);

  // Places where a segment may begin or end; the last one is the end of the model.
  size_t end() const { return moves_.size(); }

  // One step forward from a place: over nodes in no segment (range -1), or over a range.
  struct Move {
    size_t to = 0;
    int64_t live_bytes = 0;
    int32_t range = -1;  // index into the limits' ranges, which are those of the candidates
    int64_t frees_bytes = 0;
    int64_t cost = 0;
  };
  const std::vector<Move>& MovesFrom(size_t place) const { return moves_[place]; }
  int64_t loss_live() const { return loss_live_; }
  int64_t constant_live() const { return constant_live_; }

  struct Suffix {
    int64_t peak_bytes = 0;
    int64_t cost = 0;
  };
  using Suffixes = std::vector<std::vector<Suffix>>;  // by place; by rising peak, falling cost
  // `reached`: where they are more than `most` some of them stay, in place of figures that bound them all. Made when it
  // is first wanted, by one thread.
  static constexpr size_t kMostSuffixes = 4096;
  const Suffixes& AllSuffixes(bool reached = false, size_t most = kMostSuffixes) const;

  // Lowest cost of one of the `suffixes` of a place where earlier segments free `freed_bytes`; nullopt: none keeps
  // within the limit.
  static std::optional<int64_t> LeastCost(const std::vector<Suffix>& suffixes, int64_t limit, int64_t freed_bytes);

  // No set of segments costs less whose peak is at most `limit`; nullopt: none has such a peak.
  std::optional<int64_t> LeastCost(int64_t limit) const;

  // Peak and cost of one set by its limits: ranges by node, disjoint.
  Suffix FiguresOf(const std::vector<int32_t>& ranges) const;
  int64_t PeakOf(const std::vector<int32_t>& ranges) const { return FiguresOf(ranges).peak_bytes; }

  // No set of segments has a lower peak.
  int64_t Floor() const { return floor_; }

 private:
  bool Reaches(int64_t limit) const;
  // Of the suffixes `one` of a place, and those that `move` makes of the suffixes `behind` it, the ones that no other
  // beats. All by rising peak, falling cost.
  static void Join(const std::vector<Suffix>& one, const std::vector<Suffix>& behind, const Move& move,
                   std::vector<Suffix>& joined);
  Suffixes MakeSuffixes(bool reached, size_t most) const;
  // Of too many, fewer that err on the side of the bound, or some of them.
  static void Thin(std::vector<Suffix>& suffixes, bool reached, size_t most);

  std::vector<std::vector<Move>> moves_;
  int64_t loss_live_ = 0;
  int64_t constant_live_ = 0;
  int64_t floor_ = 0;
  mutable std::map<std::pair<bool, size_t>, Suffixes> suffixes_;  // that were wanted so far
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_SEARCH_SEGMENT_BOUND_H_
