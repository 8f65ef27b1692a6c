// Bounds on sets of segments: against every set of small random instances, and against plans that were enacted.
#include "planner/search/segment_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "planner/measure/plan.h"
#include "planner/search/cheapest_first.h"
#include "planner/search/proof.h"
#include "tests/planner/random_set.h"

namespace onnx_mem {
namespace {

SegmentLimits RandomLimits(std::mt19937& random, int32_t count) {
  const auto up_to = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<unsigned>(most + 1)); };
  SegmentLimits limits;
  for (int32_t n = 0; n < count; ++n) limits.node_live.push_back(50 + 20 * n + up_to(60));
  limits.loss_live = 50 + 20 * count;
  limits.constant_live = up_to(90);
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t j = i; j < count; ++j) {
      if (up_to(2) == 0) limits.ranges.push_back({i, j, up_to(20 * (j - i + 1)), up_to(9), 40 + 20 * j + up_to(60)});
    }
  }
  return limits;
}

// Peak and cost of a set of ranges, straight from the definition; nullopt if they overlap.
std::optional<std::pair<int64_t, int64_t>> PeakAndCost(const SegmentLimits& limits, uint64_t set) {
  std::vector<const SegmentLimits::Range*> of_node(limits.node_live.size(), nullptr);
  for (size_t r = 0; r < limits.ranges.size(); ++r) {
    if (r < 64 && (set >> r & 1U) == 0) continue;
    for (int32_t n = limits.ranges[r].first; n <= limits.ranges[r].last; ++n) {
      if (std::exchange(of_node[static_cast<size_t>(n)], &limits.ranges[r]) != nullptr) return std::nullopt;
    }
  }
  int64_t peak = limits.constant_live, cost = 0, freed = 0;
  for (size_t n = 0; n < of_node.size(); ++n) {
    const SegmentLimits::Range* range = of_node[n];
    peak = std::max(peak, (range == nullptr ? limits.node_live[n] : range->live_bytes) - freed);
    if (range == nullptr) continue;
    freed += range->frees_bytes;
    cost += range->cost;
    n = static_cast<size_t>(range->last);
  }
  return std::pair(std::max(peak, limits.loss_live - freed), cost);
}

TEST(SegmentBound, IsTheBestOfAllSetsOnSmallInstances) {
  std::mt19937 random(7);
  int infeasible = 0;
  for (int trial = 0; trial < 200; ++trial) {
    SegmentLimits limits = RandomLimits(random, 5);
    if (limits.ranges.size() > 10) limits.ranges.resize(10);
    const SegmentBound bound(limits);
    int64_t floor = std::numeric_limits<int64_t>::max();
    const int64_t limit = bound.Floor() - 5 + static_cast<int64_t>(random() % 60);
    std::optional<int64_t> least;
    for (uint64_t set = 0; set < uint64_t{1} << limits.ranges.size(); ++set) {
      const auto measured = PeakAndCost(limits, set);
      if (!measured) continue;
      floor = std::min(floor, measured->first);
      if (measured->first <= limit) least = std::min(least.value_or(measured->second), measured->second);
    }
    EXPECT_EQ(bound.Floor(), floor);
    EXPECT_EQ(bound.LeastCost(limit), least);
    infeasible += !least.has_value();
  }
  EXPECT_GT(infeasible, 2);
  EXPECT_LT(infeasible, 100);
}

