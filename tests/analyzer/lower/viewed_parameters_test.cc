// Parameters that a dynamo export has as views that the exporter computed, once for each time that the line ran.
#include "analyzer/lower/facts/viewed_parameters.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

std::string MatMulIn(std::string_view number, std::string_view reads, std::string_view turned, std::string_view gives) {
  return absl::StrReplaceAll(R"(
    node_matmul = MatMul(READS, TURNED) -> GIVES float32 2x8
    @ pkg.torch.onnx.fx_node %GIVES : [num_users=1] = call_function[target=torch.ops.aten.matmul.default](args = (%READS, %TURNED), kwargs = {})
    @ pkg.torch.onnx.name_scopes ['', 'cell', 'matmulNUMBER']
    @ pkg.torch.onnx.stack_trace File "net.py", line 9, in forward\n    h = self.cell(h)\n  File "cell.py", line 5, in forward\n    return h @ self.weight.t()
)",
                             {{"NUMBER", std::string(number)},
                              {"READS", std::string(reads)},
                              {"TURNED", std::string(turned)},
                              {"GIVES", std::string(gives)}});
}

// cell.weight, turned in each of three steps.
std::string Loop() {
  return absl::StrCat("input x float32 2x8\n weight t float32 8x8\n weight t_1 float32 8x8\n weight t_2 float32 8x8\n",
                      MatMulIn("", "x", "t", "a"), MatMulIn("_1", "a", "t_1", "b"), MatMulIn("_2", "b", "t_2", "c"),
                      "output c\n");
}

std::string Lowered(const std::string& text, const std::string& parameter) {
  Graph graph = ParseGraph(text);
  graph.signature = ProgramSignature::Parse(
      absl::StrCat("# inputs\np_cell_weight: PARAMETER target='", parameter, "'\nx: USER_INPUT\n"));
  const absl::StatusOr<onnx_mem::Lowered> lowered = Lower(graph, Run());
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return DumpLowered(*lowered);
}

TEST(ViewedParameters, OneThatALoopReadsIsOne) {
  const std::string dump = Lowered(Loop(), "cell.weight");
  EXPECT_EQ(Count(dump, "parameter "), 1) << dump;
  EXPECT_TRUE(Has(dump, "parameter cell.weight")) << dump;
  EXPECT_EQ(Count(dump, ", cell.weight) -> "), 3) << dump;
  EXPECT_EQ(Count(dump, "linear("), 3) << "its transpose is the parameter of a linear\n" << dump;
}

// self.weight[places], whose table the exporter stored under a name of its own.
TEST(ViewedParameters, ATableThatIsReadAtPlacesIsTheOneThatTheCallNames) {
  constexpr char kText[] = R"(
    weight val_105 float32 19x8
    const places int64 4x1 = 0 1 2 3
    input x float32 4x8
    node_gather = GatherND(val_105, places) -> a float32 4x8
    @ pkg.torch.onnx.fx_node %index : [num_users=1] = call_function[target=torch.ops.aten.index.Tensor](args = (%p_cell_weight, PLACES), kwargs = {})
    node_add = Add(a, x) -> y float32 4x8
    output y
  )";
  const auto lowered = [&](const std::string& places) {
    return Lowered(absl::StrReplaceAll(kText, {{"PLACES", places}}), "cell.weight");
  };
  EXPECT_TRUE(Has(lowered("[%add_2]"), "parameter cell.weight")) << lowered("[%add_2]");
  EXPECT_FALSE(Has(lowered("[None, %add_2]"), "parameter cell.weight")) << "permuted before";
}

TEST(ViewedParameters, TheSignatureMustHaveTheAttributeOfTheLine) {
  EXPECT_EQ(Count(Lowered(Loop(), "cell.other"), "parameter "), 3);
  EXPECT_EQ(Count(Lowered(Loop(), "weight"), "parameter "), 3) << "of another module";
  const std::string part = absl::StrReplaceAll(Loop(), {{"self.weight.t()", "self.weight.t()[0]"}});
  EXPECT_EQ(Count(Lowered(part, "cell.weight"), "parameter "), 3);
  const std::string other = absl::StrReplaceAll(Loop(), {{"%t_2", "%sub"}});
  EXPECT_EQ(Count(Lowered(other, "cell.weight"), "parameter "), 2) << "the call reads another value";
}

TEST(ViewedParameters, ALineShowsOneAttributeBeforeItsView) {
  EXPECT_EQ(AttributeViewedOn("b_inp @ self.weight_ih.t()", "t"), "weight_ih");
  EXPECT_EQ(AttributeViewedOn("F.linear(x, weight, self.bias.view(-1))", "view"), "bias");
  EXPECT_EQ(AttributeViewedOn("x @ self.w.unsqueeze(0).transpose(1, 2)", "transpose"), "w");
  EXPECT_EQ(AttributeViewedOn("x @ self.w.t() + y @ self.v.t()", "t"), "") << "which of them is open";
  EXPECT_EQ(AttributeViewedOn("x @ self.w.exp().t()", "t"), "") << "not the parameter itself";
  EXPECT_EQ(AttributeViewedOn("x @ self.w.view(", "view"), "") << "not all of the call is on the line";
  EXPECT_EQ(AttributeViewedOn("x @ self.cell.w.t()", "t"), "");
  EXPECT_EQ(AttributeViewedOn("", ""), "");
}

}  // namespace
}  // namespace onnx_mem
