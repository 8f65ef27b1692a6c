#include <gtest/gtest.h>

#include <map>

#include "analyzer/graph/diagnostic.h"
#include "planner/advice/batch_search.h"
#include "planner/advice/fit.h"
#include "tests/planner/advice/testdata_model.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMebi = int64_t{1} << 20;

Need NeedAt(const ModelFile& file, Workload workload, int64_t batch) {
  workload.bindings.batch = batch;
  const absl::StatusOr<Analysis> analysis = Study(file).AskWithRange(workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  const PeakFigures& figures = analysis->training() ? *analysis->training() : *analysis->inference();
  return {figures.device_low_bytes, figures.device_bytes, figures.device_high_bytes};
}

// Each edge is a run on its side of the limit beside one on the other side, as Analyze measures both.
void ExpectEdges(const std::string& model, const Workload& workload, int64_t limit_bytes) {
  SCOPED_TRACE(model);
  const ModelFile file = OpenModel(model);
  Study study(file);
  absl::StatusOr<BatchNeeds> needs = BatchNeeds::Create(study, workload);
  ASSERT_TRUE(needs.ok()) << needs.status();
  const absl::StatusOr<BatchEdges> edges = FindBatchEdges(*needs, limit_bytes);
  ASSERT_TRUE(edges.ok()) << edges.status();
  ASSERT_TRUE(edges->impossible_from);
  EXPECT_LE(edges->safe.batch, edges->expected.batch);
  EXPECT_LT(edges->expected.batch, *edges->impossible_from);
  ASSERT_GT(edges->safe.batch, 0);
  EXPECT_EQ(edges->safe.device_bytes, NeedAt(file, workload, edges->safe.batch).high_bytes);
  EXPECT_LE(*edges->safe.device_bytes, limit_bytes);
  EXPECT_EQ(edges->safe.device_bytes_beyond, NeedAt(file, workload, edges->safe.batch + 1).high_bytes);
  EXPECT_GT(*edges->safe.device_bytes_beyond, limit_bytes);
  EXPECT_EQ(edges->expected.device_bytes, NeedAt(file, workload, edges->expected.batch).expected_bytes);
  EXPECT_EQ(edges->impossible_low_bytes, NeedAt(file, workload, *edges->impossible_from).low_bytes);
  EXPECT_GT(*edges->impossible_low_bytes, limit_bytes);
  EXPECT_EQ(edges->possible_low_bytes, NeedAt(file, workload, *edges->impossible_from - 1).low_bytes);
  EXPECT_LE(*edges->possible_low_bytes, limit_bytes);
}

TEST(FindBatchEdges, AreMeasuredOnBothSides) {
  Workload inference = TrainingAt(4);
  inference.mode = Mode::kInference;
  for (int64_t limit : {int64_t{2000}, int64_t{9000}}) {
    ExpectEdges("resnet18", TrainingAt(4), limit * kMebi);
    ExpectEdges("unet_seg", TrainingAt(30), limit * kMebi);  // from above
    ExpectEdges("resnet18", inference, limit * kMebi);
  }
}

TEST(FindBatchEdges, NoneIsSafeWhereOneSampleMayNotFit) {
  const ModelFile file = OpenModel("lenet5");
  Study study(file);
  absl::StatusOr<BatchNeeds> needs = BatchNeeds::Create(study, TrainingAt(1));
  ASSERT_TRUE(needs.ok()) << needs.status();
  const Need one = *needs->At(1);
  const absl::StatusOr<BatchEdges> edges = FindBatchEdges(*needs, one.high_bytes - 1);
  ASSERT_TRUE(edges.ok()) << edges.status();
  EXPECT_EQ(edges->safe.batch, 0);
  EXPECT_EQ(edges->safe.device_bytes_beyond, one.high_bytes);
  EXPECT_GT(edges->expected.batch, 0);
  const absl::StatusOr<BatchEdges> none = FindBatchEdges(*needs, one.low_bytes - 1);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->impossible_from, 1);
}

// A record that leaves a size free may hold in steps of it: the sizes of an answer are those at which it holds.
TEST(FindBatchEdges, FollowsTheFreeSizeOfARecordInItsSteps) {
  const absl::StatusOr<ModelFile> file = ModelFile::Parse(
      "eager 1\ntorch 2.15.0\nfree S seq 20 step 8 seen 20 68\nprogram eval\n%0 input x f32[B,S,1024]\n"
      "%1 f32[B,S,1024] = relu %0\nreturn %1\ntree 1\n",
      "model.eager");
  ASSERT_TRUE(file.ok()) << file.status();
  Workload workload;
  workload.mode = Mode::kInference;
  workload.bindings.batch = 64;
  const Axis seq = AxisNamed("seq");
  Study study(*file);
  EXPECT_TRUE(CheckAxis(seq, "--over", **study.Import(workload.bindings)).ok());
  absl::StatusOr<BatchNeeds> needs = BatchNeeds::Create(study, workload, seq);
  ASSERT_TRUE(needs.ok()) << needs.status();
  EXPECT_EQ(needs->start(), 20);
  const absl::StatusOr<BatchEdges> edges = FindBatchEdges(*needs, 1000 * kMebi);
  ASSERT_TRUE(edges.ok()) << edges.status();
  for (const FittingBatch& edge : {edges->safe, edges->expected}) {
    EXPECT_GT(edge.batch, 0);
    EXPECT_EQ(edge.batch % 8, 4);
    EXPECT_EQ(edge.next, edge.batch + 8);
  }
  EXPECT_EQ(edges->impossible_from, edges->possible + 8);
  EXPECT_LE(edges->safe.batch, edges->expected.batch);
  EXPECT_LE(edges->expected.batch, edges->possible);
}

// What is known costs nothing again, and a line through it leads to the edge in a few steps.
TEST(BatchSearch, UsesWhatIsKnown) {
  int measured = 0;
  const auto bytes_at = [&](int64_t batch) -> absl::StatusOr<int64_t> {
    ++measured;
    return 700 + 83 * batch;
  };
  const std::map<int64_t, int64_t> known = {{64, 700 + 83 * 64}, {200, 700 + 83 * 200}};
  const absl::StatusOr<FittingBatch> found = BatchSearch(bytes_at, 14000, known).Run(64);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->batch, 160);
  EXPECT_EQ(found->device_bytes_beyond, 700 + 83 * 161);
  EXPECT_LE(measured, 3);
}

TEST(BatchSearch, CountsWhatIsTooLargeAsBeyondAnyLimit) {
  const auto bytes_at = [](int64_t batch) -> absl::StatusOr<int64_t> {
    if (batch > 100) return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTooLarge, "too large", {});
    return batch;
  };
  const absl::StatusOr<FittingBatch> found = BatchSearch(bytes_at, int64_t{1} << 40).Run(1);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->batch, 100);
  EXPECT_FALSE(found->device_bytes_beyond);
}

}  // namespace
}  // namespace onnx_mem
