// Numbers that a person can check by hand, through the whole line: file text, shapes, lowering, enactment.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/memory/timeline.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

Enacted EnactOrDie(const std::string& text, const Run& run) {
  absl::StatusOr<Enacted> enacted = Enact(ParseGraph(text), run);
  EXPECT_TRUE(enacted.ok()) << enacted.status();
  return *std::move(enacted);
}

int64_t BytesOf(const MemoryProgram& program, const std::string& name) {
  for (const Buffer& buffer : program.buffers) {
    if (buffer.name == name) return buffer.bytes;
  }
  return -1;
}

onnx_mem::Run Inference() {
  onnx_mem::Run run;
  run.training = false;
  return run;
}

TEST(WorkedNumbers, AThousandSquaredFloatsAreFourMillionBytes) {
  const Enacted e = EnactOrDie("g (float[1000,1000] x) => (float[1000,1000] y) { y = Relu(x) }", Inference());
  EXPECT_EQ(BytesOf(e.program, "x"), 4'000'000);
  EXPECT_EQ(BytesOf(e.program, "y"), 4'000'000);
  EXPECT_EQ(ComputeTimeline(e.program).peak_bytes, 8'000'000);
}

// What a convolution of a tensor of unknown rank makes is as large as the file says; it is no fault of the file.
TEST(WorkedNumbers, AnOperatorBehindAnUnknownOneCountsWhatIsKnown) {
  const absl::StatusOr<ImportedModel> imported = ImportText(R"(<ir_version: 8, opset_import: ["" : 18, "com.acme" : 1]>
      g (float[1,3,8,8] x) => (float[1,4,1000] z) <float[4,3,3,3] w = ["location": "none"]>
      { y = com.acme.Fused(x)  c = Conv(y, w)  z = com.acme.Resample(c) })");
  ASSERT_TRUE(imported.ok()) << imported.status();
  for (const bool training : {false, true}) {
    onnx_mem::Run run;
    run.training = training;
    const absl::StatusOr<Enacted> e = Enact(imported->graph, run);
    ASSERT_TRUE(e.ok()) << e.status();
    EXPECT_EQ(BytesOf(e->program, "z"), 16'000);
  }
}

TEST(WorkedNumbers, ABatchOf32ImagesIs24MiB) {
  const Enacted e = EnactOrDie("g (float[32,3,256,256] x) => (float[32,3,256,256] y) { y = Relu(x) }", Inference());
  EXPECT_EQ(BytesOf(e.program, "x"), int64_t{24} << 20);
}

TEST(WorkedNumbers, ALinearLayerHoldsInputWeightAndOutput) {
  const Enacted e = EnactOrDie(R"(g (float[100,32] x) => (float[100,16] y)
      <float[16,32] w = ["location": "none"]> { y = Gemm <transB=1> (x, w) })",
                               Inference());
  EXPECT_EQ(ComputeTimeline(e.program).peak_bytes, 21'248);
}

constexpr char kThreeConvolutions[] = R"(g (float[1,3,682,700] x) => (float[1,128,341,350] y)
    <float[64,3,3,3] w1 = ["location": "none"], float[64] b1 = ["location": "none"],
     float[64,64,3,3] w2 = ["location": "none"], float[64] b2 = ["location": "none"],
     float[128,64,3,3] w3 = ["location": "none"], float[128] b3 = ["location": "none"]>
    { c1 = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (x, w1, b1)
      r1 = Relu(c1)
      c2 = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (r1, w2, b2)
      r2 = Relu(c2)
      p = MaxPool <kernel_shape=[2,2], strides=[2,2]> (r2)
      y = Conv <kernel_shape=[3,3], pads=[1,1,1,1]> (p, w3, b3) })";

