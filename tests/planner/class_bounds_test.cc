// What is proven of a class of plans, and of all schedules, against plans of the class that were enacted: a bound above
// one of them is wrong. Each model has what such a bound once left out: results that are fitted once what was saved is
// gone, casts that a second run makes anew, layers of many calls, checkpoints of the model's own.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "planner/calls/call_class.h"
#include "planner/measure/plan.h"
#include "planner/search/proof.h"
#include "planner/search/segment_bound.h"
#include "tests/planner/random_set.h"

namespace onnx_mem {
namespace {

struct ClassCase {
  const char* name;
  int64_t batch;
  int64_t seq = 0;
  std::optional<DType> autocast = {};
  int64_t accumulate = 1;
};
const ClassCase kClassCases[] = {{"models/bert_base.train.ts.op17.onnx", 8, 256},
                                 {"models/vit_b_16.train.ts.op17.onnx", 4, 0, DType::kBFloat16},
                                 {"models/resnet18.train.ts.op17.onnx", 4, 0, {}, 4},
                                 {"models/lenet5.train.ts.op17.onnx", 4},
                                 {"models/dcgan_generator.train.ts.op17.onnx", 4},
                                 {"records/bert.eager", 4},
                                 {"records/mobilenet_v3_small.eager", 4},
                                 {"records/swin_small.eager", 4},
                                 {"records/gpt2.eager", 4},
                                 {"records/recurrent.eager", 4},
                                 {"records/checkpointed.eager", 4},
                                 {"records/llama_checkpointed.eager", 4}};

struct PlanClass {
  std::vector<Candidate> candidates;
  SegmentLimits proven;
};

// Without those that meet what the model's own code checkpoints.
CandidateSet CandidatesOf(const Lowered& lowered, Granularity granularity) {
  CandidateSet set = FindCandidates(lowered, granularity);
  std::erase_if(set.list, [&](const Candidate& c) {
    return std::any_of(lowered.checkpointed.begin(), lowered.checkpointed.end(), [&](const CheckpointCall& call) {
      return call.span.first <= c.last && c.first <= call.span.last;
    });
  });
  return set;
}

std::optional<PlanClass> ClassOf(const Accountant& accountant, const Prover& prover, Granularity granularity,
                                 CostLine line) {
  CandidateSet set = CandidatesOf(accountant.lowered(), granularity);
  const auto limits_of = [&](const std::vector<Candidate>& ranges) { return prover.LimitSegments(ranges); };
  if (granularity == Granularity::kCall) {
    if (!set.by_module) return std::nullopt;
    std::optional<CallClass> calls =
        FindCallClass(accountant, prover.trace(), limits_of, RangesOfClass(accountant.lowered(), set), line);
    if (!calls) return std::nullopt;
    return PlanClass{std::move(calls->profile.candidates), std::move(calls->proven)};
  }
  std::optional<SegmentLimits> limits = limits_of(set.list);
  if (!limits) return std::nullopt;
  return PlanClass{std::move(set.list), *std::move(limits)};
}

// One plan against all that is proven.
void ExpectNoBoundAbove(const Score& score, const SegmentBound& bound, Prover& prover, bool any_schedule) {
  EXPECT_LE(bound.Floor(), score.peak_bytes);
  EXPECT_LE(prover.minimum().bytes, score.peak_bytes);
  const std::optional<int64_t> least = bound.LeastCost(score.peak_bytes);
  EXPECT_TRUE(least.has_value());
  EXPECT_LE(least.value_or(0), score.cost);
  if (any_schedule) {
    const auto any = prover.BoundFor({score.peak_bytes, /*schedules=*/false, 0.02, 0});
    EXPECT_TRUE(any.ok() && !any->infeasible);
    EXPECT_LE(any.ok() ? any->cost : 0, score.cost);
  }
}

class ClassBounds : public testing::TestWithParam<ClassCase> {};

TEST_P(ClassBounds, NoEnactedPlanOfTheClassBeatsThem) {
  const ClassCase& c = GetParam();
  Workload workload;
  workload.mode = Mode::kTraining;
  workload.bindings.batch = c.batch;
  if (c.seq > 0) workload.bindings.dims.insert({"seq", c.seq});
  workload.optimizer = *ParseOptimizer("sgd");
  workload.run.autocast = c.autocast;
  workload.run.accumulate = c.accumulate;
  const auto file = ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/" + c.name);
  ASSERT_TRUE(file.ok()) << file.status();
  Study study(*file);
  std::mt19937 random(1);
  int plans = 0;
  for (const CostLine line : {CostLine::kFlops, CostLine::kTime}) {
    auto accountant = Accountant::Create(study, workload, PlanRequest().clock, line);
    ASSERT_TRUE(accountant.ok()) << accountant.status();
    auto prover = Prover::Create(*accountant, line, BudgetLine::kLive);
    ASSERT_TRUE(prover.ok()) << prover.status();
    for (const Granularity granularity : {Granularity::kModule, Granularity::kOp, Granularity::kCall}) {
      SCOPED_TRACE(std::string(NameOf(granularity)) + (line == CostLine::kTime ? ", time" : ", FLOPs"));
      const std::optional<PlanClass> of = ClassOf(*accountant, *prover, granularity, line);
      EXPECT_EQ(of.has_value() && accountant->HasOwnSegments(), false);
      if (!of) continue;
      const SegmentBound bound(of->proven);
      for (int trial = 0; trial < 12; ++trial) {
        std::vector<Segment> segments;
        for (int32_t i : RandomSet(random, of->candidates, trial % 3 == 0 ? 20 : 95))
          segments.push_back(of->candidates[static_cast<size_t>(i)].segment);
        const auto enacted = accountant->Enact(segments);
        ASSERT_TRUE(enacted.ok()) << enacted.status();
        ExpectNoBoundAbove(accountant->ScoreOf(*enacted), bound, *prover, trial % 6 == 1);
        ++plans;
      }
    }
  }
  EXPECT_GT(plans, std::string(c.name).find("checkpointed") == std::string::npos ? 40 : -1);
}

INSTANTIATE_TEST_SUITE_P(Models, ClassBounds, testing::ValuesIn(kClassCases));

}  // namespace
}  // namespace onnx_mem
