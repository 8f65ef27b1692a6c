#include "solver/methods/segments.h"

#include "gtest/gtest.h"
#include "solver/methods/chain_dp.h"
#include "solver/problem/simulate.h"
#include "tests/solver/chain_graph.h"

namespace onnx_mem {
namespace {

ChainArrays EqualBlocks(int n) {
  ChainArrays arrays;
  for (auto* array : {&arrays.a, &arrays.g}) array->assign(n, 4);
  arrays.S.assign(n, 10);
  arrays.f.assign(n, 3);
  arrays.b.assign(n, 6);
  for (auto* array : {&arrays.of, &arrays.oe, &arrays.ob}) array->assign(n, 0);
  arrays.g.back() = 0;
  return arrays;
}

TEST(SegmentsTest, AsManySegmentsAsTheRootOfTheBlocks) {
  const Chain chain = ChainOf(EqualBlocks(9));
  for (SegmentWeight weight : {SegmentWeight::kCount, SegmentWeight::kBytes, SegmentWeight::kCost}) {
    EXPECT_EQ(SqrtSegments(chain, weight), SegmentStarts({0, 3, 6}));
  }
}

TEST(SegmentsTest, EqualByWhatIsAskedFor) {
  ChainArrays arrays = EqualBlocks(4);
  arrays.f = {9, 3, 3, 3};
  arrays.S = {10, 10, 10, 30};
  const Chain chain = ChainOf(arrays);
  EXPECT_EQ(SqrtSegments(chain, SegmentWeight::kCount), SegmentStarts({0, 2}));
  EXPECT_EQ(SqrtSegments(chain, SegmentWeight::kCost), SegmentStarts({0, 1}));
  EXPECT_EQ(SqrtSegments(chain, SegmentWeight::kBytes), SegmentStarts({0, 3}));
}

TEST(SegmentsTest, EverySegmentButTheLastRunsTwice) {
  const StepGraph graph = GraphOfChain(EqualBlocks(9));
  const auto chain = ExtractChain(graph, BuildStages(graph));
  ASSERT_TRUE(chain.has_value());
  const auto measure = Simulate(graph, *ScheduleOf(graph, RunsOfSegments(*chain, {0, 3, 6})));
  ASSERT_TRUE(measure.ok()) << measure.status();
  EXPECT_EQ(measure->cost, 9 * 3 + 6 * 3 + 9 * 6);
  EXPECT_EQ(measure->peak_bytes, 4 + 4 + 3 * 10 + 4);  // a3, a6, the last segment's, one gradient
}

TEST(SegmentsTest, TheSimulatorFindsNoMoreThanTheMeasure) {
  std::mt19937 random(17);
  for (int trial = 0; trial < 100; ++trial) {
    const StepGraph graph = GraphOfChain(RandomChain(2 + trial % 20, random));
    const auto chain = ExtractChain(graph, BuildStages(graph));
    ASSERT_TRUE(chain.has_value());
    const ChainSolution best = SolveChain(*chain, int64_t{1} << 50);
    const auto sweep = SweepSegments(*chain, SegmentWeight::kBytes);
    EXPECT_LE(sweep.size(), 64u);
    EXPECT_EQ(sweep.back(), SegmentStarts({0}));
    for (const SegmentStarts& starts : sweep) {
      const SegmentMeasure expected = MeasureSegments(*chain, starts);
      const auto measure = Simulate(graph, *ScheduleOf(graph, RunsOfSegments(*chain, starts)));
      ASSERT_TRUE(measure.ok()) << measure.status();
      EXPECT_LE(measure->peak_bytes, expected.peak_bytes);
      EXPECT_LE(*best.CostWithin(expected.peak_bytes), expected.cost);
    }
  }
}

}  // namespace
}  // namespace onnx_mem
