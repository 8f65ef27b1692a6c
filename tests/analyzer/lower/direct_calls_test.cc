// Modules whose forward is called directly, which leaves no call in the file.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// h = self.norm(x); q, k = wq(h), wk(h); x = x + wo(softmax(q @ k) @ q), where the layers are those of
// layers.0.attention.
constexpr std::string_view kBlock = R"(
    input x float32 2x4x4
    weight layers.0.norm.weight float32 4
    weight layers.0.attention.wq.weight float32 4x4
    weight layers.0.attention.wk.weight float32 4x4
    weight layers.0.attention.wo.weight float32 4x4
    /layers.0/norm/Mul = Mul(x, layers.0.norm.weight) -> h float32 2x4x4
    /layers.0/wq/MatMul = MatMul(h, layers.0.attention.wq.weight) -> q float32 2x4x4
    /layers.0/wk/MatMul = MatMul(h, layers.0.attention.wk.weight) -> k float32 2x4x4
    /layers.0/MatMul = MatMul(q, k) -> s float32 2x4x4
    /layers.0/Softmax = Softmax(s) -> p float32 2x4x4 {axis: -1}
    /layers.0/MatMul_1 = MatMul(p, q) -> y float32 2x4x4
    /layers.0/wo/MatMul = MatMul(y, layers.0.attention.wo.weight) -> o float32 2x4x4
    /layers.0/Add = Add(x, o) -> z float32 2x4x4
    output z
)";

// The calls around each operator: "softmax: layers.0 > layers.0.attention".
std::vector<std::string> CallsOf(std::string_view text) {
  const absl::StatusOr<Lowered> lowered = Lower(ParseGraph(text), onnx_mem::Run());
  std::vector<std::string> calls;
  if (!lowered.ok()) return calls;
  for (const Node& node : lowered->graph.nodes) {
    calls.push_back(node.op.str() + ": " + absl::StrJoin(node.calls.begin(), node.calls.end(), " > "));
  }
  return calls;
}

TEST(DirectCalls, AttentionBetweenTheLayersOfOneModuleIsThatModules) {  // x + self.attention.forward(self.norm(x))
  EXPECT_EQ(CallsOf(kBlock), (std::vector<std::string>{
                                 "mul: layers.0 > layers.0.norm",
                                 "matmul: layers.0 > layers.0.attention > layers.0.wq",
                                 "matmul: layers.0 > layers.0.attention > layers.0.wk",
                                 "matmul: layers.0 > layers.0.attention",
                                 "softmax: layers.0 > layers.0.attention",
                                 "matmul: layers.0 > layers.0.attention",
                                 "matmul: layers.0 > layers.0.attention > layers.0.wo",
                                 "add: layers.0",
                             }));
}

TEST(DirectCalls, ElementsOfAListAreUsedFromTheCodeAround) {  // for layer in self.layers: q = layer["wq"](h)
  const std::string text =
      absl::StrReplaceAll(absl::string_view(kBlock.data(), kBlock.size()),
                          {{"layers.0.attention.w", "attention.0.w"}, {"/layers.0/", "/"}, {"layers.0.norm", "norm"}});
  const std::vector<std::string> calls = CallsOf(text);
  ASSERT_EQ(calls.size(), 8u);
  EXPECT_EQ(calls[4], "softmax: ");
}

TEST(DirectCalls, WithoutASoftmaxTheLayersMayBeUsedFromTheCodeAround) {  // self.head.fc(self.head.norm(x) + 1)
  const std::string text = absl::StrReplaceAll(
      absl::string_view(kBlock.data(), kBlock.size()),
      {{"Softmax = Softmax(s) -> p float32 2x4x4 {axis: -1}", "Tanh = Tanh(s) -> p float32 2x4x4"}});
  const std::vector<std::string> calls = CallsOf(text);
  ASSERT_EQ(calls.size(), 8u);
  EXPECT_EQ(calls[4], "tanh: layers.0");
}

}  // namespace
}  // namespace onnx_mem
