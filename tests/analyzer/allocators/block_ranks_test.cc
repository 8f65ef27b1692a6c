// The order of best fit against an ordered set, over random insertions and removals.
#include "analyzer/allocators/block_ranks.h"

#include <gtest/gtest.h>

#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace onnx_mem {
namespace {

BlockId IdOf(const BlockRank* rank) { return rank == nullptr ? BlockId() : rank->id; }

TEST(BlockRanks, AreInTheOrderOfASet) {
  std::mt19937 random(1);
  BlockRanks ranks;
  std::set<BlockRank> set;
  const auto id_at = [&](std::set<BlockRank>::iterator place) { return place == set.end() ? BlockId() : place->id; };
  const auto up_to = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<unsigned>(most + 1)); };
  for (int32_t i = 0; i < 4000; ++i) {
    // Few sizes, so that addresses decide; of all widths.
    const BlockRank rank{int64_t{512} << up_to(39), 512 * up_to(63), static_cast<int32_t>(up_to(2)) - 1, BlockId(i)};
    EXPECT_EQ(IdOf(ranks.NotBefore(rank)), id_at(set.lower_bound(rank)));
    EXPECT_EQ(IdOf(ranks.Behind(rank)), id_at(set.upper_bound(rank)));
    const auto place = set.lower_bound(rank);
    EXPECT_EQ(IdOf(ranks.Before(rank)), place == set.begin() ? BlockId() : std::prev(place)->id);
    const auto [known, is_new] = set.insert(rank);
    if (is_new) {
      ranks.Insert(rank);
    } else if (up_to(1) == 0) {
      ranks.Erase(*known);
      set.erase(known);
    }
    if (i % 3 == 0 && !set.empty()) {  // as many go as come
      ranks.Erase(*set.begin());
      set.erase(set.begin());
    }
    EXPECT_EQ(ranks.empty(), set.empty());
    EXPECT_EQ(IdOf(ranks.Last()), set.empty() ? BlockId() : set.rbegin()->id);
  }
  std::vector<BlockId> ids;
  for (const BlockRank& rank : set) ids.push_back(rank.id);
  EXPECT_EQ(ranks.Ids(), ids);
  EXPECT_GT(ids.size(), 100U);
  EXPECT_EQ(ranks.NotBefore({std::numeric_limits<int64_t>::max(), 0, 0, BlockId()}), nullptr);
}

}  // namespace
}  // namespace onnx_mem
