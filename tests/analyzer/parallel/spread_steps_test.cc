// Two layers, one behind the other, in bytes that a person adds up:
//
//   x (8) -> a.w 4x2 (32) -> h (8) -> b.w 3x2 (24) -> y (8) -> the loss (4)
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/parallel/data_parallel.h"
#include "analyzer/parallel/traffic.h"

namespace onnx_mem {
namespace {

Step StepOf(const char* op, const char* module, Phase phase) {
  Step step;
  step.op = op;
  step.module = module;
  step.node = module;  // the loss's own have none
  step.phase = phase;
  return step;
}

BufferId Add(Enacted& e, const char* name, Category category, int64_t bytes, int begin, int end, Dims dims = {}) {
  Buffer buffer;
  buffer.name = name;
  buffer.category = category;
  buffer.bytes = bytes;
  buffer.begin = StepId(begin);
  buffer.end = StepId(end);
  buffer.dims = std::move(dims);
  buffer.dtype = DType::kFloat32;
  return e.program.buffers.Add(std::move(buffer));
}

void AddParameter(Enacted& e, const char* module, BufferId id, bool trained) {
  const Buffer& buffer = e.program.buffers[id];
  Parameter p;
  p.name = buffer.name;
  p.module = module;
  p.buffer = id;
  p.dims = buffer.dims;
  p.dtype = buffer.dtype;
  p.bytes = buffer.bytes;
  p.has_gradient = trained;
  e.parameters.push_back(std::move(p));
}

// `first_trained`: a.w is; else it is frozen.
Enacted TwoLayers(bool first_trained = true) {
  Enacted e;
  e.program.steps.Add(StepOf("mm", "a", Phase::kForward));
  e.program.steps.Add(StepOf("mm", "b", Phase::kForward));
  e.program.steps.Add(StepOf("mean", "", Phase::kLoss));
  e.program.steps.Add(StepOf("mean backward", "", Phase::kBackward));
  e.program.steps.Add(StepOf("mm backward", "b", Phase::kBackward));
  e.program.steps.Add(StepOf("mm backward", "a", Phase::kBackward));
  e.program.steps.Add(StepOf("end of backward", "", Phase::kBackward));
  const BufferId a = Add(e, "a.w", Category::kParameters, 32, 0, 7, {4, 2});
  const BufferId b = Add(e, "b.w", Category::kParameters, 24, 0, 7, {3, 2});
  Add(e, "x", Category::kInputs, 8, 0, 7);
  Add(e, "h", Category::kSavedActivations, 8, 0, 6);
  Add(e, "y", Category::kTransientActivations, 8, 1, 7);
  Add(e, "loss", Category::kTransientActivations, 4, 2, 7);
  Add(e, "dy", Category::kActivationGradients, 8, 3, 5);
  const BufferId gb = Add(e, "gradient of b.w", Category::kGradients, 24, 4, 7);
  Add(e, "dh", Category::kActivationGradients, 8, 4, 6);
  AddParameter(e, "a", a, first_trained);
  AddParameter(e, "b", b, true);
  e.arrivals.push_back({b, gb, StepId(4)});
  if (!first_trained) return e;
  const BufferId ga = Add(e, "gradient of a.w", Category::kGradients, 32, 5, 7);
  e.arrivals.push_back({a, ga, StepId(5)});
  return e;
}

std::vector<std::string> LinesOf(const MemoryProgram& program) {
  const std::vector<int64_t> live = ComputeTimeline(program).live_bytes;
  std::vector<std::string> lines;
  for (StepId id(0); program.steps.contains(id); id = StepId(id.value() + 1)) {
    const Step& step = program.steps[id];
    lines.push_back(absl::StrCat(live[static_cast<size_t>(id.value())], " ", step.op.str(),
                                 step.module.empty() ? "" : " ", step.module.str()));
  }
  return lines;
}

LocalStep SpreadOrDie(const Enacted& e, const RankLayout& layout, int64_t accumulate = 1) {
  Run run;
  run.accumulate = accumulate;
  absl::StatusOr<LocalStep> local = SpreadStep(e, run, layout);
  EXPECT_TRUE(local.ok()) << local.status();
  return *std::move(local);
}

RankLayout Fsdp(int64_t ranks, std::string units) {
  RankLayout layout;
  layout.data = DataParallel::kFsdp;
  layout.ranks = ranks;
  layout.units = std::move(units);
  return layout;
}

// The steps of FSDP stand between the step's own: what waits for a move waits for that move.
TEST(Fsdp, MovesKeepTheirWaits) {
  Enacted e = TwoLayers();
  e.program.steps[StepId(1)].link_bytes = 8;
  e.program.steps[StepId(5)].waits_for = StepId(1);
  const LocalStep local = SpreadOrDie(e, Fsdp(2, "[ab]"), /*accumulate=*/2);
  int waits = 0;
  for (const Step& step : local.program->steps) {
    if (!step.waits_for.valid()) continue;
    ++waits;
    EXPECT_EQ(local.program->steps[step.waits_for].link_bytes, 8);
  }
  EXPECT_EQ(waits, 2);
}

// Shards of 16 bytes each: b.w has 3 rows, of which each rank has room for 2. Whole, both take 32.
TEST(Fsdp, GathersEachUnitBeforeItRuns) {
  const LocalStep local = SpreadOrDie(TwoLayers(), Fsdp(2, "[ab]"));
  EXPECT_EQ(LinesOf(*local.program), (std::vector<std::string>{
                                         "72 all_gather a",
                                         "104 split_with_sizes_copy a",
                                         "112 mm a",
                                         "112 all_gather b",             // a's gathered buffer is still there
                                         "112 split_with_sizes_copy b",  // and gone
                                         "120 mm b",
                                         "60 mean",
                                         "68 mean backward",
                                         "100 all_gather b",
                                         "132 split_with_sizes_copy b",
                                         "132 all_gather a",  // ahead of its backward
                                         "164 mm backward b",
                                         "164 chunk_cat b",
                                         "156 reduce_scatter b",
                                         "180 split_with_sizes_copy a",
                                         "180 mm backward a",
                                         "132 chunk_cat a",
                                         "116 reduce_scatter a",
                                         "84 end of backward",
                                     }));
  ASSERT_EQ(local.trained.size(), 2u);  // of rank 0: 2 of 4 rows and 2 of 3
  EXPECT_EQ(local.trained[0].elements, 4);
  EXPECT_EQ(local.trained[1].elements, 4);
}

TEST(Fsdp, TheLastRankHasNoMoreThanItsOwnRows) {
  RankLayout layout = Fsdp(2, "[ab]");
  layout.rank = 1;
  const LocalStep local = SpreadOrDie(TwoLayers(), layout);
  EXPECT_EQ(local.trained[0].elements, 4);
  EXPECT_EQ(local.trained[1].elements, 2);
  layout.rank = 2;
  EXPECT_FALSE(SpreadStep(TwoLayers(), onnx_mem::Run(), layout).ok());
}

TEST(Fsdp, ASegmentThatCallsSeveralUnitsIsRefused) {
  onnx_mem::Run run;
  run.segments = {{.modules = {"a"}, .nodes = {}}};
  EXPECT_TRUE(SpreadStep(TwoLayers(), run, Fsdp(2, "[ab]")).ok());
  run.segments = {{.modules = {"a", "b"}, .nodes = {}}};
  const absl::Status refused = SpreadStep(TwoLayers(), run, Fsdp(2, "[ab]")).status();
  EXPECT_EQ(DiagnosticOf(refused).code, Code::kBadPlan);
  EXPECT_TRUE(SpreadStep(TwoLayers(), run, Fsdp(2, "none")).ok());  // the root is one unit
}

// Nothing before b is trained: its backward ends with that of the step.
TEST(Fsdp, AUnitWhoseInputsNeedNoGradientIsReducedAtTheEnd) {
  const std::vector<std::string> lines =
      LinesOf(*SpreadOrDie(TwoLayers(/*first_trained=*/false), Fsdp(2, "[ab]")).program);
  const std::vector<std::string> end(lines.end() - 3, lines.end());
  EXPECT_EQ(end, (std::vector<std::string>{"108 chunk_cat b", "100 reduce_scatter b", "68 end of backward"}));
}

// Under no_sync whole gradients stay: 56 bytes, to which the last micro-batch's are added one by one.
TEST(Fsdp, GradientsOfEarlierMicroBatchesStayWhole) {
  const LocalStep local = SpreadOrDie(TwoLayers(), Fsdp(2, "[ab]"), /*accumulate=*/2);
  const std::vector<std::string> lines = LinesOf(*local.program);
  int64_t reductions = 0;
  for (const std::string& line : lines) reductions += line.find("reduce_scatter") != std::string::npos ? 1 : 0;
  EXPECT_EQ(reductions, 2);
  EXPECT_EQ(lines.back(), "84 end of backward");
}

TEST(Fsdp, ReshardNoKeepsUnitsWholeThroughTheBackward) {
  RankLayout layout = Fsdp(2, "[ab]");
  layout.reshard = Reshard::kNo;
  int64_t gathers = 0;
  const LocalStep local = SpreadOrDie(TwoLayers(), layout);
  for (const Step& step : local.program->steps) gathers += step.op == "all_gather" ? 1 : 0;
  EXPECT_EQ(gathers, 2);
}

TEST(Fsdp, APatternThatMatchesNoModuleNamesSome) {
  const absl::Status status = SpreadStep(TwoLayers(), onnx_mem::Run(), Fsdp(2, "h")).status();
  EXPECT_NE(status.message().find("no module"), std::string::npos) << status;
}

// 56 bytes of buckets beside everything that one card has.
TEST(Ddp, HasBucketsOfAllGradients) {
  RankLayout layout;
  layout.data = DataParallel::kDdp;
  layout.ranks = 8;
  const Enacted e = TwoLayers();
  const std::vector<int64_t> one = ComputeTimeline(e.program).live_bytes;
  const std::vector<int64_t> ddp = ComputeTimeline(*SpreadOrDie(e, layout).program).live_bytes;
  ASSERT_EQ(ddp.size(), one.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(ddp[i], one[i] + 56) << i;
}

// A gradient is gone when it is in its bucket.
TEST(Ddp, BucketViewsTakeTheGradientsPlace) {
  RankLayout layout;
  layout.data = DataParallel::kDdp;
  layout.ranks = 8;
  layout.bucket_view = true;
  const std::vector<int64_t> live = ComputeTimeline(*SpreadOrDie(TwoLayers(), layout).program).live_bytes;
  // Parameters, x, y, the loss, buckets.
  EXPECT_EQ(live.back(), 56 + 8 + 8 + 4 + 56);
}

// The larger one goes to rank 0, the other to rank 1: whole parameters.
TEST(Zero1, DealsWholeParameters) {
  RankLayout layout;
  layout.data = DataParallel::kZero1;
  layout.ranks = 4;
  ASSERT_EQ(SpreadOrDie(TwoLayers(), layout).trained.size(), 1u);
  EXPECT_EQ(SpreadOrDie(TwoLayers(), layout).trained.front().name, "a.w");  // of the worst rank
  layout.rank = 1;
  EXPECT_EQ(SpreadOrDie(TwoLayers(), layout).trained.front().name, "b.w");
  layout.rank = 3;
  EXPECT_TRUE(SpreadOrDie(TwoLayers(), layout).trained.empty());
}

// "all-gather 64, reduce-scatter 32": bytes that a rank receives.
std::string TrafficText(const RankLayout& layout, int64_t accumulate = 1) {
  const Enacted e = TwoLayers();
  Run run;
  run.accumulate = accumulate;
  return absl::StrJoin(TrafficOf(SpreadOrDie(e, layout, accumulate), run, layout), ", ",
                       [](std::string* out, const Traffic& each) {
                         const std::string_view name = NameOf(each.exchange);
                         absl::StrAppend(out, std::string(name), " ", each.bytes);
                       });
}

// Two units of 32 bytes are gathered twice, the other rank's half each time; of their gradients a rank gets its shard
// from the other one.
TEST(Traffic, FsdpGathersUnitsAndScattersSums) {
  RankLayout layout = Fsdp(2, "[ab]");
  EXPECT_EQ(TrafficText(layout), "all-gather 64, reduce-scatter 32");
  EXPECT_EQ(TrafficText(layout, 2), "all-gather 128, reduce-scatter 32");
  layout.reshard = Reshard::kNo;
  EXPECT_EQ(TrafficText(layout), "all-gather 32, reduce-scatter 32");
  layout.reshard = Reshard::kDefault;
  layout.replicas = 2;
  EXPECT_EQ(TrafficText(layout), "all-gather 64, reduce-scatter 32, all-reduce 32");
  layout.replicas = 1;
  layout.host = true;
  EXPECT_EQ(TrafficText(layout), "all-gather 64, reduce-scatter 32, from the host 64, to the host 32");
}

// A ring sums 56 bytes in twice seven eighths; ZeRO-1's owner of the 32 bytes gets the other 24 back.
TEST(Traffic, DdpSumsAllGradients) {
  RankLayout layout;
  layout.data = DataParallel::kDdp;
  layout.ranks = 8;
  EXPECT_EQ(TrafficText(layout), "all-reduce 98");
  EXPECT_EQ(TrafficText(layout, 4), "all-reduce 98");
  layout.sync_every = true;
  EXPECT_EQ(TrafficText(layout, 4), "all-reduce 392");
  layout.sync_every = false;
  layout.data = DataParallel::kZero1;
  layout.ranks = 2;
  EXPECT_EQ(TrafficText(layout), "all-reduce 56, broadcast 24");
}

TEST(Traffic, TakesTheTimeOfTheCardsLink) {
  const TrafficCost cost =
      CostOf({{Collective::kAllGather, 360'000'000}, {Collective::kToHost, 5'040'000}}, *FindGpu("H100 SXM"));
  EXPECT_EQ(cost.peer_link, "NVLink 4");
  EXPECT_EQ(cost.peer_ns, 1'000'000);  // at 0.8 of 450 GB/s
  EXPECT_EQ(cost.host_ns, 100'000);    // at 0.8 of 63 GB/s
  EXPECT_EQ(CostOf({}, *FindGpu("RTX 4090")).peer_link, "PCIe 4");
}

}  // namespace
}  // namespace onnx_mem
