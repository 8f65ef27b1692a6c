// Output projections whose weight an evaluation export stored apart from the token embedding's: which are taken to
// share it, and what is said of the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// Token embedding, a body, and a head that reads `h`.
std::string Model(std::string_view body) {
  return absl::StrCat(R"(
    input ids int64 2x8
    weight embed.weight float32 2000x16
    weight onnx::MatMul_9 float32 16x2000
    weight norm.weight float32 16
    weight norm.bias float32 16
    weight onnx::MatMul_8 float32 16x16
    /embed/Gather = Gather(embed.weight, ids) -> e float32 2x8x16
)",
                      std::string(body), R"(
    /head/MatMul = MatMul(h, onnx::MatMul_9) -> y float32 2x8x2000
    output y
)");
}

std::string TiesReportedIn(const std::string& text, const Run& run = {}) {
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(text), run);
  std::string codes;
  for (const Diagnostic& d : lowered->diagnostics) absl::StrAppend(&codes, CodeOf(d), " ");
  return codes;
}

bool IsTied(const std::string& text, const Run& run = {}) {
  return LowerText(text, run).find("linear(h, embed.weight) -> y") != std::string::npos;
}

constexpr std::string_view kPlain = R"(
    /norm/LayerNormalization = LayerNormalization(e, norm.weight, norm.bias) -> h float32 2x8x16 {axis: -1}
)";

TEST(TiedWeights, AHeadOfThatShapeAloneIsCountedApartWithAWarning) {
  EXPECT_FALSE(IsTied(Model(kPlain)));
  EXPECT_NE(TiesReportedIn(Model(kPlain)).find("maybe-tied"), std::string::npos);
}

TEST(TiedWeights, TheOptionSettlesIt) {
  onnx_mem::Run run;
  run.tied = TiedMode::kYes;
  EXPECT_TRUE(IsTied(Model(kPlain), run));
  EXPECT_EQ(TiesReportedIn(Model(kPlain), run).find("tied"), std::string::npos);
  run.tied = TiedMode::kNo;
  EXPECT_FALSE(IsTied(Model(kPlain), run));
  EXPECT_EQ(TiesReportedIn(Model(kPlain), run).find("tied"), std::string::npos);
}

// BERT's: a linear, its activation and a norm ahead of the embedding's rows.
TEST(TiedWeights, TheHeadOfAMaskedLanguageModelShares) {
  const std::string text = Model(R"(
    /dense/MatMul = MatMul(e, onnx::MatMul_8) -> d float32 2x8x16
    /act/Relu = Relu(d) -> a float32 2x8x16
    /norm/LayerNormalization = LayerNormalization(a, norm.weight, norm.bias) -> h float32 2x8x16 {axis: -1}
)");
  EXPECT_TRUE(IsTied(text)) << LowerText(text);
  EXPECT_NE(TiesReportedIn(text).find("tied-weights"), std::string::npos);
  onnx_mem::Run run;
  run.tied = TiedMode::kNo;
  EXPECT_FALSE(IsTied(text, run));
}

// The last sum of a residual stream under the final norm is no activated linear.
TEST(TiedWeights, AFinalNormOverAResidualStreamShowsNothing) {
  EXPECT_FALSE(IsTied(Model(R"(
    /dense/MatMul = MatMul(e, onnx::MatMul_8) -> d float32 2x8x16
    /act/Relu = Relu(d) -> a float32 2x8x16
    /Add = Add(e, a) -> r float32 2x8x16
    /norm/LayerNormalization = LayerNormalization(r, norm.weight, norm.bias) -> h float32 2x8x16 {axis: -1}
)")));
}

// GPT-2's names, of which transformers and nanoGPT tie the head's; without its table of positions they are GPT-J's.
TEST(TiedWeights, NamesOfGpt2Share) {
  const std::string text = absl::StrReplaceAll(Model(R"(
    weight positions.weight float32 32x16
    input i int64 2x8
    /positions/Gather = Gather(positions.weight, i) -> p float32 2x8x16
    /Add = Add(e, p) -> h float32 2x8x16
)"),
                                               {{"embed.weight", "wte.weight"}, {"/head/", "/lm_head/"}});
  const auto is_tied = [](const std::string& model) {
    return LowerText(model).find("linear(h, wte.weight) -> y") != std::string::npos;
  };
  EXPECT_TRUE(is_tied(absl::StrReplaceAll(text, {{"positions.weight", "wpe.weight"}})));
  EXPECT_FALSE(is_tied(text));
}

// Models of 128,000 tokens and more do both.
TEST(TiedWeights, ALargeVocabularyShowsNothing) {
  const std::string text = absl::StrReplaceAll(Model(kPlain), {{"2000", "200000"}});
  EXPECT_FALSE(IsTied(text));
  EXPECT_NE(TiesReportedIn(text).find("maybe-tied"), std::string::npos);
}

// The exported program names the parameter that the head's call reads: 200 tokens are enough then.
TEST(TiedWeights, AHeadThatTheProgramCallsTheEmbeddingSharesAtAnySize) {
  const auto is_tied = [](const std::string& read) {
    Graph graph = ParseGraph(absl::StrCat(absl::StrReplaceAll(Model(kPlain), {{"2000", "200"}, {"    output y\n", ""}}),
                                          "    @ pkg.torch.onnx.fx_node %linear : [num_users=1] = "
                                          "call_function[target=aten.linear.default](args = (%layer_norm, %",
                                          read, "), kwargs = {})\n    output y\n"));
    graph.signature = ProgramSignature::Parse(
        "# inputs\np_embed_weight: PARAMETER target='embed.weight'\np_head_weight: PARAMETER target='head.weight'\n");
    const absl::StatusOr<Lowered> lowered = Lower(graph, onnx_mem::Run());
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    return Has(DumpLowered(*lowered), "linear(h, embed.weight) -> y");
  };
  EXPECT_TRUE(is_tied("p_embed_weight"));
  EXPECT_FALSE(is_tied("p_head_weight"));
}

}  // namespace
}  // namespace onnx_mem
