#include "planner/advice/savings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "planner/advice/fit.h"
#include "tests/graph_text.h"
#include "tests/planner/advice/testdata_model.h"

namespace onnx_mem {
namespace {

const Saving* WithFlag(const std::vector<Saving>& savings, const std::string& flag) {
  const auto found = std::find_if(savings.begin(), savings.end(), [&](const Saving& saving) {
    return !saving.change.flags.empty() && saving.change.flags.front() == flag;
  });
  return found == savings.end() ? nullptr : &*found;
}

std::vector<Saving> Savings(const ModelFile& file, const Workload& workload, int64_t plan_iterations = 0) {
  Study study(file);
  const absl::StatusOr<std::vector<Saving>> savings = RankSavings(study, workload, {nullptr, plan_iterations});
  EXPECT_TRUE(savings.ok()) << savings.status();
  return *savings;
}

TEST(RankSavings, LargestFirstAndMeasured) {
  const ModelFile file = OpenModel("resnet18");
  const Workload workload = TrainingAt(16);
  const int64_t now = DeviceBytes(file, workload);
  const std::vector<Saving> savings = Savings(file, workload, 12);
  ASSERT_GE(savings.size(), 5u);
  for (size_t i = 0; i < savings.size(); ++i) {
    SCOPED_TRACE(savings[i].change.change);
    if (i > 0) {
      EXPECT_GE(savings[i - 1].saves_bytes, savings[i].saves_bytes);
    }
    EXPECT_EQ(DeviceBytes(file, savings[i].change.workload), savings[i].footprint.device_bytes);
    EXPECT_EQ(savings[i].saves_bytes, now - savings[i].footprint.device_bytes);
    EXPECT_FALSE(savings[i].change.flags.empty());
  }
}

std::vector<std::string> BestOfEachPrice(const std::vector<Saving>& savings, size_t prices) {
  std::map<Price, std::string> best;
  for (const Saving& saving : savings) best.emplace(saving.change.price, saving.change.change);
  std::vector<std::string> changes;
  for (const auto& [price, change] : best) {
    if (price != Price::kTask && changes.size() < prices) changes.push_back(change);
  }
  return changes;
}

TEST(RankSavings, TheCheapestPricesNeedNotWaitForTheRest) {
  const ModelFile file = OpenModel("resnet18");
  for (Mode mode : {Mode::kTraining, Mode::kInference}) {
    Workload workload = TrainingAt(16);
    workload.mode = mode;
    for (size_t prices : {1, 2, 3}) {
      Study study(file);
      const absl::StatusOr<std::vector<Saving>> some = RankSavings(study, workload, {nullptr, 12, prices});
      ASSERT_TRUE(some.ok()) << some.status();
      const std::vector<Saving> all = Savings(file, workload, 12);
      EXPECT_EQ(BestOfEachPrice(*some, prices), BestOfEachPrice(all, prices)) << prices;
      EXPECT_LT(some->size(), all.size()) << prices;
    }
  }
}

TEST(WayRows, NoProposalIsCheaperThanItsRowSays) {
  const ModelFile file = OpenModel("resnet18");
  for (Mode mode : {Mode::kTraining, Mode::kInference}) {
    Workload workload = TrainingAt(16);
    workload.mode = mode;
    Study study(file);
    for (const WayRow& row : WayRows()) {
      absl::StatusOr<Situation> situation = SituationOf(study, workload);
      ASSERT_TRUE(situation.ok()) << situation.status();
      situation->plan_iterations = 12;
      for (const Proposal& proposal : row.propose(*situation)) EXPECT_GE(proposal.price, row.price) << row.name;
    }
  }
}

TEST(WayRows, ThoseOfSeveralCardsSayWhatTheyCostInTraffic) {
  const ModelFile file = OpenModel("resnet18");
  Workload workload = TrainingAt(16);
  workload.layout.data = DataParallel::kDdp;
  workload.layout.ranks = 8;
  Study study(file);
  const absl::StatusOr<Situation> situation = SituationOf(study, workload);
  ASSERT_TRUE(situation.ok()) << situation.status();
  const std::vector<Proposal> shards = ProposeShards(*situation);
  ASSERT_EQ(shards.size(), 2u);
  EXPECT_EQ(shards[0].flags, (std::vector<std::string>{"--zero1", "8"}));
  EXPECT_EQ(shards[1].flags, (std::vector<std::string>{"--fsdp", "8"}));
  for (const Proposal& each : shards) {
    EXPECT_NE(each.cost.find("in place of --ddp; receives "), std::string::npos) << each.cost;
    EXPECT_NE(each.cost.find(" over NVLink 3)"), std::string::npos) << each.cost;
  }
  EXPECT_EQ(ProposeBucketView(*situation).size(), 1u);
  EXPECT_TRUE(ProposeReshard(*situation).empty());
}

TEST(RankSavings, ParametersWithoutElementsAreNothingToFreeze) {
  const absl::StatusOr<ModelFile> file = ModelFile::Parse(
      ModelBytes(R"(g (float[2,0] x) => (float y) <float[0,4] w = ["location": "none"]> { y = MatMul(x, w) })"),
      "m.onnx");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(WithFlag(Savings(*file, TrainingAt(2)), "--freeze"), nullptr);
}

TEST(RankSavings, AnInferenceHasNoWaysOfTraining) {
  const ModelFile file = OpenModel("resnet18");
  Workload workload = TrainingAt(64);
  workload.mode = Mode::kInference;
  for (const Saving& saving : Savings(file, workload, 12)) {
    for (const std::string& flag : saving.change.flags) {
      EXPECT_TRUE(flag != "--optimizer" && flag != "--freeze" && flag != "--segment" && flag != "--accumulate") << flag;
    }
  }
}

// What is there already is not proposed.
TEST(RankSavings, NothingTwice) {
  const ModelFile file = OpenModel("resnet18");
  Workload workload = TrainingAt(16);
  workload.run.autocast = DType::kBFloat16;
  workload.run.segments = {{.modules = {"layer1"}, .nodes = {}}};
  workload.allocator = "pytorch-expandable";
  const std::vector<Saving> savings = Savings(file, workload, 12);
  EXPECT_EQ(WithFlag(savings, "--amp"), nullptr);
  EXPECT_EQ(WithFlag(savings, "--dtype"), nullptr);
  EXPECT_EQ(WithFlag(savings, "--segment"), nullptr);
  EXPECT_EQ(WithFlag(savings, "--allocator"), nullptr);
}

// A batch of one cannot be halved, a model without attention has no kernel to choose.
TEST(RankSavings, NothingThatTheModelCannotDo) {
  const ModelFile file = OpenModel("resnet18");
  const std::vector<Saving> savings = Savings(file, TrainingAt(1), 12);
  EXPECT_EQ(WithFlag(savings, "-b"), nullptr);
  EXPECT_EQ(WithFlag(savings, "--attention"), nullptr);
}

// Two linear layers in a row, halved between: the weights of both, and the bias of the first.
TEST(RankSavings, SmallerLinearLayersWhereTheyHoldTheParameters) {
  const ModelFile file = OpenModel("alexnet");
  const Workload workload = TrainingAt(1);
  const Saving* found = nullptr;
  const std::vector<Saving> savings = Savings(file, workload);
  for (const Saving& saving : savings) {
    if (saving.change.change.starts_with("half as many features")) found = &saving;
  }
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->change.flags,
            (std::vector<std::string>{"--input", "classifier.1.weight=2048x9216", "--input", "classifier.1.bias=2048",
                                      "--input", "classifier.4.weight=4096x2048"}));
  const absl::StatusOr<Analysis> analysis = Analyze(file, found->change.workload);
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_EQ(analysis->parameter_count, 61'100'840 - 2048 * (9216 + 1) - 4096 * 2048);
  // A residual network has no two in a row.
  for (const Saving& saving : Savings(OpenModel("resnet18"), workload)) {
    EXPECT_FALSE(saving.change.change.starts_with("half as many features"));
  }
}

// In place of the norm's input its result is kept, which the next layer keeps anyway.
TEST(RankSavings, NormsInPlace) {
  const ModelFile plain = OpenModel("alexnet");
  const std::vector<Saving> savings = Savings(OpenModel("resnet18"), TrainingAt(16));
  const auto is_norms = [](const Saving& saving) {
    return saving.change.flags == std::vector<std::string>{"--inplace", "norms"};
  };
  ASSERT_EQ(std::count_if(savings.begin(), savings.end(), is_norms), 1);
  const std::vector<Saving> without = Savings(plain, TrainingAt(16));  // it has no norms
  EXPECT_EQ(std::count_if(without.begin(), without.end(), is_norms), 0);
}

TEST(RankSavings, CheckpointsCostFlops) {
  const ModelFile file = OpenModel("resnet18");
  const std::vector<Saving> savings = Savings(file, TrainingAt(16), 12);
  const Saving* checkpoint = WithFlag(savings, "--segment");
  ASSERT_NE(checkpoint, nullptr);
  EXPECT_GT(checkpoint->extra_compute, 0);
  EXPECT_LT(checkpoint->extra_compute, 0.34);  // at most one more forward of three
}

TEST(WaysToFit, EachFitsCheapestFirst) {
  const ModelFile file = OpenModel("resnet18");
  const Workload workload = TrainingAt(32);
  const int64_t limit = DeviceBytes(file, workload) * 4 / 5;
  Study study(file);
  const absl::StatusOr<std::vector<FitWay>> ways = WaysToFit(study, workload, limit, {nullptr, 20});
  ASSERT_TRUE(ways.ok()) << ways.status();
  ASSERT_GE(ways->size(), 3u);
  for (size_t i = 0; i < ways->size(); ++i) {
    const Saving& saving = (*ways)[i].saving;
    SCOPED_TRACE(saving.change.change);
    EXPECT_LE(saving.footprint.device_bytes, limit);
    EXPECT_EQ(DeviceBytes(file, saving.change.workload), saving.footprint.device_bytes);
    if (i > 0) {
      EXPECT_GE(saving.change.price, (*ways)[i - 1].saving.change.price);
    }
    if ((*ways)[i].largest_batch) {
      EXPECT_GE(*(*ways)[i].largest_batch, 32);
    }
  }
}

// Where no single change is enough, two together.
TEST(WaysToFit, CombinesWhatIsNotEnoughAlone) {
  const ModelFile file = OpenModel("resnet18");
  const Workload workload = TrainingAt(1);  // no batch to split: the weights and their state are what is there
  Study study(file);
  const absl::StatusOr<Footprint> now = FootprintOf(study, workload);
  ASSERT_TRUE(now.ok());
  std::set<int64_t> singles;
  for (const Saving& saving : Savings(file, workload, 12)) {
    if (saving.change.price <= Price::kTraining) singles.insert(saving.footprint.device_bytes);
  }
  ASSERT_FALSE(singles.empty());
  const absl::StatusOr<std::vector<FitWay>> ways = WaysToFit(study, workload, *singles.begin() - 1, {nullptr, 12});
  ASSERT_TRUE(ways.ok()) << ways.status();
  for (const FitWay& way : *ways) {
    EXPECT_LT(way.saving.footprint.device_bytes, *singles.begin()) << way.saving.change.change;
    if (way.saving.change.price <= Price::kTraining) {
      EXPECT_GE(way.saving.change.flags.size(), 4u) << way.saving.change.change;
    }
  }
}

TEST(WaysToFit, NothingWhereNothingHelps) {
  const ModelFile file = OpenModel("lenet5");
  Study study(file);
  const absl::StatusOr<std::vector<FitWay>> ways = WaysToFit(study, TrainingAt(1), 1, {nullptr, 5});
  ASSERT_TRUE(ways.ok()) << ways.status();
  EXPECT_TRUE(ways->empty());
}

// A prime, of tensors without elements: nobody tries all that might divide it.
TEST(RankSavings, ABatchOfBillionsOfBillions) {
  const absl::StatusOr<ModelFile> file = ModelFile::Parse(
      ModelBytes("g (float[N, 0, 4] x) => (y) <float[4, 4] w = [\"location\": \"none\"]> { y = MatMul(x, w) }"),
      "m.onnx");
  ASSERT_TRUE(file.ok()) << file.status();
  Study study(*file);
  const Workload workload = TrainingAt((int64_t{1} << 61) - 1);
  const absl::StatusOr<Situation> situation = SituationOf(study, workload);
  ASSERT_TRUE(situation.ok()) << situation.status();
  const std::vector<Proposal> proposals = ProposeAccumulation(*situation);
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_EQ(proposals.front().change, "batch 1, accumulate 2305843009213693951");
}

}  // namespace
}  // namespace onnx_mem