TEST(WorkedNumbers, ThreeConvolutions) {
  const Enacted e = EnactOrDie(kThreeConvolutions, onnx_mem::Run{});
  EXPECT_EQ(e.parameter_count, 112'576);
  EXPECT_EQ(e.parameter_bytes, 450'304);
  // Two of 64x682x700, one of 64x341x350, one of 128x341x350: the ReLUs write in place.
  int64_t activation_bytes = 0;
  for (const Buffer& buffer : e.program.buffers) {
    const bool forward = e.program.steps[buffer.begin].phase == Phase::kForward;
    const bool activation =
        buffer.category == Category::kSavedActivations || buffer.category == Category::kTransientActivations;
    if (forward && activation && buffer.dtype == DType::kFloat32) activation_bytes += buffer.bytes;
  }
  EXPECT_EQ(activation_bytes, 336'089'600);
}

TEST(WorkedNumbers, EveryKeptTensorSaysWhoKeepsItAndWhatFor) {
  const Enacted e = EnactOrDie(kThreeConvolutions, onnx_mem::Run{});
  const auto kept_by = [&](std::string_view name) -> std::string {
    for (const Buffer& buffer : e.program.buffers) {
      if (buffer.name == name) return buffer.kept_by;
    }
    return "";
  };
  EXPECT_TRUE(kept_by("p").starts_with("saved by conv")) << kept_by("p");
  EXPECT_TRUE(kept_by("p").ends_with("for its weight gradient")) << kept_by("p");
  EXPECT_TRUE(kept_by("w3").ends_with("for its input's gradient")) << kept_by("w3");
  EXPECT_TRUE(kept_by("c1").starts_with("saved by relu")) << kept_by("c1") << ": the ReLU wrote over it";
  EXPECT_EQ(kept_by("y"), "an output of the model");
}

TEST(WorkedNumbers, InPlaceSavesNothingInTrainingAndATensorInInference) {
  onnx_mem::Run training, inference = Inference();
  const auto peak = [](const onnx_mem::Run& run) {
    return ComputeTimeline(EnactOrDie(kThreeConvolutions, run).program).peak_bytes;
  };
  const int64_t training_in_place = peak(training), inference_in_place = peak(inference);
  training.inplace = inference.inplace = "none";
  EXPECT_EQ(peak(training), training_in_place);  // ReLU saves what it makes; the convolution's own result is freed
  EXPECT_GE(peak(inference), inference_in_place);
}

// A light model of the onnx package: its weights are made by ConstantOfShape and stored nowhere.
TEST(WorkedNumbers, Vgg19HasItsParametersThoughTheFileMakesThem) {
  const std::string path = ONNX_MEM_UNPACKED_DIR "/truth/wild/models/light_vgg19.onnx";
  absl::StatusOr<ModelFile> file = ModelFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  absl::StatusOr<ImportedModel> model = file->Import({});
  ASSERT_TRUE(model.ok()) << model.status();
  absl::StatusOr<Enacted> enacted = Enact(model->graph, Inference());
  ASSERT_TRUE(enacted.ok()) << enacted.status();
  EXPECT_EQ(enacted->parameter_count, 143'667'240);
  EXPECT_EQ(enacted->parameter_bytes, 574'668'960);  // 548.05 MiB
  // As a memory reporter lists them: 7 * (512,512,3,3), 66.06 MB. `--by shape` has the row.
  int count = 0;
  int64_t bytes = 0;
  for (const Parameter& parameter : enacted->parameters) {
    if (parameter.dims != Dims{512, 512, 3, 3}) continue;
    ++count;
    bytes += parameter.bytes;
  }
  EXPECT_EQ(count, 7);
  EXPECT_EQ(bytes, 66'060'288);
}

// x of 3 GiB, y = 5x, mean(y): 3, 6, then 12 at the peak of backward (x, y, the spread gradient and x's); 9 are left
// while y is held by name. Without y's name, the peak is 9 and 6 are left.
constexpr char kTextbook[] = R"(g (float[3,1024,1024,256] x) => (float loss)
    { five = Constant <value_float=5.0> ()  y = Mul(x, five)  loss = ReduceMean <keepdims=0> (y) })";

onnx_mem::Run Textbook(bool hold) {
  onnx_mem::Run run;
  run.loss = LossKind::kSum;
  run.requires_grad = {"x"};
  if (hold) run.hold = {"y"};
  return run;
}

int64_t GiBAt(const MemoryProgram& program, StepId step) {
  return ComputeTimeline(program).live_bytes[static_cast<size_t>(step.value())] >> 30;
}

// Most that is alive in a phase.
int64_t PeakGiB(const MemoryProgram& program, Phase phase) {
  const Timeline timeline = ComputeTimeline(program);
  int64_t peak = 0;
  for (StepId id(0); program.steps.contains(id); id = StepId(id.value() + 1)) {
    if (program.steps[id].phase == phase) peak = std::max(peak, timeline.live_bytes[static_cast<size_t>(id.value())]);
  }
  return peak >> 30;
}

TEST(WorkedNumbers, TheTextbookExampleHoldsYByName) {
  const Enacted e = EnactOrDie(kTextbook, Textbook(/*hold=*/true));
  EXPECT_EQ(BytesOf(e.program, "x") >> 30, 3);
  EXPECT_EQ(PeakGiB(e.program, Phase::kForward), 6);
  EXPECT_EQ(ComputeTimeline(e.program).peak_bytes >> 30, 12);
  EXPECT_EQ(GiBAt(e.program, StepId(static_cast<int32_t>(e.program.steps.size()) - 1)), 9);
}

TEST(WorkedNumbers, TheTextbookExampleWithoutTheName) {
  const Enacted e = EnactOrDie(kTextbook, Textbook(/*hold=*/false));
  EXPECT_EQ(ComputeTimeline(e.program).peak_bytes >> 30, 9);
  EXPECT_EQ(GiBAt(e.program, StepId(static_cast<int32_t>(e.program.steps.size()) - 1)), 6);
}

}  // namespace
}  // namespace onnx_mem
