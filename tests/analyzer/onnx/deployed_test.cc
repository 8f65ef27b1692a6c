// What a file was made for: a network or not, for onnxruntime or not.
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/onnx/build/import.h"
#include "gtest/gtest.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

absl::StatusOr<ModelFile> Opened(std::string_view text) { return ModelFile::Parse(ModelBytes(text), "m.onnx"); }

// That the file is a classical model of `operators`, and that the first note says so and `size`.
void ExpectClassical(const absl::StatusOr<ModelFile>& file, std::string_view size, std::string_view operators) {
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->WhyDeployed(), "a classical model");
  const auto imported = file->Import({.batch = 4});
  ASSERT_TRUE(imported.ok()) << imported.status();
  ASSERT_FALSE(imported->diagnostics.empty());
  const Diagnostic& note = imported->diagnostics[0];
  EXPECT_EQ(note.code, Code::kNotANetwork);
  EXPECT_TRUE(absl::StrContains(note.message, "a classical model, not a network: ")) << note.message;
  EXPECT_TRUE(absl::StrContains(note.message, std::string(size))) << note.message;
  EXPECT_EQ(note.details[0], absl::StrCat("why: its operators are of ai.onnx.ml: ", std::string(operators)));
}

TEST(WhyDeployed, QuantizedAndOptimizedFilesAre) {
  const auto why = [](std::string_view text) { return std::string(Opened(text)->WhyDeployed()); };
  EXPECT_EQ(why("g (float[8,4] x) => (float[8,4] y) { y = Relu(x) }"), "");
  EXPECT_EQ(
      why(R"(g (float[8,4] x, float s) => (float[8,4] y) { q = QuantizeLinear(x, s) y = DequantizeLinear(q, s) })"),
      "quantized");
  EXPECT_EQ(why(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
                   g (float[8,4] x) => (float[8,4] y) { y = com.microsoft.Gelu(x) })"),
            "optimized by onnxruntime");
  EXPECT_EQ(why(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
                   g (float[8,4] d, float[8,4] x) => (float[8,4] y) { y = com.microsoft.GeluGrad(d, x) })"),
            "");
}

// What scikit-learn's MLPClassifier becomes: layers, and labels behind them. PyTorch trains none of it.
constexpr char kClassifier[] = R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 1]>
    g (float[N,4] x) => (int64[N] label) <float[4,3] w = ["location": "none"], int64[3] classes = {7, 8, 9},
      int64[1] flat = {-1}>
    { s = MatMul(x, w)  best = ArgMax<axis = 1>(s)  picked = ai.onnx.ml.ArrayFeatureExtractor(classes, best)
      label = Reshape(picked, flat) })";

TEST(WhyDeployed, NetworksOfClassicalLibrariesAre) {
  const auto file = Opened(kClassifier);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->WhyDeployed(), "a model of scikit-learn or the like");
  EXPECT_TRUE(file->IsOfClassicalLibrary());
  EXPECT_FALSE(file->IsTrainable());
  EXPECT_EQ(Opened(R"(<ir_version: 8, opset_import: ["" : 17], producer_name: "skl2onnx">
      g (float[N,4] x, float[4,1] w) => (float[N,1] y) { y = MatMul(x, w) })")
                ->WhyDeployed(),
            "a model of scikit-learn or the like");
}

TEST(Classical, TheLabelsOfSamplesHaveASize) {
  const auto imported = Opened(kClassifier)->Import({.batch = 5});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.tensors[imported->graph.outputs.at(0)].shape, Shape({5}));
  const auto trees = Opened(R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
      g (float[N,2] x) => (int64[N] label, float[N,3] y)
      { label, y = ai.onnx.ml.TreeEnsembleClassifier <nodes_treeids = [0], classlabels_int64s = [1, 2, 3]> (x) })")
                         ->Import({.batch = 5});
  ASSERT_TRUE(trees.ok()) << trees.status();
  EXPECT_EQ(trees->graph.tensors[trees->graph.outputs.at(1)].shape, Shape({5, 3}));
}

TEST(IsTrainable, NotWhereWeightsAreIntegers) {
  const char* kInt8 = R"(g (float[8,4] x, float s) => (float[8,4] y) <int8[4,4] q = ["location": "none"]>
      { w = DequantizeLinear(q, s)  y = MatMul(x, w) })";
  const char* kTrainedForIt = R"(g (float[8,4] x, float s) => (float[8,4] y) <float[4,4] w = ["location": "none"]>
      { q = QuantizeLinear(w, s)  d = DequantizeLinear(q, s)  y = MatMul(x, d) })";
  EXPECT_FALSE(Opened(kInt8)->IsTrainable());
  EXPECT_TRUE(Opened(kTrainedForIt)->IsTrainable());
}

TEST(Classical, AreNoNetworksAndTellTheirSize) {
  ExpectClassical(Opened(R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
      g (float[N,2] x) => (float[N,1] y) { s = ai.onnx.ml.Scaler(x)
        y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0, 1]> (s) })"),
                  "2 trees of 4 nodes", "Scaler, TreeEnsembleRegressor");
}

TEST(Classical, LinearModelsAreNoNetworksEither) {
  for (const auto& [op, attributes] :
       {std::pair("LinearRegressor", "coefficients = [1.0, 2.0], targets = 1"),
        std::pair("LinearClassifier", "coefficients = [1.0, 2.0], classlabels_ints = [0]")}) {
    const bool classifier = std::string_view(op) == "LinearClassifier";
    ExpectClassical(Opened(absl::StrFormat(
                        R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
           g (float[N,2] x) => (%s) { %s = ai.onnx.ml.%s <%s> (x) })",
                        classifier ? "int64[N] label, float[N,1] y" : "float[N,1] y", classifier ? "label, y" : "y", op,
                        attributes)),
                    " B", op);
  }
}

TEST(Classical, AnOperatorOfItBesideLayersIsANetwork) {
  EXPECT_TRUE(Opened(R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
      g (float[8,4] x, float[4,4] w) => (float[8,4] y) { s = ai.onnx.ml.Scaler(x) y = MatMul(s, w) })")
                  .ok());
}

}  // namespace
}  // namespace onnx_mem
