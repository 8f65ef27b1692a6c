// Files whose weights are integers by now: what they hold counts as parameters, and nothing of it is trained.
#include <gtest/gtest.h>

#include <string>

#include "analyzer/study/study.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

constexpr char kOpsets[] = R"(<ir_version: 8, opset_import: ["" : 20, "com.microsoft" : 1]> )";

Analysis Of(const std::string& text, const std::string& allocator, Mode mode) {
  const absl::StatusOr<ModelFile> file = ModelFile::Parse(ModelBytes(text), "m.onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  Workload workload;
  workload.allocator = allocator;
  workload.mode = mode;
  absl::StatusOr<Analysis> analysis = Analyze(*file, workload);
  EXPECT_TRUE(analysis.ok()) << analysis.status();
  return analysis.ok() ? *std::move(analysis) : Analysis();
}

// Parameters of a session and of PyTorch, and whether something is trained there.
std::string Counted(const std::string& graph) {
  const std::string text = kOpsets + graph;
  const Analysis session = Of(text, "ort", Mode::kInference), torch = Of(text, "pytorch", Mode::kTraining);
  bool trained = false;
  for (const Parameter& parameter : torch.parameters) trained = trained || parameter.trainable;
  return std::to_string(session.parameter_count) + " " + std::to_string(torch.parameter_count) +
         (trained ? " trained" : "");
}

TEST(QuantizedFiles, CountTheirWeights) {
  EXPECT_EQ(Counted(R"(g (float[8,64] x) => (float[8,16] y)
      <int8[64,16] q = ["location": "none"], float s = {1}, int8 z = {0}>
      { w = DequantizeLinear(q, s, z)  y = MatMul(x, w) })"),
            "1024 1024")
      << "QDQ";
  EXPECT_EQ(Counted(R"(g (uint8[8,3,8,8] x) => (uint8[8,4,8,8] y)
      <int8[4,3,1,1] q = ["location": "none"], int32[4] b = ["location": "none"], float s = {1}, uint8 z = {0}, int8 wz = {0}>
      { y = QLinearConv(x, s, z, q, s, wz, s, z, b) })"),
            "16 16")
      << "QOperator";
  EXPECT_EQ(Counted(R"(g (float[8,64] x) => (int32[8,16] y) <int8[64,16] q = ["location": "none"], int8 wz = {0}>
      { a, s, z = DynamicQuantizeLinear(x)  y = MatMulInteger(a, q, z, wz) })"),
            "1024 1024")
      << "dynamic";
  EXPECT_EQ(Counted(R"(g (float[8,64] x) => (float[8,16] y)
      <uint8[16,2,16] q = ["location": "none"], float[32] s = ["location": "none"]>
      { y = com.microsoft.MatMulNBits<K = 64, N = 16, bits = 4, block_size = 32>(x, q, s) })"),
            "1024 1024")
      << "two weights in each byte";
}

// What scikit-learn's MLPClassifier becomes: the network counts, though its labels are what is given out.
TEST(QuantizedFiles, TheNetworkBeforeLabelsCounts) {
  const Analysis analysis = Of(R"(<ir_version: 8, opset_import: ["" : 20, "ai.onnx.ml" : 1]>
      g (float[8,64] x) => (int64[8] label)
      <float[64,3] w = ["location": "none"], int64[3] classes = {7, 8, 9}, int64[1] flat = {-1}>
      { s = MatMul(x, w)  best = ArgMax<axis = 1>(s)  picked = ai.onnx.ml.ArrayFeatureExtractor(classes, best)
        label = Reshape(picked, flat) })",
                               "ort", Mode::kInference);
  EXPECT_EQ(analysis.parameter_count, 64 * 3);
  EXPECT_EQ(analysis.forward_flops, 2 * 8 * 64 * 3);
}

}  // namespace
}  // namespace onnx_mem
