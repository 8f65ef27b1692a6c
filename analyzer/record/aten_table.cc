#include "analyzer/record/aten_table.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem::record {
namespace {

// --- arguments in their order

void Factory(AtenCall& c) {
  if (!c.result_strides.empty()) c.node.attributes["strides"] = c.result_strides;
}
// empty_like(x), x.new_zeros(...): of the type of x, which is another one under autocast.
void FactoryLike(AtenCall& c) {
  Factory(c);
  if (!c.IsTensor(0) || c.graph.tensors[c.Tensor(0)].dtype != c.result().dtype) return;
  c.TakeInputs({0});
  c.node.attributes["like_input"] = int64_t{1};
}
void One(AtenCall& c) { c.TakeInputs({0}); }
void Two(AtenCall& c) { c.TakeInputs({0, 1}); }
void Three(AtenCall& c) { c.TakeInputs({0, 1, 2}); }

// --- arithmetic

// A number in the place of the second operand: another operator, with one input.
void Arithmetic(AtenCall& c) {
  const bool by_tensor = c.IsTensor(1);
  if (by_tensor && !c.IsTensor(0)) {
    c.TakeInputs({1});
  } else if (by_tensor) {
    c.TakeInputs({0, 1});
  } else {
    c.TakeInputs({0});
  }
  if (c.node.inputs.size() < 2) c.node.op = c.node.op.str() + "_scalar";
  if (c.Has(c.num_arguments(), "alpha")) c.node.attributes["alpha"] = c.Float(c.num_arguments(), "alpha", 1.0);
}

void DivideByMode(AtenCall& c) {
  if (c.Text(c.num_arguments(), "rounding_mode").empty()) {
    c.node.op = "div";
    return Arithmetic(c);
  }
  c.TakeInputs({0, 1});
  if (!c.IsTensor(1)) c.node.op = "zeros_like";  // the gradient of a rounded quotient is zero
}

void ReversedSubtract(AtenCall& c) {
  if (!c.IsTensor(1)) {
    c.TakeInputs({0});
    return;
  }
  c.node.op = "sub";
  c.TakeInputs({1, 0});
}

void PowerByNumber(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["exponent"] = c.Float(1, "exponent", 2.0);
}
void PowerOfNumber(AtenCall& c) { c.TakeInputs({1}); }

void Clamp(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["two_sided"] = int64_t{c.Has(1, "min") && c.Has(2, "max")};
}
void ClampOneSide(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["two_sided"] = int64_t{0};
}

void Lerp(AtenCall& c) {
  c.TakeInputs({0, 1});
  if (c.IsTensor(2)) c.TakeInputs({2});
}

void MaskedFill(AtenCall& c) { c.TakeInputs({0, 1}); }

// --- views

void Transpose(AtenCall& c) {
  c.TakeInputs({0});
  const int64_t rank = c.IsTensor(0) ? c.rank(c.Tensor(0)) : 0;
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  const bool named = c.num_arguments() > 2;  // t() has no dimensions
  const int64_t a = c.Axis(named ? c.Int(1, "dim0", 0) : 0, rank), b = c.Axis(named ? c.Int(2, "dim1", 1) : 1, rank);
  if (a >= 0 && a < rank && b >= 0 && b < rank) std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  c.node.attributes["perm"] = perm;
}

void Permute(AtenCall& c) {
  c.TakeInputs({0});
  const int64_t rank = c.IsTensor(0) ? c.rank(c.Tensor(0)) : 0;
  std::vector<int64_t> perm = c.Ints(1, "dims");
  for (int64_t& axis : perm) axis = c.Axis(axis, rank);
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) perm.clear();
  }
  c.node.attributes["perm"] = perm;
}

void WithAxis(AtenCall& c, size_t place, int64_t fallback) {
  c.TakeInputs({0});
  const int64_t rank = c.IsTensor(0) ? c.rank(c.Tensor(0)) : 0;
  c.node.attributes["axis"] = c.Axis(c.Int(place, "dim", fallback), rank);
}
void FirstAxis(AtenCall& c) { WithAxis(c, 1, 0); }
void LastAxis(AtenCall& c) { WithAxis(c, 1, -1); }
void SecondPlaceAxis(AtenCall& c) { WithAxis(c, 2, 0); }

