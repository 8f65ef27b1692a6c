// One operator call per row: bytes saved (inputs that no parameter owns among them, and what is saved beside inputs)
// and the backward's allocations in order, as measured with PyTorch 2.15 on fake CUDA tensors.
#include <gtest/gtest.h>

#include "tests/analyzer/eager/operator_run.h"

namespace onnx_mem::eager {
namespace {

struct OperatorCase {
  std::string name;
  std::string op;
  std::vector<Argument> arguments;
  Dims output;
  int64_t saved;  // with inputs and parameters
  int64_t extra;  // storages that are neither input nor parameter
  std::string backward;
  Attributes attributes = {};
};
void PrintTo(const OperatorCase& c, std::ostream* out) { *out << c.name; }

const Dims kX{8, 64, 56, 56};
const Dims kHalf{8, 64, 28, 28};
const Dims kChannels{64};
const Dims kTokens{8, 128, 256};
const Dims kScores{8, 4, 128, 128};
const Dims kHeads{8, 4, 128, 64};
const Argument kNoGradImage{kX, false};
constexpr DType kInt = DType::kInt64;
constexpr DType kBoolean = DType::kBool;

Attributes Axis(int64_t axis) { return {{"axis", axis}}; }
Attributes Axes(std::vector<int64_t> axes) { return {{"axes", std::move(axes)}}; }

class OperatorTest : public testing::TestWithParam<OperatorCase> {};

TEST_P(OperatorTest, SavesAndAllocatesAsMeasured) {
  const OperatorCase& c = GetParam();
  OperatorRun run;
  std::vector<TensorRef> inputs;
  for (const Argument& argument : c.arguments) {
    inputs.push_back(argument.dtype == DType::kUnknown ? nullptr : run.Static(argument));
  }
  const TensorRef y = run.One(c.op, inputs, c.output, c.attributes);
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->dims, c.output);
  EXPECT_EQ(run.SavedBytes(/*with_inputs=*/true), c.saved);
  EXPECT_EQ(run.SavedBytes(/*with_inputs=*/false), c.extra);
  EXPECT_EQ(run.Backward(y), c.backward);
}

std::string NameOf(const testing::TestParamInfo<OperatorCase>& info) { return info.param.name; }

const Argument kNone{{}, false, DType::kUnknown};
const Argument kEnds{{3}, false, DType::kInt32};

INSTANTIATE_TEST_SUITE_P(
    Convolution, OperatorTest,
    testing::ValuesIn(std::vector<OperatorCase>{
        {"conv",
         "conv",
         {{kX}, {{64, 64, 3, 3}}, {kChannels}},
         kX,
         6422528 + 147456,
         0,
         "convolution_backward:6422528 convolution_backward:147456 convolution_backward:256"},
        {"first_layer",
         "conv",
         {kNoGradImage, {{64, 64, 3, 3}}, {kChannels}},
         kX,
         6422528 + 147456,
         0,
         "convolution_backward:147456 convolution_backward:256"},
        {"frozen", "conv", {{kX}, {{64, 64, 3, 3}, false}}, kX, 6422528 + 147456, 0, "convolution_backward:6422528"},
        {"depthwise",
         "conv",
         {{kX}, {{64, 1, 3, 3}}},
         kX,
         6422528 + 2304,
         0,
         "convolution_backward:6422528 convolution_backward:2304"},
        {"transposed",
         "conv_transpose",
         {{kX}, {{64, 32, 2, 2}}, {{32}}},
         {8, 32, 112, 112},
         6422528 + 32768,
         0,
         "convolution_backward:6422528 convolution_backward:32768 convolution_backward:128"},
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Matmul, OperatorTest,
    testing::ValuesIn(std::vector<OperatorCase>{
        {"linear_2d",
         "linear",
         {{{32, 512}}, {{1000, 512}}, {{1000}}},
         {32, 1000},
         65536 + 2048000,
         0,
         "mm:65536 mm:2048000 sum:4000"},
        {"linear_2d_stored_transposed",
         "linear",
         {{{32, 512}}, {{512, 1000}}, {{1000}}},
         {32, 1000},
         65536 + 2048000,
         0,
         "mm:65536 mm:2048000 sum:4000",
         {{"transposed", int64_t{1}}}},
        {"linear_3d",
         "linear",
         {{kTokens}, {{1024, 256}}, {{1024}}},
         {8, 128, 1024},
         1048576 + 1048576,
         0,
         "mm:1048576 mm:1048576 sum:4096"},
        {"linear_3d_no_bias",
         "linear",
         {{kTokens}, {{1024, 256}}},
         {8, 128, 1024},
         1048576 + 1048576,
         0,
         "mm:1048576 mm:1048576"},
        {"linear_first",
         "linear",
         {{{32, 512}, false}, {{1000, 512}}, {{1000}}},
         {32, 1000},
         65536,
         0,
         "mm:2048000 sum:4000"},
        {"linear_frozen",
         "linear",
         {{{32, 512}}, {{1000, 512}, false}, {{1000}, false}},
         {32, 1000},
         2048000,
         0,
         "mm:65536"},
        {"addmm", "addmm", {{{4, 80}}, {{80, 50}}, {{50}}}, {4, 50}, 1280 + 16000, 0, "mm:1280 mm:16000 sum:200"},
        {"matmul_2d", "matmul", {{{64, 128}}, {{128, 32}}}, {64, 32}, 49152, 0, "mm:16384 mm:32768"},
        {"matmul_3d_2d", "matmul", {{kTokens}, {{256, 64}}}, {8, 128, 64}, 1114112, 0, "mm:65536 mm:1048576"},
        {"matmul_2d_3d",
         "matmul",
         {{{4, 8}}, {{2, 8, 16}}},
         {2, 4, 16},
         128 + 1024,
         1024,
         "clone:512 mm:128 mm:1024 clone:1024"},
        {"matmul_2d_3d_frozen", "matmul", {{{4, 8}, false}, {{2, 8, 16}}}, {2, 4, 16}, 128, 0, "bmm:1024"},
        {"matmul_4d", "matmul", {{kHeads}, {{8, 4, 64, 128}}}, kScores, 2097152, 0, "bmm:1048576 bmm:1048576"},
        {"matmul_broadcast",
         "matmul",
         {{{2, 3, 4, 8}}, {{1, 3, 8, 5}}},
         {2, 3, 4, 5},
         960 + 768,
         960,
         "bmm:960 bmm:768 sum:480"},
        {"matmul_broadcast_3d", "matmul", {{{2, 4, 8}}, {{1, 8, 5}}}, {2, 4, 5}, 256 + 160, 0, "mm:160 mm:256"},
        {"grouped_rows",
         "grouped_mm",
         {{{12, 8}}, {{3, 8, 16}}, kEnds},
         {12, 16},
         384 + 1536 + 12,
         0,
         "_grouped_mm:1536 _grouped_mm:384"},
        {"grouped_inner",
         "grouped_mm",
         {{{8, 12}}, {{12, 16}}, kEnds},
         {3, 8, 16},
         384 + 768 + 12,
         0,
         "_grouped_mm:768 _grouped_mm:384"},
        {"grouped_columns",
         "grouped_mm",
         {{{3, 4, 8}}, {{8, 12}}, kEnds},
         {4, 12},
         384 + 384 + 12,
         0,
         "_grouped_mm:384 _grouped_mm:384"},
        {"matmul_vector", "matmul", {{{2, 4, 80}}, {{80}}}, {2, 4}, 2560 + 320, 0, "mul:2560 mv:320"},
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Norm, OperatorTest,
    testing::ValuesIn(std::vector<OperatorCase>{
        {"batch_norm",
         "batch_norm",
         {{kX}, {kChannels}, {kChannels}, {kChannels, false}, {kChannels, false}},
         kX,
         6422528 + 3 * 256 + 512,
         512,
         "cudnn_batch_norm_backward:6422528 cudnn_batch_norm_backward:256 cudnn_batch_norm_backward:256"},
        {"batch_norm_eval",
         "batch_norm",
         {{kX}, {kChannels}, {kChannels}, {kChannels, false}, {kChannels, false}},
         kX,
         6422528 + 3 * 256,
         0,
         "native_batch_norm_backward:6422528 native_batch_norm_backward:256 native_batch_norm_backward:256",
         {{"training", int64_t{0}}}},
        {"batch_norm_eval_of_rows",
         "batch_norm",
         {{{32, 64}}, {kChannels}, {kChannels}, {kChannels, false}, {kChannels, false}},
         {32, 64},
         8192 + 3 * 256 + 512,
         512,
         "native_batch_norm_backward:8192 native_batch_norm_backward:256 native_batch_norm_backward:256",
         {{"training", int64_t{0}}}},
        {"batch_norm_plain", "batch_norm", {{kX}}, kX, 6422528 + 512, 512, "native_batch_norm_backward:6422528"},
        {"layer_norm",
         "layer_norm",
         {{kTokens}, {{256}}, {{256}}},
         kTokens,
         1048576 + 1024 + 8192,
         8192,
         "native_layer_norm_backward:1048576 native_layer_norm_backward:1024 native_layer_norm_backward:1024"},
        {"group_norm",
         "group_norm",
         {{kX}, {kChannels}, {kChannels}},
         kX,
         6422528 + 256 + 512,
         512,
         "native_group_norm_backward:6422528 native_group_norm_backward:256 native_group_norm_backward:256",
         {{"groups", int64_t{8}}}},
        {"rms_norm",
         "rms_norm",
         {{kTokens}, {{256}}},
         kTokens,
         1048576 + 1024 + 4096,
         4096,
         "_fused_rms_norm_backward:1048576 _fused_rms_norm_backward:1024"},
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    PoolAndSoftmax, OperatorTest,
    testing::ValuesIn(std::vector<OperatorCase>{
        {"max_pool", "max_pool", {{kX}}, kHalf, 9633792, 3211264, "max_pool2d_with_indices_backward:6422528"},
        {"max_pool_1d", "max_pool", {{{2, 8, 10}}}, {2, 8, 5}, 640 + 640, 640, "max_pool2d_with_indices_backward:640"},
        {"avg_pool", "avg_pool", {{kX}}, kHalf, 6422528, 0, "avg_pool2d_backward:6422528"},
        {"global_avg_pool", "adaptive_avg_pool", {{kX}}, {8, 64, 1, 1}, 0, 0, "div:6422528"},
        {"adaptive_avg_pool",
         "adaptive_avg_pool",
         {{kX}},
         {8, 64, 7, 7},
         6422528,
         0,
         "_adaptive_avg_pool2d_backward:6422528"},
        {"adaptive_max_pool",
         "adaptive_max_pool",
         {{kX}},
         {8, 64, 1, 1},
         6426624,
         4096,
         "adaptive_max_pool2d_backward:6422528"},
        {"lp_pool",
         "lp_pool",
         {{{2, 8, 6, 6}}},
         {2, 8, 3, 3},
         4 * 576 + 8 + 2304 + 2304,
         4 * 576 + 8 + 2304,
         "pow:576 mul:576 mul:576 mul:576 mul:576 mul:576 threshold_backward:576 sgn:576 mul:576 zeros_like:576 "
         "avg_pool2d_backward:2304 pow:2304 mul:2304 mul:2304"},
        {"softmax", "softmax", {{kX}}, kX, 6422528, 6422528, "_softmax_backward_data:6422528"},
        {"log_softmax", "log_softmax", {{kX}}, kX, 6422528, 6422528, "_log_softmax_backward_data:6422528"},
        {"dropout", "dropout", {{kX}}, kX, 1605632, 1605632, "native_dropout_backward:6422528"},
        {"dropout_in_place", "dropout", {{kX}}, kX, 6422528, 6422528, "mul:6422528", {{"inplace", int64_t{1}}}},
        {"feature_dropout", "feature_dropout", {{kX}}, kX, 2048, 2048, "mul:6422528"},
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Reduce, OperatorTest,
    testing::ValuesIn(std::vector<OperatorCase>{
        {"mean", "mean", {{kX}}, {8, 64}, 0, 0, "div:6422528", Axes({2, 3})},
        {"sum", "sum", {{kX}}, {8, 64}, 0, 0, "clone:6422528", Axes({2, 3})},
        {"sum_all", "sum", {{kX}}, {}, 0, 0, "clone:6422528"},
        {"amax",
         "amax",
         {{kX}},
         {8, 56, 56},
         6522880,
         100352,
         "eq:1605632 sum:200704 div:100352 mul:6422528",
         Axes({1})},
        {"max_dim", "max_dim", {{kX}}, {8, 56, 56}, 200704, 200704, "new_zeros:6422528", Axis(1)},
        {"norm", "norm", {{kX}}, {8, 56, 56}, 6522880, 100352, "div:6422528 eq:25088 mul:6422528", Axes({1})},
        {"norm_1",
         "norm",
         {{kX}},
         {8, 56, 56},
         6522880,
         100352,
         "sgn:6422528 mul:6422528",
         {{"axes", std::vector<int64_t>{1}}, {"p", 1.0}}},
        {"prod",
         "prod",
         {{kX}},
         {8, 56, 56},
         6522880,
         100352,
         "ones:100352 cat:6422528 cumprod:6422528 flip:6322176 cat:6422528 cumprod:6422528 flip:6422528 mul:6422528 "
         "mul:6422528",
         Axes({1})},
        {"cumsum", "cumsum", {{kX}}, kX, 0, 0, "flip:6422528 cumsum:6422528 flip:6422528", Axis(1)},
        {"logsumexp",
         "logsumexp",
         {{kX}},
         {8, 56, 56},
         6522880,
         100352,
         "sub:6422528 exp:6422528 mul:6422528",
         Axes({1})},
        {"var", "var", {{{4, 6, 8}}}, {4, 8}, 768, 0, "mean:128 sub:768 mul:128 mul:768", Axes({1})},
        {"std",
         "std",
         {{{4, 60, 80}}},
         {4, 80},
         76800 + 1280,
         1280,
         "mul:1280 div:1280 eq:320 mean:1280 sub:76800 mul:1280 mul:76800",
         Axes({1})},
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Binary, OperatorTest,
    testing::ValuesIn(std::vector<OperatorCase>{
        {"add", "add", {{kX}, {kX}}, kX, 0, 0, "clone:6422528 clone:6422528"},
        {"add_bias", "add", {{kX}, {{64, 1, 1}}}, kX, 0, 0, "sum:256 clone:6422528"},
        {"sub", "sub", {{kX}, {kX}}, kX, 0, 0, "neg:6422528 clone:6422528"},
        {"mul", "mul", {{kX}, {kX}}, kX, 12845056, 0, "mul:6422528 mul:6422528"},
        {"mul_gate", "mul", {{kX}, {{8, 64, 1, 1}}}, kX, 6424576, 0, "mul:6422528 mul:6422528 sum:2048"},
        {"mul_constant", "mul", {{kX}, {{64, 1, 1}, false}}, kX, 256, 0, "mul:6422528"},
        {"div", "div", {{kX}, {kX}}, kX, 12845056, 0, "div:6422528 div:6422528 neg:6422528 mul:6422528 div:6422528"},
        {"div_constant", "div", {{kX}, {{64, 1, 1}, false}}, kX, 256, 0, "div:6422528"},
        {"pow",
         "pow",
         {{kX}, {kX}},
         kX,
         19267584,
         6422528,
         "ge:1605632 eq:1605632 logical_and:1605632 log:6422528 mul:6422528 where:6422528 mul:6422528 sub:6422528 "
         "pow:6422528 mul:6422528 mul:6422528 eq:1605632 where:6422528"},
        {"atan2",
         "atan2",
         {{kX}, {kX}},
         kX,
         12845056,
         0,
         "mul:6422528 mul:6422528 add:6422528 reciprocal:6422528 eq:1605632 masked_fill:6422528 mul:6422528 "
         "mul:6422528 neg:6422528 mul:6422528 mul:6422528"},
        {"maximum",
         "maximum",
         {{kX}, {kX}},
         kX,
         12845056,
         0,
         "gt:1605632 div:6422528 eq:1605632 where:6422528 gt:1605632 div:6422528 eq:1605632 where:6422528"},
        {"clamp_by",
         "clamp_by",
         {{kX}, {{64, 1, 1}}},
         kX,
         6422528 + 256,
         0,
         "gt:1605632 div:6422528 eq:1605632 where:6422528 gt:1605632 div:6422528 eq:1605632 where:6422528 sum:256"},
        {"clamp_by_constant",
         "clamp_by",
         {{kX}, {{1}, false}},
         kX,
         6422528 + 4,
         0,
         "gt:1605632 div:6422528 eq:1605632 where:6422528"},
        {"addcmul",
         "addcmul",
         {{kX}, {{64, 1, 1}}, {kX}},
         kX,
         6422528 + 256,
         0,
         "mul:6422528 mul:6422528 mul:256 mul:6422528 sum:256 clone:6422528"},
        {"where", "where", {{kX, false, kBoolean}, {kX}, {kX}}, kX, 1605632, 0, "where:6422528 where:6422528"},
        {"where_number", "where", {{kX, false, kBoolean}, {kX}, kNone}, kX, 1605632, 0, "where:6422528"},
        {"masked_fill", "masked_fill", {{kX}, {kX, false, kBoolean}}, kX, 1605632, 0, "masked_fill:6422528"},
        {"prelu",
         "prelu",
         {{kX}, {kChannels}},
         kX,
         6422528 + 256,
         0,
         "_prelu_kernel_backward:6422528 _prelu_kernel_backward:6422528 sum:256"},
        {"remainder", "remainder", {{kX}, {kX}}, kX, 12845056, 0, "div:6422528 neg:6422528 mul:6422528 clone:6422528"},
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    ShapeOperators, OperatorTest,
    testing::ValuesIn(std::vector<OperatorCase>{
        {"cat", "cat", {{kX}, {kX}}, {8, 128, 56, 56}, 0, 0, "clone:6422528 clone:6422528", Axis(1)},
        {"stack", "stack", {{kX}, {kX}}, {8, 2, 64, 56, 56}, 0, 0, "clone:6422528 clone:6422528", Axis(1)},
        {"pad_constant", "pad", {{kX}}, {8, 64, 58, 58}, 0, 0, "constant_pad_nd:6422528"},
        {"pad_reflect",
         "pad",
         {{kX}},
         {8, 64, 58, 58},
         6422528,
         0,
         "reflection_pad_backward:6422528",
         {{"mode", std::string("reflect")}}},
        {"roll", "roll", {{kX}}, kX, 0, 0, "roll:6422528"},
        {"flip", "flip", {{kX}}, kX, 0, 0, "flip:6422528"},
        {"repeat", "repeat", {{{4, 6, 8}}}, {8, 6, 8}, 0, 0, "sum:768"},
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Select, OperatorTest,
    testing::ValuesIn(std::vector<OperatorCase>{
        {"embedding",
         "embedding",
         {{{1000, 256}}, {{8, 128}, false, kInt}},
         kTokens,
         8192,
         0,
         "embedding_dense_backward:1024000"},
        {"index_select", "index_select", {{{1000, 256}}, {{64}, false, kInt}}, {64, 256}, 512, 0, "new_zeros:1024000"},
        {"index", "index", {{{1000, 256}}, {{64}, false, kInt}}, {64, 256}, 512, 0, "new_zeros:1024000"},
        {"gather", "gather", {{{64, 256}}, {{64, 8}, false, kInt}}, {64, 8}, 69632, 0, "new_zeros:65536"},
        {"scatter",
         "scatter",
         {{{64, 256}}, {{64, 8}, false, kInt}, {{64, 8}}},
         {64, 256},
         4096,
         0,
         "scatter:65536 gather:2048"},
        {"scatter_number", "scatter", {{{64, 256}}, {{64, 8}, false, kInt}}, {64, 256}, 4096, 0, "scatter:65536"},
        {"scatter_add",
         "scatter_add",
         {{{64, 256}}, {{64, 8}, false, kInt}, {{64, 8}}},
         {64, 256},
         4096,
         0,
         "gather:2048 clone:65536"},
        {"block_diag", "block_diag", {{{64, 32}}, {{16, 8}}}, {80, 40}, 0, 0, "clone:512 clone:8192"},
        {"masked_scatter",
         "masked_scatter",
         {{{64, 256}}, {{64, 256}, false, kBoolean}, {{8, 256}}},
         {64, 256},
         16384,
         0,
         "masked_fill:65536 masked_select:8192"},
        {"masked_select",
         "masked_select",
         {{{64, 256}}, {{64, 256}, false, kBoolean}},
         {100},
         65536 + 16384,
         0,
         "zeros_like:65536"},
        {"index_put",
         "index_put",
         {{{4, 6, 8}}, {{3, 6, 8}}, {{3}, false, kInt}},
         {4, 6, 8},
         24,
         0,
         "zeros:576 index_put:768 index:576"},
        {"copy_into_a_part",
         "copy_into",
         {{{4, 6, 8}}, {{3, 6, 8}}},
         {4, 6, 8},
         0,
         0,
         "new_empty_strided:768 clone:576 zeros_like:576"},
        {"copy_into_all", "copy_into", {{{4, 6, 8}}, {{4, 6, 8}}}, {4, 6, 8}, 0, 0, "zeros_like:768 clone:768"},
        {"topk", "topk", {{kX}}, {8, 4, 56, 56}, 802816, 802816, "new_zeros:6422528"},
        {"triu", "triu", {{{4, 6, 8}}}, {4, 6, 8}, 0, 0, "triu:768"},
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Resample, OperatorTest,
    testing::ValuesIn(std::vector<OperatorCase>{
        {"upsample", "upsample", {{kX}}, {8, 64, 112, 112}, 0, 0, "upsample_backward:6422528"},
        {"pixel_shuffle", "pixel_shuffle", {{kX}}, {8, 16, 112, 112}, 0, 0, "pixel_unshuffle:6422528"},
        {"im2col", "im2col", {{{2, 8, 6, 6}}}, {2, 72, 16}, 0, 0, "col2im:2304"},
        {"grid_sample",
         "grid_sample",
         {{{2, 8, 6, 6}}, {{2, 5, 5, 2}}},
         {2, 8, 5, 5},
         2304 + 400,
         0,
         "grid_sampler_backward:2304 grid_sampler_backward:400"},
        {"fake_quantize", "fake_quantize", {{kX}}, kX, 1605632, 1605632, "mul:6422528"},
    }),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Composite, OperatorTest,
    testing::ValuesIn(std::vector<OperatorCase>{
        {"instance_norm",
         "instance_norm",
         {{kX}, {kChannels}, {kChannels}},
         kX,
         6422528 + 3 * 2048,
         3 * 2048,
         "cudnn_batch_norm_backward:6422528 cudnn_batch_norm_backward:2048 cudnn_batch_norm_backward:2048 sum:256 "
         "sum:256"},
        {"local_response_norm",
         "local_response_norm",
         {{{2, 8, 6, 6}}},
         {2, 8, 6, 6},
         3 * 2304 + 2880 + 8,
         2 * 2304 + 2880 + 8,
         "div:2304 div:2304 neg:2304 mul:2304 div:2304 pow:2304 mul:2304 mul:2304 mul:2304 avg_pool3d_backward:2880 "
         "constant_pad_nd:2304 mul:2304 mul:2304",
         {{"size", int64_t{3}}}},
        {"lp_normalize",
         "lp_normalize",
         {{{2, 8, 6, 6}}},
         {2, 8, 6, 6},
         2304 + 2 * 288,
         2 * 288,
         "div:2304 div:2304 neg:2304 mul:2304 div:2304 sum:288 gt:72 where:288 div:2304 eq:72 mul:2304",
         Axis(1)},
        {"weight_norm",
         "weight_norm",
         {{{64, 16, 8}}, {{64, 1, 1}}},
         {64, 16, 8},
         32768 + 2 * 256,
         256,
         "_weight_norm_interface_backward:32768 _weight_norm_interface_backward:256"},
        {"einsum_heads",
         "einsum",
         {{kHeads}, {kHeads}},
         kScores,
         2097152,
         0,
         "bmm:1048576 bmm:1048576 clone:1048576",
         {{"equation", std::string("bhid,bhjd->bhij")}}},
        {"einsum_tokens",
         "einsum",
         {{{8, 128, 4, 64}}, {{8, 128, 4, 64}}},
         kScores,
         2097152,
         2097152,
         "bmm:1048576 bmm:1048576 clone:1048576 clone:1048576",
         {{"equation", std::string("bihd,bjhd->bhij")}}},
        {"einsum_linear",
         "einsum",
         {{{2, 4, 8}}, {{8, 16}}},
         {2, 4, 16},
         256 + 512,
         0,
         "bmm:512 bmm:256",
         {{"equation", std::string("btd,de->bte")}}},
        {"einsum_sum", "einsum", {{{4, 6, 8}}}, {4, 8}, 0, 0, "clone:768", {{"equation", std::string("bij->bj")}}},
        {"index_add",
         "index_add",
         {{{4, 128, 128}, false}, {{128}, false, kInt}, {{4, 128, 128}}},
         {4, 128, 128},
         1024 + 262144,
         0,
         "index_select:262144",
         Axis(1)},
        {"scatter_reduce",
         "scatter_reduce",
         {{{4, 128, 128}, false}, {{4, 128, 128}, false, kInt}, {{4, 128, 128}}},
         {4, 128, 128},
         262144 + 524288 + 262144 + 262144,
         262144,
         "gather:262144",
         {{"reduction", std::string("add")}}},
        {"scatter_amax",
         "scatter_reduce",
         {{{4, 128, 128}, false}, {{4, 128, 128}, false, kInt}, {{4, 128, 128}}},
         {4, 128, 128},
         262144 + 524288 + 262144 + 262144,
         262144,
         "gather:262144 eq:65536 _to_copy:262144 eq:65536 _to_copy:262144 scatter_add:262144 div:262144 eq:65536 "
         "mul:262144 gather:262144 eq:65536 mul:262144",
         {{"reduction", std::string("max")}}},
        {"embedding_bag",
         "embedding_bag",
         {{{5000, 128}}, {{64, 64}, false, kInt}},
         {64, 128},
         512 + 32768 + 512 + 32768,
         512 + 32768 + 512,
         "_embedding_bag_backward:2560000",
         {{"mode", std::string("mean")}}},
        {"embedding_bag_max",
         "embedding_bag",
         {{{5000, 128}}, {{64, 64}, false, kInt}},
         {64, 128},
         512 + 32768 + 512 + 65536 + 32768,
         512 + 32768 + 512 + 65536,
         "_embedding_bag_backward:2560000",
         {{"mode", std::string("max")}}},
        {"nan_to_num",
         "nan_to_num",
         {{{4, 128, 128}}},
         {4, 128, 128},
         262144,
         0,
         "abs:262144 ne:65536 eq:65536 mul:65536 mul:262144"},
        {"norm_of_third_powers",
         "norm",
         {{{4, 128, 128}}},
         {4, 128, 1},
         262144 + 2048,
         2048,
         "abs:262144 mul:262144 pow:2048 div:2048 eq:512 mul:262144",
         {{"axes", std::vector<int64_t>{2}}, {"p", 3.0}}},
        {"logcumsumexp",
         "logcumsumexp",
         {{{4, 128, 128}}},
         {4, 128, 128},
         2 * 262144,
         262144,
         "abs:262144 log:262144 gt:65536 where:262144 lt:65536 where:262144 sub:262144 flip:262144 logcumsumexp:262144 "
         "flip:262144 add:262144 exp:262144 sub:262144 flip:262144 logcumsumexp:262144 flip:262144 add:262144 "
         "exp:262144 sub:262144"},
        {"solve",
         "solve",
         {{{8, 16, 16}}, {{8, 4, 16}}},
         {8, 4, 16},
         2 * 8192 + 512 + 2048,
         8192 + 512 + 2048,
         "linalg_lu_solve:2048 bmm:8192 neg:8192",
         {{"left", int64_t{0}}}},
        {"diagonal", "diagonal", {{{4, 128, 128}}}, {4, 128}, 0, 0, "diagonal_backward:262144"},
        {"windows", "unfold", {{{4, 64, 16}}}, {4, 31, 16, 4}, 0, 0, "unfold_backward:16384", Axis(1)},
        {"outer_product",
         "einsum",
         {{{4, 128}}, {{4, 128}}},
         {4, 128, 128},
         2 * 2048,
         0,
         "mul:262144 mul:262144 sum:2048 sum:2048",
         {{"equation", std::string("bi,bj->bij")}}},
        {"lstm_cell",
         "lstm_cell",
         {{{64, 32}, false}, {{64, 96}}, {{64, 96}}, {{384, 32}}, {{384, 96}}, {{384}}, {{384}}},
         {64, 96},
         24576 + 98304 + 1536 + 98304 + 1536 + 24576 + 98304 + 8192 + 24576 + 147456,
         98304 + 98304 + 24576 + 98304,
         "_thnn_fused_lstm_cell_backward_impl:98304 _thnn_fused_lstm_cell_backward_impl:24576 "
         "_thnn_fused_lstm_cell_backward_impl:1536 clone:1536 mm:147456 mm:24576 mm:49152"},
        {"fused_lstm_cell",
         "fused_lstm_cell",
         {{{64, 384}}, {{64, 384}}, {{64, 96}}, {{384}}, {{384}}},
         {64, 96},
         98304 + 98304 + 24576 + 1536 + 1536 + 24576 + 98304,
         24576 + 98304,
         "_thnn_fused_lstm_cell_backward_impl:98304 _thnn_fused_lstm_cell_backward_impl:24576 "
         "_thnn_fused_lstm_cell_backward_impl:1536 clone:1536 clone:98304"},
        {"fused_lstm_cell_without_bias",
         "fused_lstm_cell",
         {{{64, 384}}, {{64, 384}}, {{64, 96}}, kNone, kNone},
         {64, 96},
         98304 + 98304 + 24576 + 24576 + 98304,
         24576 + 98304,
         "_thnn_fused_lstm_cell_backward_impl:98304 _thnn_fused_lstm_cell_backward_impl:24576 clone:98304"},
        {"fused_gru_cell",
         "fused_gru_cell",
         {{{64, 288}}, {{64, 288}}, {{64, 96}}, {{288}}, {{288}}},
         {64, 96},
         73728 + 73728 + 24576 + 1152 + 1152 + 122880,
         122880,
         "_thnn_fused_gru_cell_backward:73728 _thnn_fused_gru_cell_backward:73728 "
         "_thnn_fused_gru_cell_backward:24576 _thnn_fused_gru_cell_backward:1152 "
         "_thnn_fused_gru_cell_backward:1152"},
        {"sum_of_windows", "unfold_backward", {{{4, 31, 16, 4}}}, {4, 64, 16}, 0, 0, "clone:31744", Axis(1)},
        {"assumed",
         "assumed",
         {{{4, 6, 8}}, {{6, 8}}},
         {4, 6, 8},
         768 + 192,
         0,
         "assumed_backward:768 assumed_backward:192"},
    }),
    NameOf);

// IndexKernel.cpp, IndexKernel.cu: running sums of the mask, and a dense copy of a mask that is broadcast; of what is
// found a place for each dimension.
TEST(KernelTakesTest, OfScatteringByAMask) {
  using Takes = std::vector<int64_t>;
  OperatorRun run;
  const auto takes = [&run] {
    const Recorder& recorder = run.machine().recorder();
    return recorder.program().steps[recorder.current_step()].kernel_takes;
  };
  const TensorRef x = run.Static({{64, 256}}), source = run.Static({{8, 256}});
  run.One("masked_scatter", {x, run.Static({{64, 256}, false, kBoolean}), source}, {64, 256});
  EXPECT_EQ(takes(), Takes{64 * 256 * 8});
  run.One("masked_scatter", {x, run.Static({{64, 1}, false, kBoolean}), source}, {64, 256});
  EXPECT_EQ(takes(), (Takes{64 * 256 * 8, 64 * 256}));
  run.One("masked_select", {x, run.Static({{64, 1}, false, kBoolean})}, {2048});
  EXPECT_EQ(takes(), Takes{2048 * 8 * 2});
}

// bitsandbytes: few rows are multiplied by what reads the packed weight, since 0.50.0; with scales that are packed too,
// versions before free them when the weight is there.
TEST(PackedLinearTest, UnpacksByVersion) {
  const auto forward = [](int64_t rows, bool grad, int64_t unpacks) {
    OperatorRun run;
    const Attributes attributes = {
        {"features", int64_t{32}}, {"depth", int64_t{64}}, {"packed_scales", int64_t{32}}, {"unpacks", unpacks}};
    const TensorRef x = run.Static({{rows, 64}, grad}), weight = run.Static({{32, 32}, false, DType::kUInt8});
    const size_t before = run.buffers();
    run.One("packed_linear", {x, weight}, {rows, 32}, attributes);
    return run.Allocations(before);
  };
  EXPECT_EQ(forward(2, true, 0), "gemm_4bit:256");
  EXPECT_EQ(forward(2, true, 1), "dequantize_blockwise:128 dequantize_4bit:8192 mm:256");
  EXPECT_EQ(forward(1, false, 1), "gemm_4bit:128");
  EXPECT_EQ(forward(1, true, 1), "dequantize_blockwise:128 dequantize_4bit:8192 mm:128");
  EXPECT_EQ(forward(8, true, 0), "dequantize_blockwise:128 dequantize_blockwise:128 dequantize_4bit:8192 mm:1024");
}

// The executor makes a tensor of the size that the file states.
TEST(MisfitTest, WhatDoesNotFitIsLeftToTheFile) {
  OperatorRun run;
  const TensorRef x = run.Static({kTokens}), image = run.Static({kX});
  EXPECT_EQ(run.One("permute", {x}, kX, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}), nullptr);
  EXPECT_EQ(run.One("cat", {image, x}, kX, Axis(3)), nullptr);
}

}  // namespace
}  // namespace onnx_mem::eager