TEST(CheapestFirst, GivesEverySetWithinTheLimitByRisingCost) {
  std::mt19937 random(3);
  size_t given = 0;
  for (int trial = 0; trial < 100; ++trial) {
    SegmentLimits limits = RandomLimits(random, 5);
    if (limits.ranges.size() > 10) limits.ranges.resize(10);
    const SegmentBound bound(limits);
    const int64_t limit = bound.Floor() + static_cast<int64_t>(random() % 60);
    std::vector<int64_t> costs;
    for (uint64_t set = 0; set < uint64_t{1} << limits.ranges.size(); ++set) {
      const auto measured = PeakAndCost(limits, set);
      if (measured && measured->first <= limit) costs.push_back(measured->second);
    }
    std::sort(costs.begin(), costs.end());
    CheapestFirst sets(bound, limit);
    std::vector<int64_t> found;
    while (const auto set = sets.Next()) {
      uint64_t bits = 0;
      for (int32_t r : set->ranges) bits |= uint64_t{1} << r;
      const auto measured = PeakAndCost(limits, bits);
      ASSERT_TRUE(measured.has_value());
      EXPECT_LE(measured->first, limit);
      EXPECT_EQ(measured->second, set->cost);
      EXPECT_EQ(bound.PeakOf(set->ranges), measured->first);
      found.push_back(set->cost);
      ASSERT_LE(found.size(), costs.size());
    }
    EXPECT_FALSE(sets.LeastCost().has_value());
    EXPECT_EQ(found, costs);
    given += found.size();
  }
  EXPECT_GT(given, 500U);
}

TEST(NearlyCheapest, IsTheCheapestSetWhereNoSuffixWasLeftOut) {
  std::mt19937 random(5);
  int found = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const SegmentBound bound(RandomLimits(random, 6));
    const int64_t limit = bound.Floor() - 5 + static_cast<int64_t>(random() % 60);
    const std::optional<Choice> set = NearlyCheapest(bound, limit);
    const auto cheapest = CheapestFirst(bound, limit).Next();
    ASSERT_EQ(set.has_value(), cheapest.has_value());
    if (!set) continue;
    EXPECT_LE(bound.PeakOf(*set), limit);
    EXPECT_EQ(cheapest->cost, *bound.LeastCost(limit));
    int64_t cost = 0;
    for (size_t place = 0; place < bound.end(); ++place) {
      for (const SegmentBound::Move& move : bound.MovesFrom(place)) {
        if (std::find(set->begin(), set->end(), move.range) != set->end() && move.range >= 0) cost += move.cost;
      }
    }
    EXPECT_EQ(cost, cheapest->cost);
    ++found;
  }
  EXPECT_GT(found, 50);
}

struct SegmentCase {
  const char* name;
  int64_t batch;
  bool exact = true;  // every set's peak is that of its limits
  std::vector<std::pair<std::string, int64_t>> dims = {};
  bool exact_time = true;  // and its time
};
const SegmentCase kCases[] = {{"resnet18.train.ts.op17.onnx", 32},
                              {"unet_seg.train.ts.op17.onnx", 4},
                              {"mobilenet_v2.train.ts.op17.onnx", 16},
                              {"vit_b_16.train.ts.op17.onnx", 8},
                              {"resnet50.train.dynamo.op18.noopt.onnx", 16},
                              {"vgg16.train.ts.op17.onnx", 16},
                              {"resnet18.train.ts.op17.chain.onnx", 16},
                              {"gpt2_sdpa.train.ts.op17.onnx", 8, false, {{"seq", 128}}},
                              {"bert_base.train.ts.op17.onnx", 8, false, {{"seq", 256}}, false}};

