// Orders as opt_einsum.contract_path(optimize="auto") of 3.4.0 gives them.
#include "analyzer/assume/table/contraction_order.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"

namespace onnx_mem {
namespace {

std::vector<int64_t> OrderOf(const std::string& equation, const std::vector<std::pair<char, double>>& labels) {
  const std::vector<std::string> sides = absl::StrSplit(equation, "->");
  std::vector<double> sizes(256, 1);
  for (const auto& [label, size] : labels) sizes[static_cast<unsigned char>(label)] = size;
  return CheapestOrder(absl::StrSplit(sides[0], ','), sides[1], sizes);
}

using Pairs = std::vector<int64_t>;

TEST(ContractionOrder, IsTheCheapest) {
  EXPECT_EQ(OrderOf("ijk,za,zi,zj->zka", {{'i', 8}, {'j', 8}, {'k', 8}, {'z', 64}, {'a', 4}}),
            (Pairs{2, 3, 0, 2, 0, 1}));
  EXPECT_EQ(OrderOf("ab,bc,cd->ad", {{'a', 2}, {'b', 50}, {'c', 3}, {'d', 40}}), (Pairs{0, 1, 0, 1}));
  EXPECT_EQ(OrderOf("ab,bc,cd->ad", {{'a', 20}, {'b', 5}, {'c', 30}, {'d', 4}}), (Pairs{1, 2, 0, 1}));
  EXPECT_EQ(OrderOf("ab,bc,cd,de->ae", {{'a', 20}, {'b', 5}, {'c', 30}, {'d', 4}, {'e', 50}}),
            (Pairs{1, 2, 0, 2, 0, 1}));
}

}  // namespace
}  // namespace onnx_mem