void Select(AtenCall& c) {
  WithAxis(c, 1, 0);
  c.node.attributes["index"] = c.Int(2, "index", 0);
}

void Slice(AtenCall& c) {
  c.TakeInputs({0});
  if (!c.IsTensor(0)) return;
  const Dims& dims = c.graph.tensors[c.Tensor(0)].shape.dims;
  const int64_t axis = c.Axis(c.Int(1, "dim", 0), static_cast<int64_t>(dims.size()));
  if (axis < 0 || axis >= static_cast<int64_t>(dims.size())) return;
  const int64_t size = dims[static_cast<size_t>(axis)];
  const int64_t start = c.Has(2, "start") ? std::clamp<int64_t>(c.Axis(c.Int(2, "start", 0), size), 0, size) : 0;
  c.node.attributes["axes"] = std::vector<int64_t>{axis};
  c.node.attributes["starts"] = std::vector<int64_t>{start};
  c.node.attributes["steps"] = std::vector<int64_t>{c.Int(4, "step", 1)};
}

// at::alias: a slice of everything.
void Alias(AtenCall& c) {
  c.TakeInputs({0});
  for (const char* name : {"axes", "starts", "steps"}) c.node.attributes[name] = std::vector<int64_t>{};
}

void AsStrided(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["strides"] = c.Ints(2, "stride");
}

void Clone(AtenCall& c) {
  c.TakeInputs({0});
  const std::string format = c.Text(c.num_arguments(), "memory_format");
  if (format == "contiguous_format") c.node.attributes["contiguous"] = int64_t{1};
  if (absl::StartsWith(format, "channels_last")) c.node.attributes["channels_last"] = int64_t{1};
}

// A cast; with the dtype that is there already a copy to another device or format.
void ToCopy(AtenCall& c) {
  if (!c.IsTensor(0)) {  // from the host
    c.node.op = "full";
    return Factory(c);
  }
  if (c.graph.tensors[c.Tensor(0)].dtype == c.result().dtype) {
    c.node.op = "clone";
    return Clone(c);
  }
  c.TakeInputs({0});
}

// --- matrices, convolutions

void Addmm(AtenCall& c) { c.TakeInputs({1, 2, 0}); }

void Baddbmm(AtenCall& c) {
  c.TakeInputs({0, 1, 2});
  c.node.attributes["beta"] = c.Float(c.num_arguments(), "beta", 1.0);
  c.node.attributes["alpha"] = c.Float(c.num_arguments(), "alpha", 1.0);
}

void Convolution(AtenCall& c) {
  c.TakeInputs({0, 1, 2});
  if (c.Flag(6, "transposed", false)) c.node.op = "conv_transpose";
  c.node.attributes["stride"] = c.Ints(3, "stride");
  c.node.attributes["pad"] = c.Ints(4, "padding");
  c.node.attributes["dilation"] = c.Ints(5, "dilation");
  c.node.attributes["group"] = c.Int(8, "groups", 1);
}

// --- norms

void LayerNorm(AtenCall& c) {
  c.TakeInputs({0, 2, 3});
  c.node.attributes["axis"] = -static_cast<int64_t>(c.Ints(1, "normalized_shape").size());
}

void RmsNorm(AtenCall& c) {
  c.TakeInputs({0, 2});
  c.node.attributes["axis"] = -static_cast<int64_t>(c.Ints(1, "normalized_shape").size());
}

void BatchNorm(AtenCall& c) {
  c.TakeInputs({0, 1, 2, 3, 4});
  c.node.attributes["training"] = int64_t{c.Flag(5, "training", true)};
}

void BatchNormWithUpdate(AtenCall& c) {
  c.TakeInputs({0, 1, 2, 3, 4});
  c.node.attributes["training"] = int64_t{1};
}

void GroupNorm(AtenCall& c) {
  c.TakeInputs({0, 1, 2});
  c.node.attributes["groups"] = c.Int(6, "group", 1);
}

// --- reductions

void AllAxes(AtenCall& c) { c.TakeInputs({0}); }
void Axes(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["axes"] = c.Ints(1, "dim");
}
void VectorNorm(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["p"] = c.Float(1, "ord", 2.0);
  c.node.attributes["axes"] = c.Ints(2, "dim");
}

