// Plans that hold tensors in host memory (testdata/measured/host) against what PyTorch took with them: live bytes after
// every operator of forward and backward that allocates.
#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/memory/timeline.h"
#include "analyzer/study/study.h"

namespace onnx_mem {
namespace {

using Json = nlohmann::json;

const std::string kHost = ONNX_MEM_SOURCE_DIR "/testdata/measured/host/";

Json TruthOf(const std::string& name) {
  std::string text;
  if (gzFile file = gzopen((kHost + name + ".json.gz").c_str(), "rb"); file != nullptr) {
    char block[4096];
    for (int n = 0; (n = gzread(file, block, sizeof block)) > 0;) text.append(block, static_cast<size_t>(n));
    gzclose(file);
  }
  return Json::parse(text);
}

std::vector<KeptCall> CallsOf(const Json& json) {
  std::vector<KeptCall> calls;
  for (const auto& [name, outputs] : json.items())
    calls.push_back({*ParseCallId(name), outputs.get<std::vector<int8_t>>()});
  return calls;
}

Segment SegmentOf(const Json& json) {
  Segment segment{.modules = json.at("modules"), .nodes = {}, .keep_calls = CallsOf(json.at("keep"))};
  if (!json.contains("offload")) return segment;
  const Json& offload = json.at("offload");
  segment.offload = offload.at("when") == NameOf(Offload::kWaiting) ? Offload::kWaiting : Offload::kOverlapped;
  segment.host_calls = CallsOf(offload.at("calls"));
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

// After each step up to the end of backward that allocates.
std::vector<int64_t> BytesAlive(const MemoryProgram& program) {
  const Timeline timeline = ComputeTimeline(program);
  std::vector<int64_t> made(program.steps.size(), 0), live;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.begin.value() > 0 || buffer.category > Category::kInputs)
      made[static_cast<size_t>(buffer.begin.value())] += buffer.bytes;
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (program.steps[StepId(static_cast<int32_t>(i))].phase == Phase::kOptimizer) break;
    if (made[i] > 0) live.push_back(timeline.live_bytes[i]);
  }
  return live;
}

class MeasuredHost : public testing::TestWithParam<std::string> {};

TEST_P(MeasuredHost, TakesWhatPyTorchTook) {
  const Json truth = TruthOf(GetParam());
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
    EXPECT_EQ(BytesAlive(*analysis->training()->program), plan.at("live").get<std::vector<int64_t>>());
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
