#include "analyzer/graph/ids.h"

#include <type_traits>

#include "absl/container/flat_hash_set.h"
#include "analyzer/graph/graph.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

static_assert(!std::is_convertible_v<NodeId, TensorId>, "a NodeId must never stand where a TensorId is meant");
static_assert(!std::is_constructible_v<NodeId, TensorId>);
static_assert(!std::is_convertible_v<int, NodeId>, "an index becomes an id only on purpose");

TEST(IdTest, DefaultIsInvalid) {
  EXPECT_FALSE(NodeId().valid());
  EXPECT_TRUE(NodeId(0).valid());
  EXPECT_LT(NodeId(), NodeId(0));
  EXPECT_NE(NodeId(1), NodeId(0));
}

TEST(IdTest, Hashes) {
  absl::flat_hash_set<TensorId> seen = {TensorId(3), TensorId(4), TensorId(3)};
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen.contains(TensorId(4)));
}

TEST(IdVectorTest, AddGivesTheIdThatReadsItBack) {
  IdVector<NodeId, int> values;
  EXPECT_EQ(values.next_id(), NodeId(0));
  const NodeId first = values.Add(10);
  const NodeId second = values.Add(20);
  EXPECT_EQ(values[first], 10);
  EXPECT_EQ(values[second], 20);
  EXPECT_EQ(values.next_id(), NodeId(2));
}

TEST(IdVectorTest, ContainsOnlyItsOwnRange) {
  IdVector<NodeId, int> values(2, 7);
  EXPECT_TRUE(values.contains(NodeId(1)));
  EXPECT_FALSE(values.contains(NodeId(2)));
  EXPECT_FALSE(values.contains(NodeId()));
  EXPECT_FALSE((IdVector<NodeId, int>().contains(NodeId(0))));
}

TEST(IdVectorTest, BoolElementsCanBeWritten) {
  IdVector<TensorId, bool> marks(3, false);
  marks[TensorId(1)] = true;
  EXPECT_FALSE(marks[TensorId(0)]);
  EXPECT_TRUE(marks[TensorId(1)]);
}

}  // namespace
}  // namespace onnx_mem
