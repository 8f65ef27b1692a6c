// Elementwise operators. A single known number beside a tensor is a Python scalar: x * 2 runs another operator than
// x * y and saves 8 bytes instead of a tensor.
#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/facts/training_form.h"
#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

// The scalar of `scalar_slot` applies to the other input unless broadcasting gives the result another shape.
bool IsScalarOperation(const Site& s, size_t tensor_slot, size_t scalar_slot) {
  return s.Number(scalar_slot).has_value() && s.In(tensor_slot).valid() && s.InShape(tensor_slot) == s.OutShape();
}

void EmitScalar(Site& s, std::string_view op, size_t tensor_slot, size_t scalar_slot) {
  s.Emit(op, {s.In(tensor_slot)}, {s.Out(0)}, {{"scalar", *s.Number(scalar_slot)}});
}

void EmitBinary(Site& s, std::string_view op) { s.Emit(op, {s.Materialized(0), s.Materialized(1)}, {s.Out(0)}); }

Dims Broadcast(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t from_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t from_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    dims[dims.size() - 1 - i] = from_a == 1 ? from_b : from_a;
  }
  return dims;
}

// mask == 0 of a bool or integer tensor: exporters cast what they compare with a number to the number's dtype, which
// the framework's kernel does as it reads.
bool IsPromotedForComparison(const Site& s) {
  constexpr auto kComparisons =
      std::to_array<std::string_view>({"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"});
  const TensorIds& outputs = s.source().outputs;
  if (IsFloating(s.InType(0)) || IsFloating(s.OutType())) return false;
  if (std::find(outputs.begin(), outputs.end(), s.Out(0)) != outputs.end()) return false;
  const NodeIds& readers = s.source().tensors[s.Out(0)].consumers;
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const Node& node = s.source().nodes[reader];
    if (std::find(kComparisons.begin(), kComparisons.end(), node.op) == kComparisons.end()) return false;
    const TensorId other = OtherOperand(node, s.Out(0));
    return other.valid() && s.lowering().residence.number[other];
  });
}

}  // namespace

// One tensor in, one out: the row's operator.
void LowerUnary(Site& s) { s.Emit(s.framework(), {s.Materialized(0)}, {s.Out(0)}); }

// The same with alpha, beta, gamma as attributes.
void LowerActivation(Site& s) {
  Attributes attributes;
  for (std::string_view name : {"alpha", "beta", "gamma"}) {
    auto it = s.node().attributes.find(name);
    if (it != s.node().attributes.end()) attributes.emplace(it->first, it->second);
  }
  s.Emit(s.framework(), {s.Materialized(0)}, {s.Out(0)}, std::move(attributes));
}

void LowerCast(Site& s) {
  const TensorId x = s.Materialized(0);
  // .to() of the dtype that it has returns the tensor itself
  if (s.InType(0) == s.OutType() || IsPromotedForComparison(s)) {
    s.Alias(0, x);
    return;
  }
  s.Emit("cast", {x}, {s.Out(0)});
}

void LowerAdd(Site& s) {
  if (IsScalarOperation(s, 0, 1)) return EmitScalar(s, "add_scalar", 0, 1);
  if (IsScalarOperation(s, 1, 0)) {
    // Code gives the tensor first, 1 + x too: an exporter wrote this.
    s.Emit("add_scalar", {s.In(1)}, {s.Out(0)}, {{"scalar", *s.Number(0)}, {"number_first", int64_t{1}}});
    return;
  }
  EmitBinary(s, "add");
}

void LowerSub(Site& s) {
  if (IsScalarOperation(s, 0, 1)) return EmitScalar(s, "sub_scalar", 0, 1);
  if (IsScalarOperation(s, 1, 0)) return EmitScalar(s, "rsub_scalar", 1, 0);
  EmitBinary(s, "sub");
}

