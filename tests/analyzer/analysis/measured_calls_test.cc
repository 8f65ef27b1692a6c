// Plans per operator call (testdata/measured/calls) against what PyTorch took with them: live bytes after every
// operator of forward and backward that allocates, and what the second runs skip.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/analysis/enact.h"
#include "analyzer/analysis/segments.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/run/second_run.h"
#include "analyzer/study/study.h"
#include "tests/analyzer/analysis/measured_plans.h"

namespace onnx_mem {
namespace {

using Json = nlohmann::json;

const std::string kCalls = ONNX_MEM_SOURCE_DIR "/testdata/measured/calls/";

Segment SegmentOf(const Json& json, bool with_skip) {
  Segment segment{.modules = json.at("modules"), .nodes = {}, .keep_calls = CallsIn(json.at("keep"))};
  if (!with_skip && !segment.keep_calls.empty()) return segment;  // which keeps nothing: an ordinary checkpoint
  for (const std::string name : json.at("skip")) segment.skip.push_back(*ParseCallId(name));
  return segment;
}

class MeasuredCalls : public testing::TestWithParam<std::string> {
 protected:
  MeasuredCalls() : truth_(Unpacked(kCalls + GetParam() + ".json.gz")) {
    workload_.mode = Mode::kTraining;
    workload_.bindings.batch = truth_.at("batch").get<int64_t>();
    workload_.optimizer = *ParseOptimizer("sgd");
  }

  absl::StatusOr<Analysis> With(std::vector<Segment> segments) {
    ASSIGN_OR_RETURN(const ModelFile file, ModelFile::Open(kCalls + GetParam() + ".eager"));
    workload_.run.segments = std::move(segments);
    return Analyze(file, workload_);
  }