TEST(SegmentBound, NoEnactedSetIsBetterThanItsLimits) {
  std::mt19937 random(1);
  for (const SegmentCase& c : kCases) {
    SCOPED_TRACE(c.name);
    Workload workload;
    workload.mode = Mode::kTraining;
    workload.bindings.batch = c.batch;
    workload.optimizer = *ParseOptimizer("sgd");
    for (const auto& dim : c.dims) workload.bindings.dims.insert(dim);
    const auto file = ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/" + c.name);
    ASSERT_TRUE(file.ok()) << file.status();
    Study study(*file);
    auto accountant = Accountant::Create(study, workload, PlanRequest().clock, CostLine::kFlops);
    ASSERT_TRUE(accountant.ok()) << accountant.status();
    const auto prover = Prover::Create(*accountant, CostLine::kFlops, BudgetLine::kLive);
    ASSERT_TRUE(prover.ok()) << prover.status();
    const std::vector<Candidate> candidates = FindCandidates(accountant->lowered()).list;
    int exact = 0, same = 0, sets = 0;
    for (int trial = 0; trial < 25; ++trial) {
      const std::vector<int32_t> set = RandomSet(random, candidates, trial % 2 == 0 ? 20 : 90);
      std::vector<Candidate> chosen;
      std::vector<Segment> segments;
      for (int32_t i : set) {
        chosen.push_back(candidates[static_cast<size_t>(i)]);
        segments.push_back(chosen.back().segment);
      }
      const auto enacted = accountant->Enact(segments);
      ASSERT_TRUE(enacted.ok()) << enacted.status();
      const Score score = accountant->ScoreOf(*enacted);
      const auto limits = prover->LimitSegments(chosen);
      ASSERT_TRUE(limits.has_value());
      const auto [peak, cost] = *PeakAndCost(*limits, ~uint64_t{0});
      EXPECT_LE(peak, score.peak_bytes);
      EXPECT_LE(cost, score.cost);
      exact += peak == score.peak_bytes;
      same += cost == score.cost;
      ++sets;
    }
    // Where segments are not nested in anything that code keeps, the limits are what the accountant measures.
    EXPECT_EQ(same, sets);
    if (c.exact) {
      EXPECT_EQ(exact, sets);
    }
  }
}

// The step that a second run stops in reads what it read the first time, and may write over it.
TEST(SegmentBound, NoEnactedSetTakesLessTimeThanItsLimits) {
  std::mt19937 random(1);
  for (const SegmentCase& c : kCases) {
    SCOPED_TRACE(c.name);
    Workload workload;
    workload.mode = Mode::kTraining;
    workload.bindings.batch = c.batch;
    workload.optimizer = *ParseOptimizer("sgd");
    for (const auto& dim : c.dims) workload.bindings.dims.insert(dim);
    const auto file = ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/" + c.name);
    ASSERT_TRUE(file.ok()) << file.status();
    Study study(*file);
    auto accountant = Accountant::Create(study, workload, PlanRequest().clock, CostLine::kTime);
    ASSERT_TRUE(accountant.ok()) << accountant.status();
    const auto prover = Prover::Create(*accountant, CostLine::kTime, BudgetLine::kLive);
    ASSERT_TRUE(prover.ok()) << prover.status();
    const std::vector<Candidate> candidates = FindCandidates(accountant->lowered()).list;
    const auto limits = prover->LimitSegments(candidates);
    ASSERT_TRUE(limits.has_value());
    std::vector<std::vector<int32_t>> sets;
    for (int trial = 0; trial < 10; ++trial) sets.push_back(RandomSet(random, candidates, trial % 2 == 0 ? 20 : 90));
    for (size_t i = 0; i < candidates.size(); ++i) sets.push_back({static_cast<int32_t>(i)});
    size_t same = 0;
    for (const std::vector<int32_t>& set : sets) {
      std::vector<Segment> segments;
      int64_t cost = 0;
      for (int32_t i : set) {
        segments.push_back(candidates[static_cast<size_t>(i)].segment);
        cost += limits->ranges[static_cast<size_t>(i)].cost;
      }
      const auto enacted = accountant->Enact(segments);
      ASSERT_TRUE(enacted.ok()) << enacted.status();
      const int64_t enacted_cost = accountant->ScoreOf(*enacted).cost;
      EXPECT_LE(cost, enacted_cost) << "first of the set: " << (set.empty() ? -1 : set.front());
      same += cost == enacted_cost;
    }
    if (c.exact_time) {
      EXPECT_EQ(same, sets.size());
    }
  }
}

}  // namespace
}  // namespace onnx_mem