void LowerMul(Site& s) {
  for (size_t i : {size_t{0}, size_t{1}}) {
    if (s.run().training || s.num_inputs() != 2 || !IsScaledNoise(s.lowering().source, s.node().inputs[i])) continue;
    return s.Alias(0, s.Materialized(1 - i));
  }
  if (IsScalarOperation(s, 0, 1)) return EmitScalar(s, "mul_scalar", 0, 1);
  if (IsScalarOperation(s, 1, 0)) return EmitScalar(s, "mul_scalar", 1, 0);
  EmitBinary(s, "mul");
}

// c / x is reciprocal(x) * c (torch/_tensor.py, __rtruediv__); exporters write 1/x for reciprocal alone.
void LowerDiv(Site& s) {
  if (IsScalarOperation(s, 0, 1)) return EmitScalar(s, "div_scalar", 0, 1);
  if (!IsScalarOperation(s, 1, 0)) return EmitBinary(s, "div");
  if (*s.Number(0) == 1.0) {
    s.Emit("reciprocal", {s.In(1)}, {s.Out(0)});
    return;
  }
  EmitScalar(s, "rdiv_scalar", 1, 0);
}

void LowerPow(Site& s) {
  if (IsScalarOperation(s, 0, 1)) {
    s.Emit("pow_scalar", {s.In(0)}, {s.Out(0)}, {{"exponent", *s.Number(1)}});
    return;
  }
  if (IsScalarOperation(s, 1, 0)) return EmitScalar(s, "rpow_scalar", 1, 0);
  EmitBinary(s, "pow");
}

void LowerMod(Site& s) {
  const bool fmod = s.Int("fmod", 0) != 0;
  if (IsScalarOperation(s, 0, 1)) return EmitScalar(s, fmod ? "fmod_scalar" : "remainder_scalar", 0, 1);
  EmitBinary(s, fmod ? "fmod" : "remainder");
}

// Two tensors, broadcast: the row's operator.
void LowerBinary(Site& s) {
  if (s.Number(0) && !s.Number(1)) return s.Emit(s.framework(), {s.In(1)}, {s.Out(0)}), void();
  if (s.Number(1) && !s.Number(0)) return s.Emit(s.framework(), {s.In(0)}, {s.Out(0)}), void();
  EmitBinary(s, s.framework());
}

// A chain of the row's binary operator.
void LowerVariadic(Site& s) {
  TensorId sum = s.Materialized(0);
  if (s.num_inputs() == 1) return s.Alias(0, sum);
  if (s.num_inputs() == 2 && s.framework() == "add") return LowerAdd(s);
  Dims dims = s.InShape(0).dims;
  for (size_t i = 1; i < s.num_inputs(); ++i) {
    dims = Broadcast(dims, s.InShape(i).dims);
    const TensorId next = s.Materialized(i);
    const TensorId result = i + 1 == s.num_inputs() ? s.Out(0) : s.Temp(dims, s.OutType());
    s.Emit(s.framework(), {sum, next}, {result});
    sum = result;
  }
}

void LowerMean(Site& s) {
  TensorId sum = s.Materialized(0);
  Dims dims = s.InShape(0).dims;
  for (size_t i = 1; i < s.num_inputs(); ++i) {
    dims = Broadcast(dims, s.InShape(i).dims);
    sum = s.EmitTemp("add", {sum, s.Materialized(i)}, dims, s.OutType());
  }
  s.Emit("div_scalar", {sum}, {s.Out(0)}, {{"scalar", static_cast<double>(s.num_inputs())}});
}

