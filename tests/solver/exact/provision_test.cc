#include "solver/exact/provision.h"

#include <optional>

#include "gtest/gtest.h"
#include "tests/solver/brute_force.h"
#include "tests/solver/graph_builder.h"
#include "tests/solver/random_graph.h"

namespace onnx_mem {
namespace {

// c reads a and b; b is made from a large x.
StepGraph TwoInputs() {
  GraphBuilder builder;
  const StepTensorId a = builder.Activation(4);
  const StepTensorId x = builder.Activation(9);
  const StepTensorId b = builder.Activation(4);
  const StepTensorId c = builder.Activation(1);
  builder.Ordered(1, {}, {a});
  builder.Ordered(1, {}, {x});
  builder.Ordered(1, {{x}}, {b});
  builder.Ordered(1, {{a}, {b}}, {c});
  return builder.graph;
}

TEST(ProvisionTest, MakesWhatNeedsMuchRoomFirst) {
  const StageProblem problem = BuildStages(TwoInputs());
  Provisioner provisioner(problem);
  ProvisionQuestion question{3, problem.anchors[3].needs, std::vector<Word>(provisioner.words(), 0), {}, 13, 0, false};
  const Provision found = provisioner.Find(question, {});
  ASSERT_EQ(found.outcome, Provision::Outcome::kFound);
  EXPECT_EQ(found.ops, (std::vector<int>{1, 2, 0}));  // with a there already, x and b would not fit
  question.room_bytes = 12;
  EXPECT_EQ(provisioner.Find(question, {}).outcome, Provision::Outcome::kImpossible);
}

TEST(ProvisionTest, StartsFromWhatIsThere) {
  const StageProblem problem = BuildStages(TwoInputs());
  Provisioner provisioner(problem);
  ProvisionQuestion question{3, problem.anchors[3].needs, std::vector<Word>(provisioner.words(), 0), {}, 13, 0, false};
  SetBit(question.resident.data(), 2);
  const Provision found = provisioner.Find(question, {});
  ASSERT_EQ(found.outcome, Provision::Outcome::kFound);
  EXPECT_EQ(found.ops, std::vector<int>{0});
}

TEST(ProvisionTest, OperatorsThatCannotRunAreThoseOfGraphsWithoutASchedule) {
  int proven = 0;
  int open = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const StepGraph graph = seed % 2 == 0 ? RandomTrainingGraph(seed) : RandomOrderedGraph(seed);
    const int64_t budget = RandomBudget(graph, seed);
    const StageProblem problem = BuildStages(graph);
    Provisioner provisioner(problem);
    bool impossible = false;
    for (int t = 0; t < problem.anchor_count(); ++t) {
      impossible = impossible || LeastBytes(problem, problem.anchors[t]) > budget ||
                   provisioner.CannotRun(t, budget, {.state_limit = 100000});
    }
    const bool possible = BestCostByBruteForce(graph, budget).has_value();
    EXPECT_FALSE(possible && impossible) << "seed " << seed;
    proven += !possible && impossible ? 1 : 0;
    // Without a backward, what operators need on their own decides.
    open += seed % 2 == 1 && !possible && !impossible ? 1 : 0;
  }
  EXPECT_GT(proven, 100);
  EXPECT_EQ(open, 0);
}

}  // namespace
}  // namespace onnx_mem
