#include "analyzer/onnx/rebatch/trace.h"

#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

// Scales dim `at` of `from` (exported size `size`, after `outer` elements of the dim), reshapes to `to`, and gives the
// target's shape when the size becomes 8; empty where the reshape cannot follow.
Dims Follow(const Dims& from, size_t at, int64_t size, const Dims& to, int64_t outer = 1) {
  const Variables variables = {{.from = size, .to = 8}};
  Traces traces(from.size());
  traces[at].power[0] = 1;
  traces[at].outer[0] = outer;
  const auto reshaped = Reshaped(from, traces, to, variables);
  if (!reshaped) return {};
  return Scaled(to, *reshaped, variables, Sizes::kTarget).value_or(Dims{});
}

TEST(Reshaped, MergesAndSplitsInFront) {
  EXPECT_EQ(Follow({2, 512, 1, 1}, 0, 2, {2, 512}), (Dims{8, 512}));
  EXPECT_EQ(Follow({1, 512, 1, 1}, 0, 1, {1, 512}), (Dims{8, 512}));
  EXPECT_EQ(Follow({2, 56, 56, 96}, 0, 2, {128, 49, 96}), (Dims{512, 49, 96}));
  EXPECT_EQ(Follow({1, 8, 8, 7, 7, 96}, 0, 1, {64, 49, 96}), (Dims{512, 49, 96}));
  EXPECT_EQ(Follow({64, 3, 49, 49}, 0, 1, {1, 64, 3, 49, 49}), (Dims{8, 64, 3, 49, 49}));
}

TEST(Reshaped, ABatchOfOneNeverGrowsTheFeatures) {
  EXPECT_EQ(Follow({17, 1, 64}, 1, 1, {17, 64}), (Dims{136, 64}));        // sequence and batch merged
  EXPECT_EQ(Follow({17, 1, 64}, 1, 1, {17, 4, 16}), (Dims{17, 32, 16}));  // batch and heads merged
  EXPECT_EQ(Follow({17, 4, 16}, 1, 1, {17, 64}), (Dims{136, 64}));        // and back
  EXPECT_EQ(Follow({1, 28, 28}, 0, 1, {784}), (Dims{6272}));              // nothing else could grow
}

TEST(Reshaped, RemembersWhatStandsOutside) {
  EXPECT_EQ(Follow({34, 64}, 0, 2, {17, 2, 64}, /*outer=*/17), (Dims{17, 8, 64}));
  EXPECT_EQ(Follow({34, 64}, 0, 2, {2, 17, 64}, /*outer=*/1), (Dims{8, 17, 64}));
  EXPECT_EQ(Follow({17, 64}, 0, 1, {17, 1, 64}, /*outer=*/17), (Dims{17, 8, 64}));
  EXPECT_EQ(Follow({17, 64}, 0, 1, {17, 1, 64}, /*outer=*/1), (Dims{136, 1, 64}));
}

TEST(Reshaped, OnesAreCounted) {
  EXPECT_EQ(Follow({1, 1, 64}, 1, 1, {1, 1, 64}), (Dims{1, 8, 64}));
  EXPECT_EQ(Follow({1, 1, 64}, 0, 1, {1, 1, 8, 8}), (Dims{8, 1, 8, 8}));
}

TEST(Reshaped, RefusesToCut) {
  EXPECT_EQ(Follow({2, 3}, 0, 2, {3, 2}), Dims{});
  EXPECT_EQ(Follow({6, 4}, 0, 6, {4, 6}), Dims{});
  EXPECT_EQ(Follow({2, 3}, 0, 2, {2, 4}), Dims{});  // other elements
  EXPECT_EQ(Follow({2, 0}, 0, 2, {0}), Dims{});
}

TEST(TraceOf, TellsProportionalFromOther) {
  const Variables variables = {{.from = 2, .to = 8}, {.from = 16, .to = 32}};
  const auto probe = [&](int64_t base, const Trace& trace) { return *Scaled(base, trace, variables, Sizes::kProbe); };
  Trace both;
  both.power = {1, 2, 0, 0};
  EXPECT_EQ(TraceOf(32, probe(32, both), variables)->power, both.power);
  EXPECT_FALSE(TraceOf(32, 32, variables)->any());
  EXPECT_EQ(TraceOf(32, 33, variables), std::nullopt);
  EXPECT_EQ(TraceOf(32, 96, variables), std::nullopt);
  EXPECT_EQ(TraceOf(0, 5, variables), std::nullopt);
}

TEST(Scaled, WholeNumbersOnly) {
  const Variables variables = {{.from = 64, .to = 160}};
  Trace trace;
  trace.power[0] = 1;
  EXPECT_EQ(Scaled(32, trace, variables, Sizes::kTarget), 80);
  EXPECT_EQ(Scaled(33, trace, variables, Sizes::kTarget), std::nullopt);
  EXPECT_EQ(Scaled(int64_t{1} << 62, trace, variables, Sizes::kTarget), std::nullopt);
}

}  // namespace
}  // namespace onnx_mem
