// com.microsoft and com.microsoft.nchwc: convolutions and poolings that onnxruntime fused, quantized or laid out anew.
// Channels stand first ([N,C,H,W]), last ([N,H,W,C]) or in blocks, which shapes do not show: [N,C,H,W], C padded.
#include <algorithm>
#include <array>

#include "analyzer/onnx/rules/rule.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem::rules {
namespace {

using fold::FoldCall;

// One spatial axis of a convolution or pooling; kUnknownDim where it does not come out.
int64_t Window(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t pads, std::string_view auto_pad,
               bool ceil_mode) {
  if (size < 0 || kernel <= 0 || stride <= 0 || dilation <= 0) return kUnknownDim;
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") return (size + stride - 1) / stride;
  const int64_t reach = Plus(Times(kernel - 1, dilation), 1);
  const int64_t room = size + (auto_pad == "VALID" ? 0 : pads) - reach;
  if (reach < 0 || room < 0) return kUnknownDim;
  return (ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
}

// The spatial sizes `spatial` after windows of `kernel`, with the node's strides, pads and dilations.
Dims Windows(const FoldCall& call, const Dims& spatial, const Dims& kernel) {
  const Dims strides = IntsOf(call, "strides");
  const Dims dilations = IntsOf(call, "dilations");
  const Dims pads = IntsOf(call, "pads");
  const std::string_view auto_pad = call.string_attribute("auto_pad", "NOTSET");
  Dims out;
  for (size_t i = 0; i < spatial.size(); ++i) {
    const int64_t padding = pads.size() == 2 * spatial.size() ? Plus(pads[i], pads[i + spatial.size()]) : 0;
    out.push_back(Window(spatial[i], i < kernel.size() ? kernel[i] : kUnknownDim, i < strides.size() ? strides[i] : 1,
                         i < dilations.size() ? dilations[i] : 1, padding, auto_pad,
                         call.int_attribute("ceil_mode", 0) != 0));
  }
  return out;
}

// The spatial part of `x`: all but batch and channels.
Dims Spatial(const Shape& x, bool channels_last) {
  const int64_t first = channels_last ? 1 : 2;
  return Dims(x.dims.begin() + first, x.dims.begin() + first + static_cast<int64_t>(x.rank()) - 2);
}

Shape Image(int64_t batch, int64_t channels, const Dims& spatial, bool channels_last) {
  Dims dims = {batch};
  if (!channels_last) dims.push_back(channels);
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  if (channels_last) dims.push_back(channels);
  return Shape(std::move(dims));
}

// Input 0 convolved with input `w`, whose first axis is the output channels; its kernel starts at axis `kernel_at`.
Shape Convolved(const FoldCall& call, size_t w, int64_t kernel_at, bool channels_last) {
  const Shape x = ShapeOf(call, 0);
  const Shape weights = ShapeOf(call, w);
  if (x.rank() < 3 || weights.rank() != x.rank()) return Shape();
  Dims kernel = IntsOf(call, "kernel_shape");
  if (kernel.empty()) {
    const auto first = weights.dims.begin() + kernel_at;
    kernel.assign(first, first + static_cast<int64_t>(x.rank()) - 2);
  }
  return Image(x.dims[0], weights.dims[0], Windows(call, Spatial(x, channels_last), kernel), channels_last);
}

Results FusedConv(const FoldCall& call) { return {{TypeOf(call, 0), Convolved(call, 1, 2, false)}}; }

// Weights [M,kH,kW,C/group].
Results NhwcConv(const FoldCall& call) { return {{TypeOf(call, 0), Convolved(call, 1, 1, true)}}; }

// x, x_scale, x_zero, w [M,C/group,kH,kW], w_scale, w_zero, y_scale, y_zero, bias.
Results QLinearConv(const FoldCall& call) {
  return {{TypeOf(call, 7), Convolved(call, 3, 2, call.int_attribute("channels_last", 0) != 0)}};
}

Results Pool(const FoldCall& call, bool channels_last) {
  const Shape x = ShapeOf(call, 0);
  if (x.rank() < 3) return {{TypeOf(call, 0), Shape()}};
  const int64_t channels = channels_last ? x.dims.back() : x.dims[1];
  const Dims spatial = Windows(call, Spatial(x, channels_last), IntsOf(call, "kernel_shape"));
  return {{TypeOf(call, 0), Image(x.dims[0], channels, spatial, channels_last)}};
}

Results GlobalPool(const FoldCall& call, bool channels_last) {
  const Shape x = ShapeOf(call, 0);
  if (x.rank() < 3) return {{TypeOf(call, 0), Shape()}};
  const int64_t channels = channels_last ? x.dims.back() : x.dims[1];
  return {{TypeOf(call, 0), Image(x.dims[0], channels, Dims(x.rank() - 2, 1), channels_last)}};
}

Results ChannelsFirstPool(const FoldCall& call) { return Pool(call, false); }
Results ChannelsLastPool(const FoldCall& call) { return Pool(call, true); }
Results GlobalChannelsFirstPool(const FoldCall& call) { return GlobalPool(call, false); }
Results QLinearAveragePool(const FoldCall& call) { return Pool(call, call.int_attribute("channels_last", 0) != 0); }
Results QLinearGlobalAveragePool(const FoldCall& call) {
  return GlobalPool(call, call.int_attribute("channels_last", 0) != 0);
}

// Into blocks of 8 or 16 channels, as the machine that wrote the file has it: known where both give the same.
Results ReorderInput(const FoldCall& call) {
  const Shape x = ShapeOf(call, 0);
  if (x.rank() < 3) return {{TypeOf(call, 0), Shape()}};
  const bool last = call.int_attribute("channels_last", 0) != 0;
  const int64_t channels = last ? x.dims.back() : x.dims[1];
  const int64_t padded = channels >= 0 && (channels + 7) / 8 % 2 == 0 ? (channels + 15) / 16 * 16 : kUnknownDim;
  return {{TypeOf(call, 0), Image(x.dims[0], padded, Spatial(x, last), false)}};
}

Results ReorderOutput(const FoldCall& call) {
  const Shape x = ShapeOf(call, 0);
  if (x.rank() < 3) return {{TypeOf(call, 0), Shape()}};
  const bool last = call.int_attribute("channels_last", 0) != 0;
  return {{TypeOf(call, 0), Image(x.dims[0], call.int_attribute("channels", kUnknownDim), Spatial(x, false), last)}};
}

Results UpsampleBlocks(const FoldCall& call) {
  Shape x = ShapeOf(call, 0);
  const Dims scales = IntsOf(call, "scales");
  if (scales.size() != x.rank()) return {{TypeOf(call, 0), Shape()}};
  for (size_t i = 0; i < x.rank(); ++i) x.dims[i] = Times(x.dims[i], scales[i]);
  return {{TypeOf(call, 0), x}};
}

constexpr auto kConvolutionRows = std::to_array<TypeRuleRow>({
    {"com.microsoft", "FusedConv", FusedConv},
    {"com.microsoft", "NhwcConv", NhwcConv},
    {"com.microsoft", "NhwcFusedConv", NhwcConv},
    {"com.microsoft", "NhwcMaxPool", ChannelsLastPool},
    {"com.microsoft", "QLinearAveragePool", QLinearAveragePool},
    {"com.microsoft", "QLinearConv", QLinearConv},
    {"com.microsoft", "QLinearGlobalAveragePool", QLinearGlobalAveragePool},
    {"com.microsoft.nchwc", "AveragePool", ChannelsFirstPool},
    {"com.microsoft.nchwc", "Conv", FusedConv},
    {"com.microsoft.nchwc", "GlobalAveragePool", GlobalChannelsFirstPool},
    {"com.microsoft.nchwc", "GlobalMaxPool", GlobalChannelsFirstPool},
    {"com.microsoft.nchwc", "MaxPool", ChannelsFirstPool},
    {"com.microsoft.nchwc", "ReorderInput", ReorderInput},
    {"com.microsoft.nchwc", "ReorderOutput", ReorderOutput},
    {"com.microsoft.nchwc", "Upsample", UpsampleBlocks},
});

}  // namespace

absl::Span<const TypeRuleRow> ConvolutionRows() { return kConvolutionRows; }

}  // namespace onnx_mem::rules
