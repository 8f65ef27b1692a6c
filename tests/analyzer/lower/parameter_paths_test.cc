// Parameters under names of the exporter's making get the path that the module has them at.
#include "analyzer/lower/facts/parameter_paths.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tests/analyzer/lower/graph_text.h"

namespace onnx_mem {
namespace {

// "val_2 -> fc.weight" per parameter, in the graph's order.
std::string Paths(std::string_view text, std::string_view signature = "") {
  Graph graph = ParseGraph(text);
  graph.signature = ProgramSignature::Parse(signature);
  const absl::StatusOr<Lowered> lowered = Lower(graph, Run());
  if (!lowered.ok()) return lowered.status().ToString();
  std::string paths;
  for (TensorId id(0); lowered->graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    if (lowered->kinds[id] != TensorKind::kParameter) continue;
    const Tensor& tensor = lowered->graph.tensors[id];
    absl::StrAppend(&paths, tensor.name, " -> ", ShownName(tensor), "\n");
  }
  return paths;
}

// A layer with an adapter beside it, as dynamo's optimizer leaves it: the weights are transposed and have lost their
// names.
constexpr std::string_view kAdapter = R"(
    input x float32 2x8
    weight layers.0.q_proj.base.bias float32 16
    weight val_2 float32 8x16
    weight val_4 float32 8x4
    weight val_5 float32 4x16
    node_MatMul_1 = MatMul(x, val_2) -> p float32 2x16
    @ pkg.torch.onnx.name_scopes ['', 'layers.0', 'layers.0.q_proj', 'layers.0.q_proj.base', 'linear']
    node_linear = Add(p, layers.0.q_proj.base.bias) -> l float32 2x16
    @ pkg.torch.onnx.name_scopes ['', 'layers.0', 'layers.0.q_proj', 'layers.0.q_proj.base', 'linear']
    node_linear_1 = MatMul(x, val_4) -> a float32 2x4
    @ pkg.torch.onnx.name_scopes ['', 'layers.0', 'layers.0.q_proj', 'layers.0.q_proj.lora_A', 'linear_1']
    node_linear_2 = MatMul(a, val_5) -> b float32 2x16
    @ pkg.torch.onnx.name_scopes ['', 'layers.0', 'layers.0.q_proj', 'layers.0.q_proj.lora_B', 'linear_2']
    node_add = Add(l, b) -> y float32 2x16
    @ pkg.torch.onnx.name_scopes ['', 'layers.0', 'layers.0.q_proj', 'add']
    output y
)";

TEST(ParameterPaths, AWeightIsItsReadersWhereThereIsNoSignature) {
  EXPECT_EQ(Paths(kAdapter),
            "layers.0.q_proj.base.bias -> layers.0.q_proj.base.bias\n"
            "val_2 -> layers.0.q_proj.base.weight\n"
            "val_4 -> layers.0.q_proj.lora_A.weight\n"
            "val_5 -> layers.0.q_proj.lora_B.weight\n");
}

// peft keeps the adapters in a dictionary: lora_A.default.weight. The signature knows.
TEST(ParameterPaths, TheSignatureSaysWhatTheModuleCallsIt) {
  EXPECT_EQ(Paths(kAdapter, R"(
# inputs
p_a: PARAMETER target='layers.0.q_proj.base.weight'
p_b: PARAMETER target='layers.0.q_proj.base.bias'
p_c: PARAMETER target='layers.0.q_proj.lora_A.default.weight'
p_d: PARAMETER target='layers.0.q_proj.lora_B.default.weight'
x: USER_INPUT
)"),
            "layers.0.q_proj.base.bias -> layers.0.q_proj.base.bias\n"
            "val_2 -> layers.0.q_proj.base.weight\n"
            "val_4 -> layers.0.q_proj.lora_A.default.weight\n"
            "val_5 -> layers.0.q_proj.lora_B.default.weight\n");
}

// A parameter that is no "weight" of its module: nn.MultiheadAttention's, read by a function.
TEST(ParameterPaths, TheOneParameterThatLeftTheFileIsMeant) {
  EXPECT_EQ(Paths(R"(
    input x float32 2x8
    weight attn.in_proj_bias float32 24
    weight val_7 float32 8x24
    node_MatMul_1 = MatMul(x, val_7) -> p float32 2x24
    @ pkg.torch.onnx.name_scopes ['', 'attn', 'linear']
    node_linear = Add(p, attn.in_proj_bias) -> y float32 2x24
    @ pkg.torch.onnx.name_scopes ['', 'attn', 'linear']
    output y
)",
                  R"(
# inputs
p_w: PARAMETER target='attn.in_proj_weight'
p_b: PARAMETER target='attn.in_proj_bias'
)"),
            "attn.in_proj_bias -> attn.in_proj_bias\nval_7 -> attn.in_proj_weight\n");
}

TEST(ParameterPaths, NodeNamesOfTorchScriptTellTheModule) {
  EXPECT_EQ(Paths(R"(
    input x float32 2x3x8
    weight encoder.fc.bias float32 16
    weight onnx::MatMul_243 float32 8x16
    weight onnx::MatMul_244 float32 16x16
    /encoder/fc/MatMul = MatMul(x, onnx::MatMul_243) -> p float32 2x3x16
    /encoder/fc/Add = Add(encoder.fc.bias, p) -> q float32 2x3x16
    /MatMul = MatMul(q, onnx::MatMul_244) -> y float32 2x3x16
    output y
)"),
            "encoder.fc.bias -> encoder.fc.bias\n"
            "onnx::MatMul_243 -> encoder.fc.weight\n"
            "onnx::MatMul_244 -> onnx::MatMul_244\n");  // the root's code reads it: no module, no name
}

// Two weights that one module multiplies by are distinguished, and no name of the file is taken again.
TEST(ParameterPaths, NamesStayUnique) {
  EXPECT_EQ(Paths(R"(
    input x float32 2x3x8
    weight mix.weight float32 8
    weight onnx::MatMul_5 float32 8x8
    weight onnx::MatMul_6 float32 8x8
    /mix/Mul = Mul(x, mix.weight) -> a float32 2x3x8
    /mix/MatMul = MatMul(a, onnx::MatMul_5) -> b float32 2x3x8
    /mix/MatMul_1 = MatMul(b, onnx::MatMul_6) -> y float32 2x3x8
    output y
)"),
            "mix.weight -> mix.weight\nonnx::MatMul_5 -> mix.weight_2\nonnx::MatMul_6 -> mix.weight_3\n");
}

// What the module's code named keeps its name, wherever it is read.
TEST(ParameterPaths, NamesOfTheModuleStay) {
  EXPECT_EQ(Paths(R"(
    input x float32 2x3x8
    weight wte.weight float32 8x8
    /head/Transpose = Transpose(wte.weight) -> t float32 8x8 {perm: [1 0]}
    /head/MatMul = MatMul(x, t) -> y float32 2x3x8
    output y
)"),
            "wte.weight -> wte.weight\n");
}

}  // namespace
}  // namespace onnx_mem
