// Dropout. On CUDA a fused kernel makes the result and a mask of one byte per element. In place, and for whole feature
// maps, the mask is a tensor of the input's type that a multiplication saves.
// Sources: aten/src/ATen/native/Dropout.cpp, native/cuda/Dropout.cu.
#include "analyzer/eager/operators/dropout.h"

#include <array>

#include "analyzer/eager/operators/binary.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem::eager {
namespace {

bool Drops(const Machine& m, double p) { return m.run().training && p > 0.0; }

TensorRef Dropped(Machine& m, const TensorRef& x, TensorRef* mask) {
  NodeRef node = m.MakeNode("NativeDropoutBackward0", {x});
  TensorRef y = m.NewLike("native_dropout", *x);
  const TensorRef kept = m.Allocate(y->dims, DType::kBool, y->strides);
  node.Save(kept);
  if (mask != nullptr) *mask = kept;
  node.Output(y);
  node.Formula([](Backward& b) { b.result(0, b.m.NewLike("native_dropout_backward", *b.grad())); });
  return y;
}

void EnactDropout(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const bool ran = IntAttribute(call.node, "ran", 0) != 0;  // whatever the mode: F.dropout(x, p)
  if (!ran && !Drops(m, DropProbability(call.node))) {
    out[0] = x;
  } else if (call.inplace()) {
    out[0] = Mul(m, x, m.NewLike("bernoulli_", *x), /*in_place=*/true);
  } else {
    out[0] = Dropped(m, x, out.size() > 1 ? &out[1] : nullptr);
  }
}

// One random number per feature map.
void EnactFeatureDropout(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  if (!Drops(m, DropProbability(call.node))) {
    out[0] = x;
    return;
  }
  Dims noise(x->dims.size(), 1);
  for (size_t d = 0; d < noise.size() && d < 2; ++d) noise[d] = x->dims[d];
  out[0] = Mul(m, x, m.New("bernoulli_", noise, x->dtype), call.inplace());
}

}  // namespace

TensorRef Dropout(Machine& m, const TensorRef& x, double p) { return Drops(m, p) ? Dropped(m, x, nullptr) : x; }

double DropProbability(const FrameworkNode& node) {
  if (IsAttention(node.op)) return FloatAttribute(node, "dropout", 0.0);
  return IsDropout(node.op) ? FloatAttribute(node, "p", 0.5) : 0.0;
}

std::span<const OpRow> DropoutOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"dropout", EnactDropout},
      {"feature_dropout", EnactFeatureDropout},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
