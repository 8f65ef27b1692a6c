// Normalisations that the framework composes: instance norm is a batch norm over [1, N * C, ...], local response norm a
// pooled square, normalize a quotient by a norm. Weight norm, of a weight rather than an activation, stands here too.
// Sources: aten/src/ATen/native/Normalization.cpp (instance_norm), torch/nn/functional.py (local_response_norm,
// normalize), aten/src/ATen/native/WeightNorm.cpp.
#include <array>

#include "analyzer/eager/operators/binary.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/norm.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/operators/reduce.h"
#include "analyzer/eager/operators/unary.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

// Inputs: x, weight, bias.
void EnactInstanceNorm(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const int64_t batch = x->dims[0];
  const auto repeated = [&](const TensorRef& t) { return t == nullptr ? t : Repeat(m, t, Dims{t->dims[0] * batch}); };
  const TensorRef weight = repeated(call.input(1)), bias = repeated(call.input(2));
  Dims merged = x->dims;
  merged[0] = 1;
  merged[1] *= batch;
  const TensorRef image = View(m, Contiguous(m, x), merged);
  out[0] = View(m, BatchNorm(m, image, weight, bias, /*training=*/true), x->dims);
}

// The squares padded along the channels and averaged.
TensorRef AveragedSquares(Machine& m, const TensorRef& x, int64_t size) {
  const Dims dims = x->dims;
  const TensorRef squares = Mul(m, x, x);
  const int64_t positions = ElementsFrom(dims, 2);
  const TensorRef volume = View(m, squares, Dims{dims[0], 1, dims[1], 1, positions});
  NodeRef pad = m.MakeNode("ConstantPadNdBackward0", {volume});
  const TensorRef padded = m.New("constant_pad_nd", Dims{dims[0], 1, dims[1] + size - 1, 1, positions}, x->dtype);
  pad.Output(padded);
  pad.Formula(
      [original = volume->dims](Backward& b) { b.result(0, b.m.New("constant_pad_nd", original, b.grad()->dtype)); });
  NodeRef pool = m.MakeNode("AvgPool3DBackward0", {padded});
  pool.Save(padded);
  const TensorRef pooled = m.New("avg_pool3d", volume->dims, x->dtype);
  pool.Output(pooled);
  pool.Formula([original = padded->dims](Backward& b) {
    b.result(0, b.m.New("avg_pool3d_backward", original, b.grad()->dtype));
  });
  return View(m, pooled, dims);
}

// x / (alpha * average + k) ** beta.
void EnactLocalResponseNorm(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const TensorRef average = AveragedSquares(m, x, IntAttribute(call.node, "size", 5));
  const TensorRef base = AddScalar(m, MulScalar(m, average));
  const TensorRef divisor = PowScalar(m, base, FloatAttribute(call.node, "beta", 0.75));
  out[0] = Div(m, x, divisor);
}

// x / norm(x).clamp_min(eps).expand_as(x)
void EnactLpNormalize(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const auto rank = static_cast<int64_t>(x->dims.size());
  const int64_t axis = IntAttribute(call.node, "axis", -1);
  const TensorRef norm =
      VectorNorm(m, x, FloatAttribute(call.node, "p", 2.0), Dims{axis < 0 ? axis + rank : axis}, /*keep_dims=*/true);
  NodeRef node = m.MakeNode("ClampMinBackward0", {norm});
  node.Save(norm);
  const TensorRef least = m.NewLike("clamp_min", *norm);
  node.Output(least);
  node.Formula(
      [](Backward& b) { b.result(0, RunPointwise(b.m, {"scalar_tensor", "gt", "where"}, {b.grad(), b.saved(0)})); });
  out[0] = Div(m, x, Expand(m, least, x->dims));
}

// |a - b + epsilon|.
void EnactPairwiseDistance(Machine& m, const Call& call, Outputs& out) {
  const TensorRef difference = AddScalar(m, Sub(m, call.input(0), call.input(1)));
  const auto rank = static_cast<int64_t>(difference->dims.size());
  out[0] = VectorNorm(m, difference, 2.0, Dims{rank - 1}, call.output_dims().size() == difference->dims.size());
}

// Inputs: v, g. The norms are float32 whatever v is.
void EnactWeightNorm(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &v = call.input(0), &g = call.input(1);
  NodeRef node = m.MakeNode("WeightNormInterfaceBackward0", {v, g});
  node.Save(v);
  node.Save(g);
  out[0] = m.NewLike("_weight_norm_interface", *v);
  const TensorRef norms = m.Allocate(g->dims, DType::kFloat32);
  node.Save(norms);
  if (out.size() > 1) out[1] = norms;
  node.Output(out[0]);
  node.Formula([](Backward& b) {
    const TensorRef v = b.saved(0), g = b.saved(1);
    const TensorRef dv = b.m.NewLike("_weight_norm_interface_backward", *v);
    b.result(0, dv);
    b.result(1, b.m.Allocate(g->dims, g->dtype));
  });
}

}  // namespace

namespace {

bool HasNoScalarParameter(const CallShape& call) { return call.rank(1) != 0 && call.rank(2) != 0; }
bool HasChannels(const CallShape& call) { return (*call.inputs[0])[0] > 0 && (*call.inputs[0])[1] > 0; }

}  // namespace

std::span<const OpRow> NormCompositeOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"instance_norm", EnactInstanceNorm, 1, 3, HasNoScalarParameter},
      {"local_response_norm", EnactLocalResponseNorm, 1, 2, HasChannels},
      {"lp_normalize", EnactLpNormalize, 1, 1},
      {"pairwise_distance", EnactPairwiseDistance, 2, 1},
      {"weight_norm", EnactWeightNorm, 2, 1},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