// --- choosing by index

void Index(AtenCall& c) {
  c.TakeInputs({0});
  for (TensorId id : c.Tensors(1, "indices")) {
    if (id.valid()) c.node.inputs.push_back(id);
  }
}

void IndexPut(AtenCall& c) {
  c.TakeInputs({0, 2});
  for (TensorId id : c.Tensors(1, "indices")) {
    if (id.valid()) c.node.inputs.push_back(id);
  }
  c.node.attributes["accumulate"] = int64_t{c.Flag(3, "accumulate", false)};
}

void ByAxisAndIndex(AtenCall& c) {
  c.TakeInputs({0, 2, 3});
  const int64_t rank = c.IsTensor(0) ? c.rank(c.Tensor(0)) : 0;
  c.node.attributes["axis"] = c.Axis(c.Int(1, "dim", 0), rank);
}

void ScatterReduce(AtenCall& c) {
  ByAxisAndIndex(c);
  const std::string reduce = c.Text(4, "reduce");
  c.node.attributes["reduction"] = std::string(absl::StrContains(reduce, "sum") ? "add" : "max");
}

void Gather(AtenCall& c) {
  c.TakeInputs({0, 2});
  c.node.attributes["axis"] = c.Int(1, "dim", 0);
}

// --- shapes

// torch.cat leaves out an empty cache, of shape [0], whatever the others' rank (TensorShape.cpp).
bool IsLeftOutOfCat(const AtenCall& c, TensorId id) {
  const Shape& shape = c.graph.tensors[id].shape;
  return shape.rank() == 1 && shape.dims[0] == 0;
}

void Cat(AtenCall& c) {
  c.node.inputs = c.Tensors(0, "tensors");
  EraseIf(c.node.inputs, [&](TensorId id) { return IsLeftOutOfCat(c, id); });
  if (c.node.inputs.empty()) c.node.inputs = c.Tensors(0, "tensors");
  c.node.attributes["result_type"] = int64_t{1};
  c.node.attributes["axis"] = c.Axis(c.Int(1, "dim", 0), c.rank(c.node.outputs[0]));
}

void Stack(AtenCall& c) {
  c.node.inputs = c.Tensors(0, "tensors");
  c.node.attributes["axis"] = c.Int(1, "dim", 0);
}

void ConstantPad(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["mode"] = std::string("constant");
}
void Pad(AtenCall& c) {
  c.TakeInputs({0});
  const bool constant = !c.Has(2, "mode") || c.Text(2, "mode") == "constant";
  c.node.attributes["mode"] = std::string(constant ? "constant" : "reflect");
}
void MirrorPad(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["mode"] = std::string("reflect");
}

void UpsampleNearest(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["mode"] = std::string("nearest");
}
void UpsampleLinear(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["mode"] = std::string("linear");
}

void Pool(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["kernel"] = c.Ints(1, "kernel_size");
  c.node.attributes["stride"] = c.Ints(2, "stride");
}

// --- complex numbers

// _fft_r2c(x, dim, normalization, onesided) and its like.
void Transform(AtenCall& c) {
  c.TakeInputs({0});
  const int64_t rank = c.IsTensor(0) ? c.rank(c.Tensor(0)) : 0;
  std::vector<int64_t> axes = c.Ints(1, "dim");
  for (int64_t& axis : axes) axis = c.Axis(axis, rank);
  c.node.attributes["axes"] = axes;
}
void TransformOfReal(AtenCall& c) {
  Transform(c);
  c.node.attributes["half"] = int64_t{c.Flag(3, "onesided", true)};
}

void Absolute(AtenCall& c) {
  c.TakeInputs({0});
  if (c.IsTensor(0) && IsComplex(c.graph.tensors[c.Tensor(0)].dtype)) c.node.op = "abs_of_complex";
}

// --- softmax, dropout, attention

void Softmax(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["axis"] = c.Int(1, "dim", -1);
  c.node.attributes["half_to_float"] = int64_t{c.Flag(2, "half_to_float", false)};
}

void Dropout(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["p"] = c.Float(1, "p", 0.5);
}

