#include <gtest/gtest.h>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

constexpr int64_t kX = 6'422'528;  // bytes of [8, 64, 56, 56] float32

const Dims& ImageDims() {
  static const Dims& dims = *new Dims{8, 64, 56, 56};
  return dims;
}

// Measured on fake CUDA tensors, PyTorch 2.15.
struct Case {
  std::string op;
  int64_t saved;      // storages saved, the input among them
  std::string steps;  // backward: "b" in front of a size means a mask of one byte per element
  Attributes attributes = {};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.op; }

std::string Expand(const std::string& steps) {
  std::string text;
  for (const auto& step : absl::StrSplit(steps, ' ')) {
    const std::string name(step);
    const bool mask = name == "gt" || name == "lt";
    absl::StrAppend(&text, text.empty() ? "" : " ", name, ":", mask ? kX / 4 : kX);
  }
  return text;
}

class UnaryTest : public testing::TestWithParam<Case> {};

TEST_P(UnaryTest, SavesAndAllocatesAsMeasured) {
  OperatorRun run;
  const TensorRef x = run.Static({ImageDims()});
  TensorRef y = run.One(GetParam().op, {x}, ImageDims(), GetParam().attributes);
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(run.SavedBytes(/*with_inputs=*/true), GetParam().saved);
  EXPECT_EQ(run.Backward(y), Expand(GetParam().steps));
}

INSTANTIATE_TEST_SUITE_P(Table, UnaryTest,
                         testing::ValuesIn(std::vector<Case>{
                             {"relu", kX, "threshold_backward"},
                             {"leaky_relu", kX, "leaky_relu_backward"},
                             {"elu", kX, "elu_backward"},
                             {"selu", kX, "elu_backward"},
                             {"softplus", kX, "softplus_backward"},
                             {"gelu", kX, "gelu_backward"},
                             {"sigmoid", kX, "sigmoid_backward"},
                             {"silu", kX, "silu_backward"},
                             {"hardswish", kX, "hardswish_backward"},
                             {"hardsigmoid", kX, "hardsigmoid_backward"},
                             {"tanh", kX, "tanh_backward"},
                             {"mish", kX, "mish_backward"},
                             {"erf", kX, "pow neg exp mul mul"},
                             {"relu6", kX, "hardtanh_backward"},
                             {"clamp", kX, "gt lt where"},
                             {"clamp", kX, "gt where", {{"two_sided", int64_t{0}}}},
                             {"exp", kX, "mul"},
                             {"log", kX, "div"},
                             {"sqrt", kX, "mul div"},
                             {"reciprocal", kX, "mul neg mul"},
                             {"rsqrt", kX, "pow mul mul"},
                             {"neg", 0, "neg"},
                             {"abs", kX, "sgn mul"},
                             {"sin", kX, "cos mul"},
                             {"cos", kX, "sin neg mul"},
                             {"floor", 0, "zeros_like"},
                             {"pow_scalar", kX, "pow mul mul", {{"exponent", 2.0}}},
                             {"pow_scalar", kX, "zeros_like", {{"exponent", 0.0}}},
                             {"mul_scalar", 8, "mul"},
                             {"add_scalar", 0, "clone"},
                             {"rsub_scalar", 0, "neg"},
                             {"div_scalar", 8, "div"},
                             {"rdiv_scalar", kX + 8, "mul mul neg mul"},
                             {"rpow_scalar", 2 * kX, "mul mul"},
                             {"softsign", 2 * kX, "div div neg mul div sgn mul"},
                         }),
                         [](const testing::TestParamInfo<Case>& info) {
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
  EXPECT_EQ(run.SavedBytes(true), kX);
}

TEST(UnaryInPlaceTest, InputIsClonedWhereBackwardNeedsIt) {
  for (const std::string op : {"silu", "hardswish", "relu6", "hardsigmoid", "mish", "clamp"}) {
    OperatorRun run;
    const TensorRef made = run.One("neg", {run.Static({ImageDims()})}, ImageDims());
    const TensorRef y = run.One(op, {made}, ImageDims(), {{"inplace", int64_t{1}}});
    EXPECT_EQ(y->storage, made->storage) << op;
    EXPECT_EQ(run.SavedBytes(true), kX) << op;
    EXPECT_EQ(run.Allocations(run.buffers() - 1), absl::StrCat("clone:", kX)) << op;
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
  EXPECT_EQ(run.Backward(half), absl::StrCat("_to_copy:", kX));
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
  EXPECT_EQ(run.Backward(y), absl::StrCat("mul:", kX, " _to_copy:", kX / 2));
}

}  // namespace
}  // namespace onnx_mem::eager
