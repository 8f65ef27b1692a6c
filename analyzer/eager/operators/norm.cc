// Normalisation: batch, layer, group and RMS norm, each one operator that also gives its statistics, in float32 for
// half inputs. Composites (instance norm, local response norm, normalize) are in norm_composites.cc. Sources:
// aten/src/ATen/native/Normalization.cpp (_batch_norm_impl_index), layer_norm.cpp, group_norm.cpp, cudnn/BatchNorm.cpp,
// tools/autograd/derivatives.yaml.
#include "analyzer/eager/operators/norm.h"

#include <array>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/views/layout.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

DType StatisticsType(DType t) { return IsHalf(t) ? DType::kFloat32 : t; }

// cuDNN takes float32 parameters only, and float32 or float16 images with one spatial dimension or more.
bool IsCudnnBatchNorm(const EagerTensor& x, const TensorRef& weight) {
  return weight != nullptr && weight->dtype == DType::kFloat32 && x.dtype != DType::kBFloat16 && x.dims.size() > 2;
}

struct NormGradients {
  TensorMeta x;
  Dims x_strides;
  TensorMeta weight = {};
  bool all = false;  // the kernel makes every gradient, wanted or not
};

// dx, dweight and dbias by one operator.
void NormBackward(Backward& b, std::string_view op, const NormGradients& g) {
  b.m.BeginStep(op);
  if (b.needs(0) || g.all) b.result(0, b.m.Allocate(g.x.dims, g.x.dtype, g.x_strides));
  for (size_t edge : {1, 2}) {
    if (b.needs(edge) || g.all) b.result(edge, b.m.Allocate(g.weight.dims, g.weight.dtype));
  }
}

NormGradients GradientsOf(const EagerTensor& x, const Dims& strides, const TensorRef& weight) {
  NormGradients g{.x = {x.dims, x.dtype}, .x_strides = strides};
  if (weight != nullptr) g.weight = {weight->dims, weight->dtype};
  return g;
}

// Beside the result, to a caller that names them.
void GiveStatistics(const std::vector<TensorRef>& statistics, Outputs& out) {
  for (size_t i = 0; i < statistics.size() && i + 1 < out.size(); ++i) out[i + 1] = statistics[i];
}

void EnactBatchNorm(Machine& m, const Call& call, Outputs& out) {
  const bool training = m.run().training && IntAttribute(call.node, "training", 1) != 0;
  std::vector<TensorRef> statistics;
  out[0] = BatchNorm(m, call.input(0), call.input(1), call.input(2), training, call.inplace(), &statistics,
                     {call.input(3), call.input(4)});
  GiveStatistics(statistics, out);
}

void EnactLayerNorm(Machine& m, const Call& call, Outputs& out) {
  const auto rank = static_cast<int64_t>(call.input(0)->dims.size());
  int64_t axis = IntAttribute(call.node, "axis", -1);
  if (axis < 0) axis += rank;
  const TensorRef bias = m.AutocastHigh(call.input(2));
  const TensorRef weight = m.AutocastHigh(call.input(1));
  const TensorRef x = m.AutocastHigh(call.input(0));
  NodeRef node = m.MakeNode("NativeLayerNormBackward0", {x, weight, bias});
  node.Save(x);
  node.Save(weight);
  out[0] = m.New("native_layer_norm", x->dims, x->dtype);
  Dims rows = x->dims;
  for (size_t i = static_cast<size_t>(axis); i < rows.size(); ++i) rows[i] = 1;
  std::vector<TensorRef> statistics;  // mean, rstd
  for (int i = 0; i < 2; ++i) {
    statistics.push_back(m.Allocate(rows, StatisticsType(x->dtype)));
    node.Save(statistics.back());
  }
  GiveStatistics(statistics, out);
  node.Output(out[0]);
  // dx is a sum whose first term is the incoming gradient, and is laid out like it.
  node.Formula([g = GradientsOf(*x, {}, weight != nullptr ? weight : bias)](Backward& b) {
    NormGradients like_grad = g;
    like_grad.x_strides = LikeStrides(*b.grad());
    NormBackward(b, "native_layer_norm_backward", like_grad);
  });
}