  Json truth_;
  Workload workload_;
};

TEST_P(MeasuredCalls, TakeWhatPyTorchTook) {
  EXPECT_EQ(With({})->training()->peak_bytes, truth_.at("peak_bytes"));
  // A checkpoint call holds its arguments, which no record names: the positions that Llama's layers are given.
  const int64_t arguments = GetParam() == "llama" ? 64 * 8 : 0;
  for (size_t i = 0; i < truth_.at("plans").size(); ++i) {
    const Json& plan = truth_.at("plans")[i];
    for (const bool with_skip : {true, false}) {
      SCOPED_TRACE(testing::Message() << "plan " << i << (with_skip ? "" : ", skip derived"));
      std::vector<Segment> segments;
      for (const Json& json : plan.at("segments")) segments.push_back(SegmentOf(json, with_skip));
      const absl::StatusOr<Analysis> analysis = With(std::move(segments));
      ASSERT_TRUE(analysis.ok()) << analysis.status();
      EXPECT_EQ(analysis->training()->peak_bytes + arguments, plan.at("peak_bytes"));
      const std::vector<int64_t> live = LiveBytes(*analysis->training()->program);
      const std::vector<int64_t> taken = plan.at("live");
      ASSERT_EQ(live.size(), taken.size());
      for (size_t k = 0; k < live.size(); ++k) {
        EXPECT_TRUE(live[k] == taken[k] || live[k] + arguments == taken[k]) << live[k] << " at " << k;
      }
    }
  }
}

// As they are counted over the region.
std::vector<std::string> NamesOf(const RegionCalls& region, const std::vector<CallState>& states) {
  std::vector<std::string> names;
  for (size_t i = 0; i < states.size(); ++i) {
    const RegionCall& call = region.calls[i];
    if (states[i] == CallState::kSkipped) names.push_back(TextOf(CallId{"", call.call.op, call.nth_in_region}));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// What is skipped follows from what is kept as the study's minimum cuts had it.
TEST_P(MeasuredCalls, SkipWhatNothingReads) {
  const absl::StatusOr<ModelFile> file = ModelFile::Open(kCalls + GetParam() + ".eager");
  ASSERT_TRUE(file.ok()) << file.status();
  Study study(*file);
  workload_.run.training = true;
  const auto lowered = study.Lower(workload_.bindings, workload_.run);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const absl::StatusOr<StepTrace> trace = TraceStep(**lowered, workload_.run);
  ASSERT_TRUE(trace.ok()) << trace.status();
  const ModuleNodes modules((*lowered)->graph);
  for (const Json& plan : truth_.at("plans")) {
    for (const Json& json : plan.at("segments")) {
      const Segment segment = SegmentOf(json, /*with_skip=*/false);
      const auto ranges = RangesOf((*lowered)->graph, modules, segment);
      ASSERT_TRUE(ranges.ok()) << ranges.status();
      ASSERT_EQ(ranges->size(), 1);
      const RegionCalls region = PartOf(trace->calls, ranges->front().first, ranges->front().last);
      const KeptInRegion kept = KeptIn(region, segment.keep_calls);
      EXPECT_EQ(kept.error, "");
      const std::vector<CallState> states = StatesOf(region, kept.outputs);
      EXPECT_EQ(WrongReadIn(region, kept.outputs, states), "");
      std::vector<std::string> skipped = json.at("skip");
      std::sort(skipped.begin(), skipped.end());
      EXPECT_EQ(NamesOf(region, states), skipped);
    }
  }
}

// Python code of the segment sees each of its calls, in the first run and in the second: time of the CPU.
TEST(CallsOfAPlan, AreCountedInBothRuns) {
  const absl::StatusOr<ModelFile> file = ModelFile::Open(kCalls + "in_place.eager");
  ASSERT_TRUE(file.ok()) << file.status();
  Study study(*file);
  onnx_mem::Run run;
  run.training = true;
  const auto lowered = study.Lower({}, run);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const absl::StatusOr<StepTrace> trace = TraceStep(**lowered, run);
  ASSERT_TRUE(trace.ok()) << trace.status();
  const auto seen = [&](const Segment& segment) {
    run.segments = {segment};
    const absl::StatusOr<Enacted> enacted = EnactLowered(**lowered, run);
    EXPECT_TRUE(enacted.ok()) << enacted.status();
    std::pair<int32_t, int32_t> calls;
    for (const Step& step : enacted->program.steps) {
      calls.first += step.first_mode_calls;
      calls.second += step.second_mode_calls;
    }
    return calls;
  };
  EXPECT_EQ(seen({.modules = {"blocks.1"}, .nodes = {}}), std::pair(0, 0));
  const Segment keeps{
      .modules = {"blocks.1"}, .nodes = {}, .keep_calls = {*ParseKeptCall("blocks.1.0:aten.convolution.default#0")}};
  const auto ranges = RangesOf((*lowered)->graph, ModuleNodes((*lowered)->graph), keeps);
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  const auto calls =
      static_cast<int32_t>(PartOf(trace->calls, ranges->front().first, ranges->front().last).calls.size());
  EXPECT_GE(calls, 4);
  EXPECT_EQ(seen(keeps), std::pair(calls, calls));
}

TEST(CallsOfAPlan, ThatAreNotThereAreRefused) {
  const auto refusal = [](const std::string& keep, const std::string& skip) {
    Workload workload;
    workload.mode = Mode::kTraining;
    Segment segment{.modules = {"blocks.1"}, .nodes = {}, .keep_calls = {*ParseKeptCall(keep)}};
    if (!skip.empty()) segment.skip.push_back(*ParseCallId(skip));
    workload.run.segments = {segment};
    const absl::StatusOr<ModelFile> file = ModelFile::Open(kCalls + "in_place.eager");
    return std::string(Analyze(*file, workload).status().message());
  };
  EXPECT_EQ(refusal("blocks.1.0:aten.convolution.default#0", ""), "");
  EXPECT_EQ(refusal("aten.convolution.default#0", ""), "");
  EXPECT_EQ(refusal("blocks.1.0:aten.convolution.default#1", ""),
            "the plan's calls: 'blocks.1.0:aten.convolution.default#1' is no call of the segment: the module's calls "
            "are aten.convolution.default#0");
  EXPECT_EQ(refusal("blocks.2.0:aten.convolution.default#0", ""),
            "the plan's calls: 'blocks.2.0:aten.convolution.default#0' is no call of the segment: modules with calls "
            "are blocks.1.0, blocks.1.1, blocks.1.2, blocks.1.3");
  EXPECT_EQ(refusal("aten.convolution.default#0[1]", ""),
            "the plan's calls: 'aten.convolution.default#0' has no output 1");
  EXPECT_EQ(refusal("aten.convolution.default#0", "aten.convolution.default#0"),
            "the plan's calls: 'aten.convolution.default#0' is kept and skipped");
  // The norm's backward reads its input.
  EXPECT_EQ(refusal("blocks.1.3:aten.mul.Tensor#0", "aten.convolution.default#0"),
            "the plan's calls: 'blocks.1.1:aten.cudnn_batch_norm.default#0' runs again and reads output 0 of "
            "'blocks.1.0:aten.convolution.default#0', which is neither kept nor made again");
}

INSTANTIATE_TEST_SUITE_P(Networks, MeasuredCalls, testing::Values("in_place", "gpt2", "llama", "convnext"));

}  // namespace
}  // namespace onnx_mem
