#include "solver/bound/min_cut.h"

#include <array>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

struct Arc {
  int from;
  int to;
  int64_t capacity;
};

// Over every set of nodes that contains the source and not the sink.
int64_t SmallestCut(int nodes, const std::vector<Arc>& arcs) {
  int64_t smallest = std::numeric_limits<int64_t>::max();
  for (unsigned set = 0; set < 1u << nodes; ++set) {
    if ((set & 1u) == 0 || (set & 2u) != 0) continue;
    int64_t value = 0;
    for (const Arc& arc : arcs) {
      if ((set >> arc.from & 1u) != 0 && (set >> arc.to & 1u) == 0) value += arc.capacity;
    }
    smallest = std::min(smallest, value);
  }
  return smallest;
}

TEST(MinCutTest, EqualsTheSmallestOfAllCuts) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 500; ++trial) {
    const int nodes = 4 + static_cast<int>(random() % 6);
    MinCut cut;
    while (cut.node_count() < nodes) cut.AddNode();
    std::vector<Arc> arcs;
    for (int i = 0; i < 3 * nodes; ++i) {
      const auto from = static_cast<int>(random() % static_cast<unsigned>(nodes));
      const auto to = static_cast<int>(random() % static_cast<unsigned>(nodes));
      if (from == to) continue;
      arcs.push_back({from, to, 0});
      cut.AddArc(from, to);
    }
    for (int round = 0; round < 2; ++round) {  // the same graph with other capacities
      for (size_t i = 0; i < arcs.size(); ++i) {
        arcs[i].capacity = static_cast<int64_t>(random() % 12);
        cut.SetCapacity(static_cast<int>(i), arcs[i].capacity);
      }
      const auto value = static_cast<int64_t>(cut.Solve());
      EXPECT_EQ(value, SmallestCut(nodes, arcs)) << "trial " << trial;
      int64_t across = 0;
      for (const Arc& arc : arcs) {
        const bool leaves = cut.OnSourceSide(arc.from) && !cut.OnSourceSide(arc.to);
        across += leaves ? arc.capacity : 0;
      }
      EXPECT_EQ(across, value);
      EXPECT_TRUE(cut.OnSourceSide(MinCut::kSource));
      EXPECT_FALSE(cut.OnSourceSide(MinCut::kSink));
    }
  }
}

}  // namespace
}  // namespace onnx_mem