void EnactGroupNorm(Machine& m, const Call& call, Outputs& out) {
  const TensorRef bias = m.AutocastHigh(call.input(2));
  const TensorRef weight = m.AutocastHigh(call.input(1));
  // A slice of channels is saved as it is, with all of its storage; the kernel's copy of it is gone when it returns.
  const TensorRef x = m.AutocastHigh(call.input(0));
  NodeRef node = m.MakeNode("NativeGroupNormBackward0", {x, weight, bias});
  node.Save(x);
  node.Save(weight);
  out[0] = m.New("native_group_norm", x->dims, x->dtype, ImageStrides(x->dims, SuggestsChannelsLast(*x)));
  const int64_t group_count = IntAttribute(call.node, "groups", 1);
  const GroupNormKernel kernel{
      .dims = x->dims, .groups = group_count, .dtype = x->dtype, .weight = weight != nullptr, .bias = bias != nullptr};
  m.recorder().KernelTakes(ForwardTakes(kernel));
  const bool mixed = weight != nullptr && weight->dtype != x->dtype;
  const Dims groups{x->dims[0], group_count};
  std::vector<TensorRef> statistics;
  for (int i = 0; i < 2; ++i) {
    statistics.push_back(m.Allocate(groups, mixed ? DType::kFloat32 : x->dtype));
    node.Save(statistics.back());
  }
  GiveStatistics(statistics, out);
  node.Output(out[0]);
  node.Formula([g = GradientsOf(*x, LikeStrides(*x), weight), kernel](Backward& b) {
    NormBackward(b, "native_group_norm_backward", g);
    b.m.recorder().KernelTakes(BackwardTakes(kernel, /*of_input=*/b.needs(0)));
  });
}

void EnactRmsNorm(Machine& m, const Call& call, Outputs& out) {
  const auto rank = static_cast<int64_t>(call.input(0)->dims.size());
  int64_t axis = IntAttribute(call.node, "axis", -1);
  if (axis < 0) axis += rank;
  const TensorRef weight = m.AutocastHigh(call.input(1));
  const TensorRef x = m.AutocastHigh(call.input(0));
  NodeRef node = m.MakeNode("FusedRmsNormBackward0", {x, weight, nullptr});
  node.Save(x);
  node.Save(weight);
  out[0] = m.New("_fused_rms_norm", x->dims, x->dtype);
  Dims rows = x->dims;
  for (size_t i = static_cast<size_t>(axis); i < rows.size(); ++i) rows[i] = 1;
  const std::vector<TensorRef> statistics = {m.Allocate(rows, StatisticsType(x->dtype))};
  node.Save(statistics.front());
  GiveStatistics(statistics, out);
  node.Output(out[0]);
  node.Formula([g = GradientsOf(*x, ContiguousStrides(x->dims), weight)](Backward& b) {
    NormBackward(b, "_fused_rms_norm_backward", g);
  });
}

}  // namespace

TensorRef BatchNorm(Machine& m, const TensorRef& input, const TensorRef& weight, const TensorRef& bias, bool training,
                    bool in_place, std::vector<TensorRef>* statistics, std::initializer_list<TensorRef> running) {
  const bool cudnn = IsCudnnBatchNorm(*input, weight);
  const bool channels_last = SuggestsChannelsLast(*input);
  // contiguous(suggest_memory_format()) in _batch_norm_impl_index.
  const bool copies = cudnn && !IsDenseImage(*input, channels_last);
  const TensorRef x = copies ? Clone(m, input, /*contiguous=*/!channels_last) : input;
  NodeRef node = m.MakeNode(cudnn ? "CudnnBatchNormBackward0" : "NativeBatchNormBackward0", {x, weight, bias});
  if (!in_place) node.Save(x);
  node.Save(weight);
  for (const TensorRef& statistic : running) node.Save(statistic);
  TensorRef y =
      in_place ? InPlace(m, "inplace_abn", x) : m.NewLike(cudnn ? "cudnn_batch_norm" : "native_batch_norm", *x);
  if (in_place) node.Save(y);
  // cuDNN has none in evaluation; the framework's own kernel copies the running ones (batch_norm_cuda in
  // Normalization.cu).
  if (training || !cudnn) {
    const Dims channels{x->dims[1]};
    for (int i = 0; i < 2; ++i) {  // mean, 1 / std
      const TensorRef made = m.Allocate(channels, StatisticsType(x->dtype));
      node.Save(made);
      if (statistics != nullptr) statistics->push_back(made);
    }
  }
  node.Output(y);
  NormGradients g = GradientsOf(*x, LikeStrides(*x), weight);
  g.all = cudnn && training;
  node.Formula([g, channels_last, copy_grad = cudnn && training](Backward& b) {
    TensorRef grad = b.grad();
    if (copy_grad && !IsDenseImage(*grad, channels_last)) {
      grad = b.m.New("clone", grad->dims, grad->dtype, ImageStrides(grad->dims, channels_last));
    }
    NormBackward(b, copy_grad ? "cudnn_batch_norm_backward" : "native_batch_norm_backward", g);
  });
  return y;
}

std::span<const OpRow> NormOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"batch_norm", EnactBatchNorm, 1, 2},
      {"group_norm", EnactGroupNorm, 1, 2},
      {"layer_norm", EnactLayerNorm, 1, 1},
      {"rms_norm", EnactRmsNorm, 1, 1},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
