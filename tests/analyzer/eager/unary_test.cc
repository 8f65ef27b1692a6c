#include <gtest/gtest.h>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

constexpr int64_t kImageBytes = 6'422'528;  // bytes of [8, 64, 56, 56] float32

const Dims& ImageDims() {
  static const Dims& dims = *new Dims{8, 64, 56, 56};
  return dims;
}

// Measured on fake CUDA tensors, PyTorch 2.15.
struct UnaryCase {
  std::string op;
  int64_t saved;      // storages saved, the input among them
  std::string steps;  // backward: "b" in front of a size means a mask of one byte per element
  Attributes attributes = {};
};

void PrintTo(const UnaryCase& c, std::ostream* out) { *out << c.op; }

std::string Expand(const std::string& steps) {
  std::string text;
  for (const auto& step : absl::StrSplit(steps, ' ')) {
    const std::string name(step);
    const bool mask = name == "gt" || name == "lt";
    absl::StrAppend(&text, text.empty() ? "" : " ", name, ":", mask ? kImageBytes / 4 : kImageBytes);
  }
  return text;
}

class UnaryTest : public testing::TestWithParam<UnaryCase> {};

TEST_P(UnaryTest, SavesAndAllocatesAsMeasured) {
  OperatorRun run;
  const TensorRef x = run.Static({ImageDims()});
  TensorRef y = run.One(GetParam().op, {x}, ImageDims(), GetParam().attributes);
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(run.SavedBytes(/*with_inputs=*/true), GetParam().saved);
  EXPECT_EQ(run.Backward(y), Expand(GetParam().steps));
}

INSTANTIATE_TEST_SUITE_P(Table, UnaryTest,
                         testing::ValuesIn(std::vector<UnaryCase>{
                             {"relu", kImageBytes, "threshold_backward"},
                             {"leaky_relu", kImageBytes, "leaky_relu_backward"},
                             {"elu", kImageBytes, "elu_backward"},
                             {"selu", kImageBytes, "elu_backward"},
                             {"softplus", kImageBytes, "softplus_backward"},
                             {"gelu", kImageBytes, "gelu_backward"},
                             {"sigmoid", kImageBytes, "sigmoid_backward"},
                             {"silu", kImageBytes, "silu_backward"},
                             {"hardswish", kImageBytes, "hardswish_backward"},
                             {"hardsigmoid", kImageBytes, "hardsigmoid_backward"},
                             {"tanh", kImageBytes, "tanh_backward"},
                             {"mish", kImageBytes, "mish_backward"},
                             {"erf", kImageBytes, "pow neg exp mul mul"},
                             {"relu6", kImageBytes, "hardtanh_backward"},
                             {"clamp", kImageBytes, "gt lt where"},
                             {"clamp", kImageBytes, "gt where", {{"two_sided", int64_t{0}}}},
                             {"exp", kImageBytes, "mul"},
                             {"log", kImageBytes, "div"},
                             {"sqrt", kImageBytes, "mul div"},
                             {"reciprocal", kImageBytes, "mul neg mul"},
                             {"rsqrt", kImageBytes, "pow mul mul"},
                             {"neg", 0, "neg"},
                             {"abs", kImageBytes, "sgn mul"},
                             {"sin", kImageBytes, "cos mul"},
                             {"cos", kImageBytes, "sin neg mul"},
                             {"floor", 0, "zeros_like"},
                             {"pow_scalar", kImageBytes, "pow mul mul", {{"exponent", 2.0}}},
                             {"pow_scalar", kImageBytes, "zeros_like", {{"exponent", 0.0}}},
                             {"mul_scalar", 8, "mul"},
                             {"add_scalar", 0, "clone"},
                             {"rsub_scalar", 0, "neg"},
                             {"div_scalar", 8, "div"},
                             {"rdiv_scalar", kImageBytes + 8, "mul mul neg mul"},
                             {"rpow_scalar", 2 * kImageBytes, "mul mul"},
                             {"softsign", 2 * kImageBytes, "div div neg mul div sgn mul"},
                         }),
                         [](const testing::TestParamInfo<UnaryCase>& info) {
                           return absl::StrCat(info.param.op, "_", info.index);
                         });

TEST(UnaryInPlaceTest, ResultSharesTheStorageAndIsSaved) {
  OperatorRun run;
  const TensorRef x = run.Static({ImageDims(), true});
  const TensorRef made = run.One("neg", {x}, ImageDims());
  const size_t before = run.buffers();
  const TensorRef y = run.One("relu", {made}, ImageDims(), {{"inplace", int64_t{1}}});
  EXPECT_EQ(run.buffers(), before);
  EXPECT_EQ(y->storage, made->storage);
  EXPECT_EQ(run.SavedBytes(true), kImageBytes);
}

TEST(UnaryInPlaceTest, InputIsClonedWhereBackwardNeedsIt) {
  for (const std::string op : {"silu", "hardswish", "relu6", "hardsigmoid", "mish", "clamp"}) {
    OperatorRun run;
    const TensorRef made = run.One("neg", {run.Static({ImageDims()})}, ImageDims());
    const TensorRef y = run.One(op, {made}, ImageDims(), {{"inplace", int64_t{1}}});
    EXPECT_EQ(y->storage, made->storage) << op;
    EXPECT_EQ(run.SavedBytes(true), kImageBytes) << op;
    EXPECT_EQ(run.Allocations(run.buffers() - 1), absl::StrCat("clone:", kImageBytes)) << op;
  }
}

TEST(UnaryInPlaceTest, NothingIsClonedWithoutGradient) {
  OperatorRun run;
  const TensorRef x = run.Static({ImageDims(), false});
  const size_t before = run.buffers();
  run.One("silu", {x}, ImageDims(), {{"inplace", int64_t{1}}});
  EXPECT_EQ(run.buffers(), before);
}

TEST(CastTest, SameTypeIsTheVeryTensor) {
  OperatorRun run;
  const TensorRef x = run.Static({ImageDims()});
  EXPECT_EQ(run.One("cast", {x}, ImageDims()), x);
  const TensorRef half = run.One("cast", {x}, ImageDims(), {}, DType::kFloat16);
  EXPECT_EQ(run.SavedBytes(true), 0);
  EXPECT_EQ(run.Backward(half), absl::StrCat("_to_copy:", kImageBytes));
}

TEST(DropoutTest, WithoutProbabilityOrTrainingIsTheVeryTensor) {
  OperatorRun run;
  const TensorRef x = run.Static({ImageDims()});
  EXPECT_EQ(run.One("dropout", {x}, ImageDims(), {{"p", 0.0}}), x);
  onnx_mem::Run inference;
  inference.training = false;
  OperatorRun other(inference);
  const TensorRef z = other.Static({ImageDims()});
  EXPECT_EQ(other.One("dropout", {z}, ImageDims(), {{"p", 0.5}}), z);
}

TEST(AutocastTest, Fp32ListGetsACastCopy) {
  onnx_mem::Run options;
  options.autocast = DType::kFloat16;
  OperatorRun run(options);
  const TensorRef x = run.Static({ImageDims(), true, DType::kFloat16});
  const TensorRef y = run.One("exp", {x}, ImageDims());
  EXPECT_EQ(y->dtype, DType::kFloat32);
  EXPECT_EQ(run.Backward(y), absl::StrCat("mul:", kImageBytes, " _to_copy:", kImageBytes / 2));
}

}  // namespace
}  // namespace onnx_mem::eager