// Another kernel runs in half precision, or where the user says so.
std::string KernelOf(const AtenCall& c, std::string_view recorded) {
  switch (c.run.attention) {
    case AttentionKernel::kMath: return "math";
    case AttentionKernel::kFlash: return "flash";
    case AttentionKernel::kEfficient: return "efficient";
    case AttentionKernel::kAuto:
    case AttentionKernel::kEager: break;
  }
  const bool half = (c.run.dtype && IsHalf(*c.run.dtype)) || (c.run.autocast && IsHalf(*c.run.autocast));
  if (half && recorded == "efficient" && !c.IsTensor(3)) return "flash";
  return std::string(recorded);
}

void EfficientAttention(AtenCall& c) {
  c.TakeInputs({0, 1, 2, 3});
  c.node.attributes["dropout"] = c.Float(5, "dropout_p", 0.0);
  c.node.attributes["causal"] = int64_t{c.Flag(6, "is_causal", false)};
  c.node.attributes["kernel"] = KernelOf(c, "efficient");
}

void FlashAttention(AtenCall& c) {
  c.TakeInputs({0, 1, 2});
  c.node.attributes["dropout"] = c.Float(3, "dropout_p", 0.0);
  c.node.attributes["causal"] = int64_t{c.Flag(4, "is_causal", false)};
  c.node.attributes["kernel"] = KernelOf(c, "flash");
}

// --- recurrent layers: lstm(x, [h, c], [weights], has_biases, layers, dropout, train, bidirectional, batch_first)

void Recurrent(AtenCall& c) {
  c.TakeInputs({0});
  TensorIds states = c.Tensors(1, "hx");
  if (states.empty()) states.push_back(c.Tensor(1, "hx"));
  const TensorIds weights = c.Tensors(2, "params");
  c.node.inputs.insert(c.node.inputs.end(), states.begin(), states.end());
  c.node.inputs.insert(c.node.inputs.end(), weights.begin(), weights.end());
  c.node.attributes["states"] = static_cast<int64_t>(states.size());
  c.node.attributes["biases"] = int64_t{c.Flag(3, "has_biases", true)};
  c.node.attributes["layers"] = c.Int(4, "num_layers", 1);
  c.node.attributes["p"] = c.Flag(6, "train", false) ? c.Float(5, "dropout", 0.0) : 0.0;
  c.node.attributes["bidirectional"] = int64_t{c.Flag(7, "bidirectional", false)};
  c.node.attributes["batch_first"] = int64_t{c.Flag(8, "batch_first", false)};
  c.node.attributes["kind"] = c.line.name.substr(0, c.line.name.find('.'));
}

// --- the rows

constexpr auto kFactories = std::to_array<std::string_view>({"arange",
                                                             "arange.start",
                                                             "arange.start_step",
                                                             "empty.memory_format",
                                                             "empty_strided",
                                                             "eye",
                                                             "eye.m",
                                                             "full",
                                                             "linspace",
                                                             "logspace",
                                                             "ones",
                                                             "rand",
                                                             "randint",
                                                             "randint.low",
                                                             "randn",
                                                             "randperm",
                                                             "scalar_tensor",
                                                             "tril_indices",
                                                             "triu_indices",
                                                             "zeros",
                                                             "_efficientzerotensor",
                                                             "multinomial",
                                                             "normal.float_float",
                                                             "hann_window"});
