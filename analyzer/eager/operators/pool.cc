// Pooling. Max pooling saves its input and int64 indices, whatever asks for them; average pooling saves its input
// though only the shape is needed; adaptive average pooling to one element is a mean. One-dimensional pooling runs as
// two-dimensional on a view. Results keep the input's memory format.
// Sources: aten/src/ATen/native/Pool.h, AdaptiveAveragePooling.cpp, tools/autograd/derivatives.yaml,
// torch/nn/functional.py (lp_pool2d).
#include <algorithm>
#include <array>

#include "analyzer/eager/operators/binary.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/reduce.h"
#include "analyzer/eager/operators/unary.h"
#include "analyzer/eager/views/layout.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

// [N, C, L] as [N, C, 1, L].
Dims ImageDims(const Dims& dims) {
  if (dims.size() != 3) return dims;
  return Dims{dims[0], dims[1], 1, dims[2]};
}

TensorRef ImageView(Machine& m, const TensorRef& x) {
  return x->dims.size() == 3 ? View(m, x, ImageDims(x->dims), "UnsqueezeBackward0") : x;
}

TensorRef BackToLine(Machine& m, const TensorRef& y, const Dims& dims) {
  return y->dims == dims ? y : View(m, y, dims, "SqueezeBackward1");
}

struct PoolRule {
  std::string_view op;
  std::string_view node;
  std::string_view backward;
  bool indices;
};

// The pooled image; `indices` (if requested and made) are returned beside it.
TensorRef Pool(Machine& m, const PoolRule& rule, const TensorRef& x, const Dims& dims, TensorRef* indices = nullptr) {
  const bool channels_last = SuggestsChannelsLast(*x);
  const Dims strides = ImageStrides(dims, channels_last);
  NodeRef node = m.MakeNode(rule.node, {x});
  node.Save(x);
  TensorRef y = m.New(rule.op, dims, x->dtype, strides);
  if (rule.indices) {
    TensorRef made = m.Allocate(dims, DType::kInt64, strides);
    node.Save(made);
    if (indices != nullptr) *indices = made;
  }
  node.Output(y);
  node.Formula([op = rule.backward, x_dims = x->dims, channels_last](Backward& b) {
    b.result(0, b.m.New(op, x_dims, b.grad()->dtype, ImageStrides(x_dims, channels_last)));
  });
  return y;
}

constexpr PoolRule kMaxPool{"max_pool2d_with_indices", "MaxPool2DWithIndicesBackward0",
                            "max_pool2d_with_indices_backward", true};
constexpr PoolRule kAvgPool{"avg_pool2d", "AvgPool2DBackward0", "avg_pool2d_backward", false};
constexpr PoolRule kAdaptiveAvgPool{"_adaptive_avg_pool2d", "AdaptiveAvgPool2DBackward0",
                                    "_adaptive_avg_pool2d_backward", false};
constexpr PoolRule kAdaptiveMaxPool{"adaptive_max_pool2d", "AdaptiveMaxPool2DBackward0", "adaptive_max_pool2d_backward",
                                    true};

void EnactPool(Machine& m, const Call& call, const PoolRule& rule, Outputs& out) {
  const Dims& dims = call.output_dims();
  TensorRef indices;
  const TensorRef y = Pool(m, rule, ImageView(m, call.input(0)), ImageDims(dims), &indices);
  out[0] = BackToLine(m, y, dims);
  if (out.size() > 1 && indices != nullptr) out[1] = BackToLine(m, indices, dims);
}

void EnactMaxPool(Machine& m, const Call& call, Outputs& out) { EnactPool(m, call, kMaxPool, out); }
void EnactAvgPool(Machine& m, const Call& call, Outputs& out) { EnactPool(m, call, kAvgPool, out); }
void EnactAdaptiveMaxPool(Machine& m, const Call& call, Outputs& out) { EnactPool(m, call, kAdaptiveMaxPool, out); }

// A mean over the image; the result of a channels-last image is restrided in place, and its gradient copied back.
TensorRef GlobalMean(Machine& m, const TensorRef& x) {
  Dims axes;
  for (size_t d = 2; d < x->dims.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  TensorRef y = Mean(m, x, axes, /*keep_dims=*/true);
  if (!SuggestsChannelsLast(*x)) return y;
  NodeRef node = m.MakeNode("AsStridedBackward1", {y});
  TensorRef strided = m.Alias(y, y->dims, ChannelsLastStrides(y->dims), y->is_view);
  node.Output(strided);
  node.Formula([](Backward& b) {
    const TensorRef storage = b.m.New("new_zeros", b.grad()->dims, b.grad()->dtype);
    b.result(0, b.m.Alias(storage, storage->dims, storage->strides));
  });
  return strided;
}

void EnactAdaptiveAvgPool(Machine& m, const Call& call, Outputs& out) {
  const Dims& dims = call.output_dims();
  const bool one = std::all_of(dims.begin() + 2, dims.end(), [](int64_t d) { return d == 1; });
  if (!one) return EnactPool(m, call, kAdaptiveAvgPool, out);
  out[0] = BackToLine(m, GlobalMean(m, ImageView(m, call.input(0))), dims);
}

// (sign(a) * relu(|a|) * k) ** (1 / p) with a = avg_pool(x ** p).
void EnactLpPool(Machine& m, const Call& call, Outputs& out) {
  const double p = FloatAttribute(call.node, "p", 2.0);
  const TensorRef x = ImageView(m, call.input(0));
  TensorRef product;
  {
    const TensorRef average = Pool(m, kAvgPool, PowScalar(m, x, p), ImageDims(call.output_dims()));
    const TensorRef sign = Unary(m, "sign", average);
    product = Mul(m, sign, Unary(m, "relu", Unary(m, "abs", average)));
  }
  const TensorRef scaled = MulScalar(m, product);
  product.reset();
  out[0] = BackToLine(m, PowScalar(m, scaled, 1.0 / p), call.output_dims());
}

void EnactMaxUnpool(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("MaxUnpool2DBackward0", {x});
  node.Save(call.input(1));
  out[0] = m.New("max_unpool2d", call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) {
    const TensorRef gathered = b.m.New("gather", dims, b.grad()->dtype);
    b.result(0, b.m.Alias(gathered, dims, gathered->strides));
  });
}

}  // namespace

std::span<const OpRow> PoolOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"adaptive_avg_pool", EnactAdaptiveAvgPool, 1, 3},
      {"adaptive_max_pool", EnactAdaptiveMaxPool, 1, 3},
      {"avg_pool", EnactAvgPool, 1, 3},
      {"lp_pool", EnactLpPool, 1, 3},
      {"max_pool", EnactMaxPool, 1, 3},
      {"max_unpool", EnactMaxUnpool, 2, 3},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