// nn.ReLU6 and clamp(0, 6) look alike in a file; ReLU6 is the one that models use.
void LowerClip(Site& s) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  // Known bounds are Python numbers, also where a dynamo export stores them as initializers.
  const auto lows = s.Floats(1), highs = s.Floats(2);
  const TensorId low = lows ? TensorId() : s.In(1), high = highs ? TensorId() : s.In(2);
  if (low.valid() || high.valid()) {
    TensorId x = s.Materialized(0);
    if (low.valid()) {
      const TensorId result = s.Has(2) ? s.Temp(s.OutShape().dims, s.OutType()) : s.Out(0);
      s.Emit("maximum", {x, low}, {result});
      x = result;
    }
    if (s.Has(2)) s.Emit("minimum", {x, s.Materialized(2)}, {s.Out(0)});
    return;
  }
  const double min = lows && lows->size() == 1 ? lows->front() : s.Float("min", -kNone);
  const double max = highs && highs->size() == 1 ? highs->front() : s.Float("max", kNone);
  if (min == 0.0 && max == 6.0) {
    s.Emit("relu6", {s.Materialized(0)}, {s.Out(0)});
    return;
  }
  const bool two_sided = min > -std::numeric_limits<float>::max() && max < std::numeric_limits<float>::max();
  s.Emit("clamp", {s.Materialized(0)}, {s.Out(0)}, {{"two_sided", static_cast<int64_t>(two_sided)}});
}

void LowerWhere(Site& s) { s.Emit("where", {s.Materialized(0), s.In(1), s.In(2)}, {s.Out(0)}); }

void LowerGelu(Site& s) {
  s.Emit("gelu", {s.Materialized(0)}, {s.Out(0)}, {{"approximate", s.String("approximate", "none")}});
}

void LowerSwish(Site& s) {
  const double alpha = s.Float("alpha", 1.0);
  const TensorId x = s.Materialized(0);
  if (alpha == 1.0) {
    s.Emit("silu", {x}, {s.Out(0)});
    return;
  }
  const Dims& dims = s.OutShape().dims;
  const TensorId scaled = s.EmitTemp("mul_scalar", {x}, dims, s.OutType(), {{"scalar", alpha}});
  const TensorId gate = s.EmitTemp("sigmoid", {scaled}, dims, s.OutType());
  s.Emit("mul", {x, gate}, {s.Out(0)});
}

// silu(a) * b, as Llama's MLP writes it.
void LowerSwiglu(Site& s) {
  const Dims dims = s.OutShape().dims;
  const double alpha = s.Float("alpha", 1.0);
  const TensorId x = s.Materialized(0);
  TensorId gate;
  if (alpha == 1.0) {
    gate = s.EmitTemp("silu", {x}, dims, s.OutType());
  } else {
    const TensorId scaled = s.EmitTemp("mul_scalar", {x}, dims, s.OutType(), {{"scalar", alpha}});
    gate = s.EmitTemp("mul", {x, s.EmitTemp("sigmoid", {scaled}, dims, s.OutType())}, dims, s.OutType());
  }
  s.Emit("mul", {gate, s.Materialized(1)}, {s.Out(0)});
}

// alpha * x + beta.
void LowerAffine(Site& s) {
  const TensorId scaled = s.EmitTemp("mul_scalar", {s.Materialized(0)}, s.OutShape().dims, s.OutType(),
                                     {{"scalar", s.Float("alpha", 1.0)}});
  s.Emit("add_scalar", {scaled}, {s.Out(0)}, {{"scalar", s.Float("beta", 0.0)}});
}

// scale * image + bias[channel].
void LowerImageScaler(Site& s) {
  const Dims dims = s.OutShape().dims;
  const TensorId scaled =
      s.EmitTemp("mul_scalar", {s.Materialized(0)}, dims, s.OutType(), {{"scalar", s.Float("scale", 1.0)}});
  const TensorId bias = s.EmitTemp("full", {}, {dims.size() > 1 ? dims[1] : 1, 1, 1}, s.OutType());
  s.Emit("add", {scaled, bias}, {s.Out(0)});
}

void LowerShrink(Site& s) {
  const bool soft = s.Float("bias", 0.0) != 0.0;
  s.Emit(soft ? "softshrink" : "hardshrink", {s.Materialized(0)}, {s.Out(0)});
}

// The exporter unsqueezes the slope; the framework takes the 1-D parameter.
void LowerPRelu(Site& s) {
  const TensorId slope = s.Stored(1);
  s.Emit("prelu", {s.Materialized(0), slope.valid() ? slope : s.Materialized(1)}, {s.Out(0)});
}

}  // namespace onnx_mem
