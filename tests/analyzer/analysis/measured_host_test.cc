// Plans that hold tensors in host memory (testdata/measured/host) against what PyTorch took with them: live bytes after
// every operator of forward and backward that allocates.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/study/study.h"
#include "tests/analyzer/analysis/measured_plans.h"

namespace onnx_mem {
namespace {

using Json = nlohmann::json;

const std::string kHost = ONNX_MEM_SOURCE_DIR "/testdata/measured/host/";

Segment SegmentOf(const Json& json) {
  Segment segment{.modules = json.at("modules"), .nodes = {}, .keep_calls = CallsIn(json.at("keep"))};
  if (!json.contains("offload")) return segment;
  const Json& offload = json.at("offload");
  segment.offload = offload.at("when") == NameOf(Offload::kWaiting) ? Offload::kWaiting : Offload::kOverlapped;
  segment.host_calls = CallsIn(offload.at("calls"));
  segment.host_inputs = offload.at("inputs");
  return segment;
}

absl::StatusOr<Analysis> With(const std::string& name, std::vector<Segment> segments) {
  const absl::StatusOr<ModelFile> file = ModelFile::Open(kHost + name + ".eager");
  if (!file.ok()) return file.status();
  Workload workload;
  workload.mode = Mode::kTraining;
  workload.bindings.batch = 8;
  workload.optimizer = *ParseOptimizer("sgd");
  workload.run.segments = std::move(segments);
  return Analyze(*file, workload);
}

class MeasuredHost : public testing::TestWithParam<std::string> {};

TEST_P(MeasuredHost, TakesWhatPyTorchTook) {
  const Json truth = Unpacked(kHost + GetParam() + ".json.gz");
  EXPECT_EQ(With(GetParam(), {})->training()->peak_bytes, truth.at("peak_bytes"));
  int moving = 0;
  for (size_t i = 0; i < truth.at("plans").size(); ++i) {
    SCOPED_TRACE(i);
    const Json& plan = truth.at("plans")[i];
    std::vector<Segment> segments;
    for (const Json& json : plan.at("segments")) {
      segments.push_back(SegmentOf(json));
      moving += segments.back().moves_some() ? 1 : 0;
    }
    const absl::StatusOr<Analysis> analysis = With(GetParam(), std::move(segments));
    ASSERT_TRUE(analysis.ok()) << analysis.status();
    EXPECT_EQ(analysis->training()->peak_bytes, plan.at("peak_bytes"));
    EXPECT_EQ(LiveBytes(*analysis->training()->program), plan.at("live").get<std::vector<int64_t>>());
  }
  EXPECT_GT(moving, 10);
}

INSTANTIATE_TEST_SUITE_P(All, MeasuredHost, testing::Values("blocks", "convs"),
                         [](const auto& info) { return info.param; });

TEST(CallsOnTheHost, ThatCannotBeThereAreRefused) {
  const auto refusal = [](const std::string& name, const std::string& module, const std::string& keep,
                          const std::string& moved) {
    Segment segment{.modules = {module}, .nodes = {}, .offload = Offload::kWaiting};
    if (!keep.empty()) segment.keep_calls.push_back(*ParseKeptCall(keep));
    segment.host_calls.push_back(*ParseKeptCall(moved));
    return std::string(With(name, {segment}).status().message());
  };
  EXPECT_EQ(refusal("blocks", "h.1", "", "h.1.up:aten.addmm.default#0"), "");
  EXPECT_EQ(refusal("blocks", "h.1", "h.1.up:aten.addmm.default#0", "h.1.up:aten.addmm.default#0[0]"),
            "the plan's calls: output 0 of 'h.1.up:aten.addmm.default#0' is named under both \"keep\" and \"offload\"");
  EXPECT_EQ(refusal("blocks", "h.1", "", "h.1.up:aten.addmm.default#1"),
            "the plan's calls: 'h.1.up:aten.addmm.default#1' is no call of the segment: the module's calls are "
            "aten.addmm.default#0");
  EXPECT_EQ(refusal("convs", "body.1", "", "body.1.1:aten.cudnn_batch_norm.default#0[0]"),
            "the plan's calls: output 0 of 'body.1.1:aten.cudnn_batch_norm.default#0' cannot go to the host, as "
            "'body.1.2:aten.relu_.default#0' writes over it: name it under \"keep\" instead");
}

}  // namespace
}  // namespace onnx_mem
