#include "analyzer/graph/suggest.h"

#include <gtest/gtest.h>

namespace onnx_mem {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(EditDistance("batch", "batch", 2), 0u);
  EXPECT_EQ(EditDistance("bacth", "batch", 2), 1u);  // a swap of neighbours is one edit
  EXPECT_EQ(EditDistance("btch", "batch", 2), 1u);
  EXPECT_EQ(EditDistance("baatch", "batch", 2), 1u);
  EXPECT_EQ(EditDistance("Patch", "batch", 2), 1u);  // case does not count, the letter does
  EXPECT_EQ(EditDistance("ca", "abc", 5), 3u);       // optimal string alignment: a swapped pair is not edited again
}

TEST(EditDistance, StopsAboveTheLimit) {
  EXPECT_EQ(EditDistance("a", "abcdefgh", 2), 3u);
  EXPECT_EQ(EditDistance("abcd", "wxyz", 2), 3u);
  EXPECT_EQ(EditDistance("", "", 2), 0u);
  EXPECT_EQ(EditDistance("", "ab", 2), 2u);
}

TEST(Suggest, GivesTheNearestFirst) {
  EXPECT_EQ(Suggest("--bath", {"--by", "--batch", "--bats"}), (std::vector<std::string>{"--batch", "--bats"}));
  EXPECT_EQ(Suggest("RTX4900", {"RTX 4080", "RTX 4090"}), (std::vector<std::string>{"RTX 4090"}));
}

TEST(Suggest, AllowsOneEditForShortNames) {
  EXPECT_EQ(Suggest("md", {"csv", "mdx"}), (std::vector<std::string>{"mdx"}));
  EXPECT_TRUE(Suggest("abc", {"axy"}).empty());
}

TEST(Suggest, IsSilentWhenNothingIsNear) {
  EXPECT_TRUE(Suggest("--frobnicate", {"--batch", "--dim"}).empty());
  EXPECT_EQ(DidYouMean("--frobnicate", {"--batch"}), "");
  EXPECT_EQ(DidYouMean("--bacth", {"--batch"}), "did you mean: --batch");
}

}  // namespace
}  // namespace onnx_mem
