// Files of operator sets whose schemas check nothing: an operator that gets what it does not take is enacted by the
// default rule, says so, and leaves the rest of the model its numbers.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/analysis/enact.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// A training step of `nodes`, from x [8,64] to y [8,32], in the operator set `opset`.
Enacted Train(const std::string& nodes, const std::string& weights, int opset) {
  const std::string text = absl::StrCat("<ir_version: 8, opset_import: [\"\" : ", opset, "]> g (float[8,64] x) => ",
                                        "(float[8,32] y) <", weights, "> {", nodes, "}");
  absl::StatusOr<Enacted> enacted = Enact(ParseGraph(text), onnx_mem::Run());
  EXPECT_TRUE(enacted.ok()) << enacted.status();
  return *std::move(enacted);
}

std::string WarningOf(const Enacted& enacted) {
  for (const Diagnostic& diagnostic : enacted.diagnostics) {
    if (diagnostic.code == Code::kAssumedOp) return diagnostic.message;
  }
  return "";
}

TEST(Misfits, AProductWithAVectorForAMatrixIsAssumed) {
  const std::string vectors = R"(float[32] w = ["location": "none"], float[32] b = ["location": "none"])";
  const Enacted linear = Train("y = Gemm<transB = 1>(x, w, b)", vectors, 1);
  EXPECT_EQ(WarningOf(linear), "node #0 (linear) is given what the operator does not take");
  EXPECT_EQ(linear.parameter_bytes, 2 * 32 * 4);
  const Enacted addmm = Train("a = Relu(b)  y = Gemm<transB = 1>(x, a, w)", vectors, 1);
  EXPECT_EQ(WarningOf(addmm), "node #1 (addmm) is given what the operator does not take");
}

TEST(Misfits, AProductWithoutAnInputIsAssumed) {
  const std::string weights = R"(float[32,64] w = ["location": "none"], float[32] b = ["location": "none"])";
  const Enacted enacted =
      Train("z = Gemm<transB = 1>(, w, b)  a = Gemm<transB = 1>(x, w, b)  y = Add(a, z)", weights, 0);
  EXPECT_EQ(WarningOf(enacted), "node #0 (linear) is given what the operator does not take");
  EXPECT_EQ(enacted.parameter_bytes, (32 * 64 + 32) * 4);
}

}  // namespace
}  // namespace onnx_mem
