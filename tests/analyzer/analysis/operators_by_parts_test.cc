// Operators that no framework has under that name, and forms of earlier operator sets: what a training step of them
// saves and trains, through the whole line. A parameter stands before each operator, the loss (a sum) behind it. The
// bytes are those of the parts that the framework ran: x is 8 KiB in sequences, 16 KiB in images.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/analysis/enact.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

struct Case {
  std::string name;
  std::string nodes;    // from a to y
  std::string weights;  // beside p
  int trained;          // parameters that get a gradient, p included
  int64_t saved_bytes;
  int opset = kTextOpset;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Enacted TrainOrDie(const Case& c, const std::string& head) {
  const std::string text =
      absl::StrCat("g (", head, ") => (float loss) <", c.weights, "> {", c.nodes, "loss = ReduceSum(y) }");
  onnx_mem::Run run;
  run.loss = LossKind::kSum;
  run.inplace = "none";
  absl::StatusOr<Enacted> enacted = Enact(ParseGraph(text, {}, c.opset), run);
  EXPECT_TRUE(enacted.ok()) << enacted.status();
  return *std::move(enacted);
}

int CountTrained(const Enacted& enacted) {
  int count = 0;
  for (const Parameter& parameter : enacted.parameters) count += parameter.has_gradient ? 1 : 0;
  return count;
}

bool Assumes(const Enacted& enacted) {
  for (const Diagnostic& diagnostic : enacted.diagnostics) {
    if (diagnostic.code == Code::kAssumedOp) return true;
  }
  return false;
}

class OperatorsByParts : public testing::TestWithParam<Case> {
 protected:
  void Check(const Case& c, const std::string& head, const std::string& first, const std::string& weight) {
    Case whole = c;
    whole.nodes = first + c.nodes;
    whole.weights = absl::StrCat(weight, c.weights.empty() ? "" : ", ", c.weights);
    const Enacted enacted = TrainOrDie(whole, head);
    EXPECT_EQ(CountTrained(enacted), c.trained);
    EXPECT_EQ(enacted.saved_activation_bytes, c.saved_bytes);
    EXPECT_FALSE(Assumes(enacted));
  }
};

constexpr char kNone[] = "= [\"location\": \"none\"]";
std::string Weight(const std::string& type, const std::string& name) {
  return absl::StrCat(type, " ", name, " ", kNone);
}

class Sequences : public OperatorsByParts {};
TEST_P(Sequences, SaveAndTrain) {
  Check(GetParam(), "float[2,16,64] x", "a = MatMul(x, p) ", Weight("float[64,64]", "p"));
}

const std::string kGammaBeta = Weight("float[64]", "g") + ", " + Weight("float[64]", "b");
const std::string kBias = Weight("float[64]", "b");
const std::string kMatrix = Weight("float[64,64]", "w");
const std::string kQkv =
    Weight("float[64,64]", "wq") + ", " + Weight("float[64,64]", "wk") + ", " + Weight("float[64,64]", "wv");
constexpr char kProjections[] = "q = MatMul(a, wq) k = MatMul(a, wk) v = MatMul(a, wv) ";

INSTANTIATE_TEST_SUITE_P(
    Fused, Sequences,
    testing::ValuesIn(std::vector<Case>{
        {"BiasGelu", "y = com.microsoft.BiasGelu(a, b) ", kBias, 2, 8192},
        {"FastGelu", "y = com.microsoft.FastGelu(a) ", "", 1, 8192},
        {"FastGeluWithBias", "y = com.microsoft.FastGelu(a, b) ", kBias, 2, 8192},
        {"QuickGelu", "y = com.microsoft.QuickGelu<alpha = 1.702>(a) ", "", 1, 2 * 8192 + 8},
        {"BiasSoftmax", "y = com.microsoft.BiasSoftmax<axis = 2, is_inner_broadcast = 0>(a, m) ",
         Weight("float[1,16,64]", "m"), 2, 8192},
        {"SkipLayerNormalization", "y = com.microsoft.SkipLayerNormalization(a, x, g, b) ", kGammaBeta, 3, 8192 + 256},
        {"SkipSimplifiedLayerNormalization", "y = com.microsoft.SkipSimplifiedLayerNormalization(a, x, g) ",
         Weight("float[64]", "g"), 2, 8192 + 128},
        {"LayerNormalization", "y = com.microsoft.LayerNormalization<axis = -1>(a, g, b) ", kGammaBeta, 3, 8192 + 256},
        {"FusedMatMul", "y = com.microsoft.FusedMatMul<transB = 1, alpha = 0.5>(a, w) ", kMatrix, 2, 8192 + 8},
        {"FusedMatMulOfActivations", "y = com.microsoft.FusedMatMul<transB = 1>(a, a) ", "", 1, 8192},
        {"GemmFastGelu", "y = com.microsoft.GemmFastGelu(a, w, b) ", kMatrix + ", " + kBias, 3, 2 * 8192},
        // The projected input, one tensor of q, k and v, the result, the sums of exponentials, two scalars.
        {"Attention", "y = com.microsoft.Attention<num_heads = 4>(a, w, b) ",
         Weight("float[64,192]", "w") + ", " + Weight("float[192]", "b"), 3, 8192 + 24576 + 8192 + 1024 + 16},
        {"MultiHeadAttention",
         std::string(kProjections) + "y = com.microsoft.MultiHeadAttention<num_heads = 4>(q, k, v) ", kQkv, 4,
         8192 + 24576 + 8192 + 1024 + 16},
        {"MultiHeadAttentionWithBias", "y = com.microsoft.MultiHeadAttention<num_heads = 4>(a, a, a, c) ",
         Weight("float[192]", "c"), 2, 24576 + 8192 + 1024 + 16},
        // The packed weight and its scales are no parameters, and no activation is kept for them.
        {"MatMulNBits", "y = com.microsoft.MatMulNBits<K = 64, N = 64, bits = 4, block_size = 32>(a, w, s) ",
         Weight("uint8[64,2,16]", "w") + ", " + Weight("float[128]", "s"), 1, 0},
        {"MatMulBnb4", "y = com.microsoft.MatMulBnb4<K = 64, N = 64, quant_type = 1, block_size = 64>(a, w, s) ",
         Weight("uint8[2048]", "w") + ", " + Weight("float[64]", "s"), 1, 0},
        {"Compress", "y = Compress<axis = 1>(a, c) ", "bool[16] c = {1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0}", 1, 64},
    }),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

class Images : public OperatorsByParts {};
TEST_P(Images, SaveAndTrain) {
  Check(GetParam(), "float[2,3,16,16] x", "a = Conv<kernel_shape = [3,3], pads = [1,1,1,1]>(x, p) ",
        Weight("float[8,3,3,3]", "p"));
}

constexpr char kScale[] = "float s = {0.1}, uint8 z = {128}";
constexpr char kQuantized[] = "q = QuantizeLinear(a, s, z) ";

INSTANTIATE_TEST_SUITE_P(
    Fused, Images,
    testing::ValuesIn(std::vector<Case>{
        {"FusedConv", "y = com.microsoft.FusedConv<activation = \"Relu\", kernel_shape = [1,1]>(a, w) ",
         Weight("float[8,8,1,1]", "w"), 2, 2 * 16384},
        {"GroupNorm",
         "t = Transpose<perm = [0,2,3,1]>(a) y = com.microsoft.GroupNorm<groups = 4, channels_last = 1, activation = 0>"
         "(t, g, b) ",
         Weight("float[8]", "g") + ", " + Weight("float[8]", "b"), 3, 16384 + 64},
        {"GroupNormAndSilu",
         "t = Transpose<perm = [0,2,3,1]>(a) y = com.microsoft.GroupNorm<groups = 4, channels_last = 1, activation = 1>"
         "(t, g, b) ",
         Weight("float[8]", "g") + ", " + Weight("float[8]", "b"), 3, 2 * 16384 + 64},
        // Quantization-aware training: the mask of fake_quantize, and what it gives to the convolution.
        {"QuantizeDequantize",
         std::string(kQuantized) + "d = DequantizeLinear(q, s, z) y = Conv<kernel_shape = [1,1]>(d, w) ",
         std::string(kScale) + ", " + Weight("float[8,8,1,1]", "w"), 2, 16384 + 4096},
        {"QuantizeDequantizeTwice",
         std::string(kQuantized) + "d = DequantizeLinear(q, s, z) e = DequantizeLinear(q, s, z) y = Add(d, e) ", kScale,
         1, 4096},
        // What integers compute has no gradient.
        {"QLinearAdd",
         std::string(kQuantized) +
             "r = com.microsoft.QLinearAdd(q, s, z, q, s, z, s, z) y = DequantizeLinear(r, s, z) ",
         kScale, 0, 0},
        {"QLinearSigmoid",
         std::string(kQuantized) + "r = com.microsoft.QLinearSigmoid(q, s, z, s, z) y = DequantizeLinear(r, s, z) ",
         kScale, 0, 0},
    }),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Former, Images,
    testing::ValuesIn(std::vector<Case>{
        {"Upsample7", "y = Upsample<mode = \"nearest\", scales = [1.0,1.0,2.0,2.0]>(a) ", "", 1, 0, 7},
        {"Upsample9", "y = Upsample<mode = \"nearest\">(a, s) ", "float[4] s = {1,1,2,2}", 1, 0, 9},
        {"Resize10", "y = Resize<mode = \"nearest\">(a, s) ", "float[4] s = {1,1,2,2}", 1, 0, 10},
        {"Dropout6", "y = Dropout<ratio = 0.5>(a) ", "", 1, 4096, 6},
        {"BatchNormalization1",
         "y = BatchNormalization<spatial = 1, is_test = 1, consumed_inputs = [0,0,0,1,1]>(a, g, b, m, v) ",
         Weight("float[8]", "g") + ", " + Weight("float[8]", "b") + ", " + Weight("float[8]", "m") + ", " +
             Weight("float[8]", "v"),
         3, 16384 + 64, 1},
        {"Clip6", "y = Clip<min = 0.0, max = 6.0>(a) ", "", 1, 16384, 6},
        {"Pad2", "y = Pad<pads = [0,0,1,1,0,0,1,1], mode = \"constant\", value = 0.0>(a) ", "", 1, 0, 2},
        {"Slice1", "y = Slice<starts = [0,2], ends = [1,6], axes = [0,1]>(a) ", "", 1, 0, 1},
        {"Softmax1", "y = Softmax(a) ", "", 1, 16384, 1},
        {"ReduceMean1", "y = ReduceMean<axes = [2,3]>(a) ", "", 1, 0, 1},
        {"SqueezeUnsqueeze11", "u = Unsqueeze<axes = [0]>(a) y = Squeeze<axes = [0]>(u) ", "", 1, 0, 11},
        {"Split2", "c, d = Split<axis = 1, split = [3,5]>(a) y = Concat<axis = 1>(d, c) ", "", 1, 0, 2},
        {"AddBroadcast1", "y = Add<broadcast = 1, axis = 1>(a, b) ", Weight("float[8]", "b"), 2, 0, 1},
        {"MulBroadcast6", "y = Mul<broadcast = 1, axis = 1>(a, b) ", Weight("float[8]", "b"), 2, 16384, 6},
        {"Gemm6", "r = Flatten(a) y = Gemm<broadcast = 1, transB = 1>(r, w, b) ",
         Weight("float[10,2048]", "w") + ", " + Weight("float[10]", "b"), 3, 16384, 6},
        {"TopK1", "y, i = TopK<k = 3, axis = 1>(a) ", "", 1, 2 * 3 * 256 * 8, 1},
        {"MaxPool1", "y = MaxPool<kernel_shape = [2,2], strides = [2,2]>(a) ", "", 1, 16384 + 8192, 1},
        {"InstanceNormalization1", "y = InstanceNormalization<epsilon = 0.00001, consumed_inputs = [0,0,0]>(a, g, b) ",
         Weight("float[8]", "g") + ", " + Weight("float[8]", "b"), 3, 16576, 1},
        {"Lrn", "y = LRN<size = 5>(a) ", "", 1, 73736, 9},
    }),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

}  // namespace
}  // namespace onnx_mem
