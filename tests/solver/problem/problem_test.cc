#include "solver/problem/problem.h"

#include "analyzer/graph/diagnostic.h"
#include "gtest/gtest.h"
#include "tests/solver/graph_builder.h"

namespace onnx_mem {
namespace {

TEST(ProblemTest, OnceCostCountsVariantsOnce) {
  GraphBuilder b;
  const auto x = b.Input();
  const auto plain = b.Activation(4);
  const auto saved = b.Activation(9);
  b.Forward(7, {{x}}, {plain}, 0, "f");
  b.Forward(6, {{x}}, {saved}, 0, "f");
  b.Backward(5, {{saved}}, {});
  EXPECT_EQ(OnceCost(b.graph), 11);
}

TEST(ProblemTest, WhatNothingNeedsIsNoPartOfAScheduleWithoutRecomputation) {
  GraphBuilder b;
  const auto x = b.Input();
  const auto map = b.Activation(4);
  const auto normed = b.Activation(4);
  const auto counter = b.Activation(8);
  b.Forward(7, {{x}}, {map});
  b.Forward(10, {{x}}, {counter});  // num_batches_tracked.add_
  b.Forward(3, {{map}}, {normed});
  b.Backward(5, {{normed}}, {});
  EXPECT_EQ(OnceCost(b.graph), 25);
  EXPECT_EQ(NeededOnceCost(b.graph), 15);
}

TEST(ProblemTest, RequiredOrderFollowsTheListWhereItCan) {
  GraphBuilder b;
  const auto x = b.Input();
  const auto a = b.Activation(1);
  const auto d = b.Gradient(1);
  b.Forward(1, {{x}}, {a});
  const auto reader = b.Backward(1, {{d}}, {});
  const auto writer = b.Backward(1, {{a}}, {d});
  const auto last = b.Backward(1, {{a}}, {});
  EXPECT_EQ(RequiredOrder(b.graph), (std::vector<StepOpId>{writer, reader, last}));
  EXPECT_TRUE(VerifyStepGraph(b.graph).ok());
}

TEST(ProblemTest, RefusesWhatCanNeverRun) {
  GraphBuilder b;
  const auto never = b.Activation(1);
  b.Backward(1, {{never}}, {});
  const absl::Status status = VerifyStepGraph(b.graph);
  EXPECT_EQ(DiagnosticOf(status).code, Code::kBadInstance);
  EXPECT_EQ(status.message(), "operator 'B0' can never run: an input is never made");
}

TEST(ProblemTest, RefusesAGradientThatWaitsForItsReader) {
  GraphBuilder b;
  const auto d = b.Gradient(1);
  const auto e = b.Gradient(1);
  b.Backward(1, {}, {d});
  b.Backward(1, {{d}}, {e});
  b.Backward(1, {{e}}, {d});
  EXPECT_FALSE(VerifyStepGraph(b.graph).ok());
}

TEST(ProblemTest, RefusesForwardWritingAGradient) {
  GraphBuilder b;
  const auto d = b.Gradient(1);
  b.Forward(1, {}, {d});
  EXPECT_FALSE(VerifyStepGraph(b.graph).ok());
}

TEST(ProblemTest, RefusesSumsThatOverflow) {
  GraphBuilder b;
  b.Activation(int64_t{1} << 55);
  EXPECT_TRUE(VerifyStepGraph(b.graph).ok());
  b.Activation(int64_t{1} << 55);
  b.Activation(1);
  EXPECT_FALSE(VerifyStepGraph(b.graph).ok());
}

TEST(ProblemTest, RefusesOrderedOperatorsOutOfOrder) {
  GraphBuilder b;
  const auto a = b.Activation(1);
  const auto c = b.Activation(1);
  b.Ordered(1, {{a}}, {c});
  b.Ordered(1, {}, {a});
  EXPECT_FALSE(VerifyStepGraph(b.graph).ok());
}

}  // namespace
}  // namespace onnx_mem