constexpr auto kFactoriesLike = std::to_array<std::string_view>(
    {"bernoulli", "bernoulli.p", "empty_like", "full_like", "new_empty", "new_empty_strided", "new_full", "new_ones",
     "new_zeros", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like"});

// What writes numbers over a tensor.
constexpr auto kOverwrites = std::to_array<std::string_view>(
    {"bernoulli.float", "bernoulli.Tensor", "cauchy", "exponential", "fill.Scalar", "fill.Tensor", "geometric",
     "log_normal", "normal", "random", "random.from", "random.to", "uniform", "zero"});

constexpr auto kCompareWithNumber =
    std::to_array<std::string_view>({"eq.Scalar", "ge.Scalar", "gt.Scalar", "le.Scalar", "lt.Scalar", "ne.Scalar"});
constexpr auto kCompareWithTensor =
    std::to_array<std::string_view>({"eq.Tensor", "ge.Tensor", "gt.Tensor", "le.Tensor", "lt.Tensor", "ne.Tensor"});

constexpr auto kRows = std::to_array<AtenRow>({
    {"_adaptive_avg_pool2d", "adaptive_avg_pool", One},
    {"_adaptive_avg_pool3d", "adaptive_avg_pool", One},
    {"_batch_norm_with_update", "batch_norm", BatchNormWithUpdate},
    {"_conj", "conj", One},
    {"_fft_c2c", "complex_to_complex", Transform},
    {"_fft_c2r", "complex_to_real", Transform},
    {"_fft_r2c", "real_to_complex", TransformOfReal},
    {"_fused_rms_norm", "rms_norm", RmsNorm},
    {"_log_softmax", "log_softmax", Softmax},
    {"_prelu_kernel", "prelu", Two},
    {"_reshape_alias", "reshape", One},
    {"_safe_softmax", "softmax", Softmax},
    {"_scaled_dot_product_efficient_attention", "sdpa", EfficientAttention},
    {"_scaled_dot_product_flash_attention", "sdpa", FlashAttention},
    {"_softmax", "softmax", Softmax},
    {"_to_copy", "cast", ToCopy},
    {"_unsafe_index.Tensor", "index", Index},
    {"_unsafe_view", "unsafe_view", One},
    {"_weight_norm_interface", "weight_norm", Two},
    {"abs", "abs", Absolute},
    {"adaptive_max_pool2d", "adaptive_max_pool", One},
    {"adaptive_max_pool3d", "adaptive_max_pool", One},
    {"add.Scalar", "add", Arithmetic},
    {"add.Tensor", "add", Arithmetic},
    {"addcdiv", "addcdiv", Three},
    {"addcmul", "addcmul", Three},
    {"addmm", "addmm", Addmm},
    {"affine_grid_generator", "affine_grid", One},
    {"alias", "slice", Alias},
    {"all", "all", AllAxes},
    {"all.dim", "all", Axes},
    {"amax", "amax", Axes},
    {"amin", "amin", Axes},
    {"any", "any", AllAxes},
    {"any.dim", "any", Axes},
    {"argmax", "argmax", One},
    {"argmin", "argmin", One},
    {"as_strided", "as_strided", AsStrided},
    {"atan2", "atan2", Two},
    {"avg_pool2d", "avg_pool", Pool},
    {"avg_pool3d", "avg_pool", Pool},
    {"baddbmm", "baddbmm", Baddbmm},
    {"bitwise_and.Scalar", "bitwise", One},
    {"bitwise_and.Tensor", "bitwise", Two},
    {"bitwise_not", "bitwise", One},
    {"bitwise_or.Scalar", "bitwise", One},
    {"bitwise_or.Tensor", "bitwise", Two},
    {"bitwise_xor.Tensor", "bitwise", Two},
    {"bmm", "bmm", Two},
    {"bucketize.Tensor", "bucketize", One},
    {"cat", "cat", Cat},
    {"clamp", "clamp", Clamp},
    {"clamp_max", "clamp", ClampOneSide},
    {"clamp_min", "clamp", ClampOneSide},
    {"clone", "clone", Clone},
    {"complex", "complex", Two},
    {"constant_pad_nd", "pad", ConstantPad},
    {"convolution", "conv", Convolution},
    {"copy", "copy", Two},
    {"cudnn_batch_norm", "batch_norm", BatchNorm},
    {"cumprod", "cumprod", FirstAxis},
    {"cumsum", "cumsum", FirstAxis},
    {"div.Scalar", "div", Arithmetic},
    {"div.Scalar_mode", "floor_divide", DivideByMode},
    {"div.Tensor", "div", Arithmetic},
    {"div.Tensor_mode", "floor_divide", DivideByMode},
    {"dot", "matmul", Two},
    {"embedding", "embedding", Two},
    {"floor_divide", "floor_divide", DivideByMode},
    {"fmod.Scalar", "fmod_scalar", One},
    {"fmod.Tensor", "fmod", Two},
    {"gather", "gather", Gather},
    {"glu", "glu", LastAxis},
    {"grid_sampler_2d", "grid_sample", Two},
    {"gru.input", "recurrent_layers", Recurrent},
    {"gru", "recurrent_layers", Recurrent},
    {"hardtanh", "relu6", One},
    {"index.Tensor", "index", Index},
    {"index_add", "index_add", ByAxisAndIndex},
    {"index_copy", "index_copy", ByAxisAndIndex},
    {"index_put", "index_put", IndexPut},
    {"_unsafe_index_put", "index_put", IndexPut},
    {"index_select", "index_select", Gather},
    {"lerp.Scalar", "lerp", Lerp},
    {"lerp.Tensor", "lerp", Lerp},
    {"lift_fresh", "identity", One},
    {"linalg_vector_norm", "norm", VectorNorm},
    {"log_sigmoid_forward", "logsigmoid", One},
    {"logaddexp", "logaddexp", Two},
    {"logcumsumexp", "logcumsumexp", FirstAxis},
    {"logical_and", "logical", Two},
    {"logical_or", "logical", Two},
    {"logical_xor", "logical", Two},
    {"logsumexp", "logsumexp", Axes},
    {"lstm.input", "recurrent_layers", Recurrent},
    {"lstm", "recurrent_layers", Recurrent},
    {"masked_fill.Scalar", "masked_fill", MaskedFill},
    {"masked_fill.Tensor", "masked_fill", MaskedFill},
    {"matmul", "matmul", Two},
    {"max", "max_all", AllAxes},
    {"max.dim", "max_dim", Axes},
    {"max_pool2d_with_indices", "max_pool", Pool},
    {"max_pool3d_with_indices", "max_pool", Pool},
    {"max_unpool2d", "max_unpool", Two},
    {"maximum", "maximum", Two},
    {"mean", "mean", AllAxes},
    {"mean.dim", "mean", Axes},
    {"min", "max_all", AllAxes},
    {"min.dim", "max_dim", Axes},
    {"minimum", "minimum", Two},
    {"miopen_batch_norm", "batch_norm", BatchNorm},
    {"mm", "matmul", Two},
    {"mse_loss", "mse_loss", Two},
    {"mul.Scalar", "mul", Arithmetic},
    {"mul.Tensor", "mul", Arithmetic},
    {"mv", "matmul", Two},
    {"native_batch_norm", "batch_norm", BatchNorm},
    {"native_dropout", "dropout", Dropout},
    {"native_group_norm", "group_norm", GroupNorm},
    {"native_layer_norm", "layer_norm", LayerNorm},
    {"nll_loss2d_forward", "nll_loss", Two},
    {"nll_loss_forward", "nll_loss", Two},
    {"pad", "pad", Pad},
    {"permute", "permute", Permute},
    {"polar", "polar", Two},
    {"pow.Scalar", "rpow_scalar", PowerOfNumber},
    {"pow.Tensor_Scalar", "pow_scalar", PowerByNumber},
    {"pow.Tensor_Tensor", "pow", Two},
    {"prod", "prod", AllAxes},
    {"prod.dim_int", "prod", Axes},
    {"reflection_pad1d", "pad", MirrorPad},
    {"reflection_pad2d", "pad", MirrorPad},
    {"reflection_pad3d", "pad", MirrorPad},
    {"remainder.Scalar", "remainder_scalar", One},
    {"remainder.Tensor", "remainder", Two},
    {"replication_pad1d", "pad", MirrorPad},
    {"replication_pad2d", "pad", MirrorPad},
    {"replication_pad3d", "pad", MirrorPad},
    {"rnn_relu.input", "recurrent_layers", Recurrent},
    {"rnn_tanh.input", "recurrent_layers", Recurrent},
    {"rnn_relu", "recurrent_layers", Recurrent},
    {"rnn_tanh", "recurrent_layers", Recurrent},
    {"rsub.Scalar", "rsub_scalar", ReversedSubtract},
    {"rsub.Tensor", "rsub_scalar", ReversedSubtract},
    {"scatter.src", "scatter", ByAxisAndIndex},
    {"scatter.value", "scatter", ByAxisAndIndex},
    {"scatter_add", "scatter_add", ByAxisAndIndex},
    {"scatter_reduce.two", "scatter_reduce", ScatterReduce},
    {"select.int", "select", Select},
    {"slice.Tensor", "slice", Slice},
    {"sort", "sort", One},
    {"sort.stable", "sort", One},
    {"split.Tensor", "split", SecondPlaceAxis},
    {"split_with_sizes", "split", SecondPlaceAxis},
    {"squeeze", "squeeze", One},
    {"squeeze.dim", "squeeze", One},
    {"squeeze.dims", "squeeze", One},
    {"stack", "stack", Stack},
    {"std.correction", "std", Axes},
    {"std_mean.correction", "std_mean", Axes},
    {"sub.Scalar", "sub", Arithmetic},
    {"sub.Tensor", "sub", Arithmetic},
    {"sum", "sum", AllAxes},
    {"sum.dim_IntList", "sum", Axes},
    {"t", "permute", Transpose},
    {"topk", "topk", One},
    {"transpose.int", "permute", Transpose},
    {"unbind.int", "unbind", FirstAxis},
    {"unfold", "unfold", FirstAxis},
    {"upsample_bicubic2d", "upsample", UpsampleLinear},
    {"upsample_bicubic2d.vec", "upsample", UpsampleLinear},
    {"upsample_bilinear2d", "upsample", UpsampleLinear},
    {"upsample_bilinear2d.vec", "upsample", UpsampleLinear},
    {"upsample_linear1d", "upsample", UpsampleLinear},
    {"upsample_linear1d.vec", "upsample", UpsampleLinear},
    {"upsample_nearest1d", "upsample", UpsampleNearest},
    {"upsample_nearest1d.vec", "upsample", UpsampleNearest},
    {"upsample_nearest2d", "upsample", UpsampleNearest},
    {"upsample_nearest2d.vec", "upsample", UpsampleNearest},
    {"upsample_nearest3d", "upsample", UpsampleNearest},
    {"upsample_nearest3d.vec", "upsample", UpsampleNearest},
    {"upsample_trilinear3d", "upsample", UpsampleLinear},
    {"upsample_trilinear3d.vec", "upsample", UpsampleLinear},
    {"var.correction", "var", Axes},
    {"var_mean.correction", "var_mean", Axes},
    {"vdot", "matmul", Two},
    {"view", "reshape", One},
    {"view_as_complex", "view_as_complex", One},
    {"view_as_real", "view_as_real", One},
    {"view.dtype", "view_dtype", One},
    {"where.self", "where", Three},
});

std::vector<AtenRow> BuildRows() {
  std::vector<AtenRow> rows(kRows.begin(), kRows.end());
  for (const OpFacts& op : AllOpFacts()) {
    if (IsAtenUnary(op)) rows.push_back({op.name, op.name, One});
  }
  for (std::string_view name : kFactories) rows.push_back({name, "full", Factory});
  for (std::string_view name : kFactoriesLike) rows.push_back({name, "full", FactoryLike});
  for (std::string_view name : kOverwrites) rows.push_back({name, "overwrite", One});
  for (std::string_view name : kCompareWithNumber) rows.push_back({name, "compare", One});
  for (std::string_view name : kCompareWithTensor) rows.push_back({name, "compare", Two});
  return rows;
}

using RowsByName = absl::flat_hash_map<std::string, const AtenRow*>;

RowsByName IndexRows() {
  RowsByName index;
  for (const AtenRow& row : AllAtenRows()) index.emplace(row.aten, &row);
  return index;
}

}  // namespace

const std::vector<AtenRow>& AllAtenRows() {
  static const std::vector<AtenRow>& rows = *new std::vector<AtenRow>(BuildRows());
  return rows;
}

std::string OutOfPlace(std::string_view name) {
  const size_t dot = std::min(name.find('.'), name.size());
  const bool in_place = dot > 1 && name[dot - 1] == '_' && name[0] != '_';
  std::string plain(name.substr(0, in_place ? dot - 1 : dot));
  plain.append(name.substr(dot));
  return plain;
}

const AtenRow* FindAten(std::string_view name) {
  static const RowsByName& index = *new RowsByName(IndexRows());
  const auto found = index.find(OutOfPlace(name));
  return found == index.end() ? nullptr : found->second;
}

}  // namespace onnx_mem::record
