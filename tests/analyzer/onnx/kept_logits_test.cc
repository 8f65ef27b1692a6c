// Language models of which a TorchScript file gives the logits of one position.
#include "analyzer/onnx/read/kept_logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_replace.h"
#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// logits = self.lm_head(hidden[:, slice(-logits_to_keep, None), :])
std::string Model(const std::string& input, const std::string& picks) {
  constexpr char kText[] = R"(g (float[2,4,8] hidden, int64 INPUT, float[8,20] w) => (float[2,20] y)
      { h = Tanh(hidden)
        p = PICKS
        y = MatMul(p, w) })";
  return absl::StrReplaceAll(kText, {{"INPUT", input}, {"PICKS", picks}});
}

std::string Logits(const std::string& text) {
  const absl::StatusOr<ImportedModel> imported = ImportText(text);
  if (!imported.ok()) return std::string(imported.status().message());
  return ToString(imported->graph.tensors[imported->graph.outputs[0]].shape);
}

TEST(KeptLogits, AllPositionsAreCounted) {
  const std::string text = Model("logits_to_keep", "Gather <axis = 1> (h, logits_to_keep)");
  EXPECT_EQ(Logits(text), "8x20") << "4 positions of 2 samples";
  const absl::StatusOr<ImportedModel> imported = ImportText(text);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(std::any_of(imported->diagnostics.begin(), imported->diagnostics.end(),
                          [](const Diagnostic& d) { return d.code == Code::kKeptLogits; }));
  for (TensorId id : imported->graph.inputs) EXPECT_NE(imported->graph.tensors[id].name, "logits_to_keep");
}

TEST(KeptLogits, AnIndexOfTheModelsOwnIsOne) {
  EXPECT_EQ(Logits(Model("position", "Gather <axis = 1> (h, position)")), "2x20");
}

TEST(KeptLogits, ANumberThatSomethingElseReadsStays) {
  onnx::ModelProto model = ModelOfText(R"(g (float[2,4,8] x, int64 logits_to_keep) => (float[2,8] y, int64 n)
      { y = Gather <axis = 1> (x, logits_to_keep)
        n = Neg(logits_to_keep) })");
  EXPECT_FALSE(KeepAllLogits(model).has_value());
  EXPECT_EQ(model.graph().input_size(), 2);
}

}  // namespace
}  // namespace onnx_mem
