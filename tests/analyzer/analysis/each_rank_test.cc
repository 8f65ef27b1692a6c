// What a page draws of the other ranks of a step over several cards.
#include <gtest/gtest.h>

#include <string>
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

}  // namespace
}  // namespace onnx_mem
