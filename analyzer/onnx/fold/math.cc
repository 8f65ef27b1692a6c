// Operators of one number: Neg, Floor, Exp, Clip, and Cast between formats. Floats are rounded to their format after
// each operator, as a runtime would.
#include <array>
#include <cmath>

#include "analyzer/onnx/fold/elementwise.h"

namespace onnx_mem::fold {
namespace {

template <class Op>
Outputs MapFloats(const FoldCall& call, Op op) {
  const Literal& x = *call.value(0);
  if (x.floats() == nullptr) return {};
  return MapElements(x, [](int64_t v) { return v; }, op);
}

template <double (*F)(double)>
Outputs Float(const FoldCall& call) {
  return MapFloats(call, [](double v) { return F(v); });
}

Outputs Abs(const FoldCall& call) {
  return MapElements(
      *call.value(0), [](int64_t v) { return v < 0 && v != INT64_MIN ? -v : v; },
      [](double v) { return std::fabs(v); });
}

Outputs Neg(const FoldCall& call) {
  return MapElements(*call.value(0), [](int64_t v) { return v == INT64_MIN ? v : -v; }, [](double v) { return -v; });
}

Outputs Sign(const FoldCall& call) {
  return MapElements(
      *call.value(0), [](int64_t v) -> int64_t { return (v > 0) - (v < 0); },
      [](double v) { return std::isnan(v) ? v : static_cast<double>((v > 0) - (v < 0)); });
}

Outputs Relu(const FoldCall& call) {
  return MapElements(
      *call.value(0), [](int64_t v) { return std::max<int64_t>(v, 0); }, [](double v) { return v < 0 ? 0 : v; });
}

Outputs BitwiseNot(const FoldCall& call) {
  if (call.value(0)->ints() == nullptr) return {};
  return MapElements(*call.value(0), [](int64_t v) { return ~v; }, [](double v) { return v; });
}

Outputs Reciprocal(const FoldCall& call) {
  return MapFloats(call, [](double v) { return 1 / v; });
}

Outputs Sigmoid(const FoldCall& call) {
  return MapFloats(call, [](double v) { return 1 / (1 + std::exp(-v)); });
}

Outputs Softplus(const FoldCall& call) {
  return MapFloats(call, [](double v) { return std::log1p(std::exp(v)); });
}

// A bound given as input (opset 11 and later) or attribute; nullptr-safe: nullopt means unbounded.
template <class T>
std::optional<T> Bound(const FoldCall& call, size_t i, std::string_view attribute) {
  if (call.has(i)) {
    const auto* data = std::get_if<std::vector<T>>(&call.value(i)->data);
    if (data != nullptr && data->size() == 1) return data->front();
    return std::nullopt;
  }
  if constexpr (std::is_same_v<T, double>) {
    if (call.attribute(attribute) != nullptr) return call.float_attribute(attribute, 0);
  }
  return std::nullopt;
}

Outputs Clip(const FoldCall& call) {
  const auto int_low = Bound<int64_t>(call, 1, "min");
  const auto int_high = Bound<int64_t>(call, 2, "max");
  const auto low = Bound<double>(call, 1, "min");
  const auto high = Bound<double>(call, 2, "max");
  return MapElements(
      *call.value(0),
      [&](int64_t v) {
        if (int_low) v = std::max(v, *int_low);
        return int_high ? std::min(v, *int_high) : v;
      },
      [&](double v) {
        if (low && v < *low) v = *low;
        return high && v > *high ? *high : v;
      });
}

Outputs CastTo(const Literal& x, DType to) {
  if (x.ints() != nullptr) {
    if (IsIntegral(to) || to == DType::kBool) {
      std::vector<int64_t> result(*x.ints());
      for (int64_t& v : result) {
        if (v != kUnknownElement) v = WrapToInteger(to, v);
      }
      return Integers(to, x.dims, std::move(result));
    }
    if (ElementTypeOf(to) == onnx::TensorProto::UNDEFINED || !IsFloating(to) || HasUnknown(x) || !FitsInt64(x))
      return {};
    std::vector<double> result(x.ints()->begin(), x.ints()->end());
    for (double& v : result) v = RoundToFloat(to, v);
    return Floats(to, x.dims, std::move(result));
  }
  if (x.floats() == nullptr) return {};
  if (ElementTypeOf(to) != onnx::TensorProto::UNDEFINED && IsFloating(to)) {
    std::vector<double> result(*x.floats());
    for (double& v : result) v = RoundToFloat(to, v);
    return Floats(to, x.dims, std::move(result));
  }
  if (!IsIntegral(to) && to != DType::kBool) return {};
  std::vector<int64_t> result;
  for (double v : *x.floats()) {
    if (to == DType::kBool) {
      result.push_back(v != 0 ? 1 : 0);
    } else {
      // What does not fit is not defined by the specification.
      result.push_back(std::fabs(v) < 9.2e18 ? WrapToInteger(to, static_cast<int64_t>(v)) : kUnknownElement);
    }
  }
  return Integers(to, x.dims, std::move(result));
}

Outputs Cast(const FoldCall& call) {
  const onnx::AttributeProto* to = call.attribute("to");
  // Opset 1 to 5 name the type by a string.
  if (to == nullptr || to->type() == onnx::AttributeProto::STRING) return {};
  return CastTo(*call.value(0), DTypeOf(static_cast<int>(to->i())));
}

Outputs CastLike(const FoldCall& call) {
  if (call.value(0) == nullptr || call.type(1) == nullptr || !call.type(1)->has_tensor_type()) return {};
  return CastTo(*call.value(0), DTypeOf(call.type(1)->tensor_type().elem_type()));
}

constexpr auto kMathRows = std::to_array<FoldRow>({
    {"Abs", Abs},
    {"Acos", Float<std::acos>},
    {"Asin", Float<std::asin>},
    {"Atan", Float<std::atan>},
    {"BitwiseNot", BitwiseNot},
    {"Cast", Cast, FoldNeeds::kPartial},
    {"CastLike", CastLike, FoldNeeds::kTypes},
    {"Ceil", Float<std::ceil>},
    {"Clip", Clip, FoldNeeds::kPartial0},
    {"Cos", Float<std::cos>},
    {"Cosh", Float<std::cosh>},
    {"Erf", Float<std::erf>},
    {"Exp", Float<std::exp>},
    {"Floor", Float<std::floor>},
    {"Log", Float<std::log>},
    {"Neg", Neg, FoldNeeds::kPartial},
    {"Reciprocal", Reciprocal},
    {"Relu", Relu, FoldNeeds::kPartial},
    {"Round", Float<std::nearbyint>},
    {"Sigmoid", Sigmoid},
    {"Sign", Sign},
    {"Sin", Float<std::sin>},
    {"Sinh", Float<std::sinh>},
    {"Softplus", Softplus},
    {"Sqrt", Float<std::sqrt>},
    {"Tan", Float<std::tan>},
    {"Tanh", Float<std::tanh>},
});

}  // namespace

absl::Span<const FoldRow> MathRows() { return kMathRows; }

}  // namespace onnx_mem::fold
