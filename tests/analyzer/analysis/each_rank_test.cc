// What a page draws of the other ranks of a step over several cards, and ranks of a pipeline that are more than a
// stage.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/study/study.h"

namespace onnx_mem {
namespace {

ModelFile Decoder() {
  absl::StatusOr<ModelFile> file =
      ModelFile::Open(std::string(ONNX_MEM_SOURCE_DIR) + "/testdata/models/gpt2_sdpa.train.ts.op17.onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

Workload Spread(RankLayout layout) {
  Workload workload;
  workload.mode = Mode::kTraining;
  workload.bindings.batch = 4;
  workload.bindings.dims["seq"] = 32;
  workload.optimizer = *ParseOptimizer("adam");
  workload.layout = std::move(layout);
  return workload;
}

Analysis WithRanks(const ModelFile& file, const Workload& workload) {
  Study study(file);
  absl::StatusOr<Analysis> analysis = study.Expected(workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_TRUE(study.AddRanks(workload, *analysis).ok());
  return *std::move(analysis);
}

std::vector<std::string> NamesOf(const Analysis& analysis) {
  std::vector<std::string> names;
  for (const RankAnalysis& rank : analysis.ranks) names.push_back(rank.name);
  return names;
}

TEST(AddRanks, OfAPipelineHasEachAsItAnswersAlone) {
  const ModelFile file = Decoder();
  Workload workload = Spread({});
  workload.layout.pipeline.ranks = 2;
  workload.layout.pipeline.stages_per_rank = 2;
  workload.layout.pipeline.schedule = PipelineSchedule::kInterleaved1F1B;
  const Analysis analysis = WithRanks(file, workload);
  EXPECT_EQ(NamesOf(analysis),
            (std::vector<std::string>{"rank 1: stages 1, 3 of 4, which needs most", "rank 0: stages 0, 2 of 4"}));
  EXPECT_EQ(analysis.ranks[0].analysis, nullptr);
  workload.layout.rank = 0;
  const RunFigures& drawn = *analysis.ranks[1].analysis->training();
  EXPECT_EQ(drawn.peak_bytes, Study(file).Expected(workload)->training()->peak_bytes);
  EXPECT_EQ(drawn.addresses.size(), drawn.program->buffers.size());
  EXPECT_TRUE(WithRanks(file, workload).ranks.empty());  // who asks for one rank has it
}

TEST(AddRanks, OfShardsHasTheLastOne) {
  RankLayout layout;
  layout.data = DataParallel::kFsdp;
  layout.ranks = 5;
  const ModelFile file = Decoder();
  const Analysis analysis = WithRanks(file, Spread(layout));
  EXPECT_EQ(NamesOf(analysis), (std::vector<std::string>{"rank 0 of 5, which needs most", "rank 4 of 5"}));
  EXPECT_LT(analysis.ranks[1].analysis->training()->peak_bytes, analysis.training()->peak_bytes);
  layout.data = DataParallel::kDdp;
  EXPECT_TRUE(WithRanks(file, Spread(layout)).ranks.empty());
}

// Of two stages, each on several ranks; what the last rank of the pipeline has.
class StagedRanks : public testing::Test {
 protected:
  RankLayout Staged() const {
    RankLayout layout;
    layout.pipeline.ranks = 2;
    layout.pipeline.micro_batches = 4;
    return layout;
  }
  Shared<LocalStep> Last(RankLayout layout, int64_t of_stage = 0) {
    layout.rank = RanksOfStage(layout) + of_stage;
    const absl::StatusOr<Shared<LocalStep>> step = study_.Local(Spread(layout));
    EXPECT_TRUE(step.ok()) << step.status();
    return *step;
  }
  int64_t PeakOf(RankLayout layout) {
    layout.rank = RanksOfStage(layout);
    const absl::StatusOr<int64_t> peak = study_.PeakBytes(Spread(std::move(layout)));
    EXPECT_TRUE(peak.ok()) << peak.status();
    return *peak;
  }
  static int64_t BytesOf(const LocalStep& step) {
    int64_t bytes = 0;
    for (const TrainedParameter& p : step.trained) bytes += p.bytes;
    return bytes;
  }
  static int64_t CountOf(const LocalStep& step, std::string_view op) {
    return std::count_if(step.program->steps.begin(), step.program->steps.end(),
                         [&](const Step& each) { return each.op == op; });
  }
  const ModelFile file_ = Decoder();
  Study study_{file_};
};

// Buckets from the first step to the last; the last stage sends nothing that a reducer would hold.
TEST_F(StagedRanks, DdpAddsBucketsToTheLastStage) {
  RankLayout layout = Staged();
  const int64_t alone = PeakOf(layout), parameters = BytesOf(*Last(layout));
  layout.data = DataParallel::kDdp;
  layout.ranks = 2;
  EXPECT_EQ(PeakOf(layout), alone + parameters);
  EXPECT_EQ(Last(layout)->summed_bytes, parameters);
}

// Ranks of a stage deal its parameters and no others.
TEST_F(StagedRanks, Zero1DealsTheParametersOfTheStage) {
  RankLayout layout = Staged();
  const int64_t parameters = BytesOf(*Last(layout));
  layout.data = DataParallel::kZero1;
  layout.ranks = 2;
  EXPECT_EQ(BytesOf(*Last(layout)) + BytesOf(*Last(layout, 1)), parameters);
  EXPECT_GT(BytesOf(*Last(layout)), 0);
}

// A unit that is not given back behind its forward is gathered once a step, else twice until its first backward is
// done and before each forward that follows one; gradients are reduced once in either case.
TEST_F(StagedRanks, FsdpGathersUntilTheBackwardAndReducesOnce) {
  RankLayout layout = Staged();
  layout.data = DataParallel::kFsdp;
  layout.ranks = 2;
  layout.pipeline.split = {"m.transformer.h.3"};
  layout.reshard = Reshard::kNo;
  const Shared<LocalStep> kept = Last(layout);
  const int64_t units = CountOf(*kept, "all_gather");
  EXPECT_EQ(units, 4);  // three of six blocks, and the rest of the stage
  EXPECT_EQ(CountOf(*kept, "reduce_scatter"), units);
  layout.reshard = Reshard::kDefault;
  const Shared<LocalStep> given_back = Last(layout);
  EXPECT_GT(CountOf(*given_back, "all_gather"), units);
  EXPECT_EQ(CountOf(*given_back, "reduce_scatter"), units);
  EXPECT_LE(PeakOf(layout), PeakOf([&] {
              RankLayout other = layout;
              other.reshard = Reshard::kNo;
              return other;
            }()));
}

TEST_F(StagedRanks, TensorsAreSplitBeforeTheModelIsCut) {
  RankLayout layout = Staged();
  const int64_t alone = BytesOf(*Last(layout));
  layout.tensor.ranks = 2;
  const Shared<LocalStep> split = Last(layout, 1);
  EXPECT_EQ(split->rank, 3);
  EXPECT_LT(BytesOf(*split), alone * 6 / 10);
  EXPECT_GT(CountOf(*split, "all_reduce"), 0);
  EXPECT_GT(CountOf(*split, "recv"), 0);
  const Analysis analysis = WithRanks(file_, Spread(layout));
  ASSERT_EQ(analysis.ranks.size(), 2u);
  EXPECT_EQ(analysis.ranks[0].rank + analysis.ranks[1].rank, 2);  // the first of each stage
}

}  // namespace
}  // namespace onnx_mem
