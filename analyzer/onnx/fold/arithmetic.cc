// Operators of two or more numbers: Add, Div, Pow, Min, bit operations. Integers wrap to their width, as in the
// runtimes; a division by zero is an unknown element.
#include <array>
#include <cmath>
#include <limits>

#include "analyzer/onnx/fold/elementwise.h"

namespace onnx_mem::fold {
namespace {

int64_t WrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t WrappingSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t WrappingMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

int64_t TruncatingDiv(int64_t a, int64_t b) {
  if (b == 0) return kUnknownElement;
  return b == -1 ? WrappingSub(0, a) : a / b;
}

// Sign of the dividend, as in C.
int64_t TruncatingMod(int64_t a, int64_t b) {
  if (b == 0) return kUnknownElement;
  return b == -1 ? 0 : a % b;
}

// Sign of the divisor, as in Python.
int64_t FlooringMod(int64_t a, int64_t b) {
  const int64_t remainder = TruncatingMod(a, b);
  if (remainder == kUnknownElement || remainder == 0 || (remainder < 0) == (b < 0)) return remainder;
  return remainder + b;
}

int64_t IntegerPow(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return base == 0 ? kUnknownElement : 0;
  }
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = WrappingMul(result, base);
    base = WrappingMul(base, base);
  }
  return result;
}

template <class IntOp, class FloatOp>
Outputs Binary(const FoldCall& call, IntOp int_op, FloatOp float_op) {
  std::optional<Pairing> pairing = Pair(call);
  if (!pairing || pairing->a->dtype != pairing->b->dtype) return {};
  const DType dtype = pairing->a->dtype;
  if (pairing->a->ints() != nullptr) {
    return Integers(dtype, pairing->dims, Combine<int64_t, int64_t>(*pairing, [&](int64_t a, int64_t b) {
                      const int64_t result = int_op(a, b);
                      return result == kUnknownElement ? result : WrapToInteger(dtype, result);
                    }));
  }
  if (pairing->a->floats() == nullptr) return {};
  return Floats(dtype, pairing->dims, Combine<double, double>(*pairing, [&](double a, double b) {
                  return RoundToFloat(dtype, float_op(a, b));
                }));
}

// Integers only.
template <class IntOp>
Outputs BinaryBits(const FoldCall& call, IntOp int_op) {
  if (call.value(0) == nullptr || call.value(0)->ints() == nullptr) return {};
  return Binary(call, int_op, [](double, double) { return 0.0; });
}

Outputs Add(const FoldCall& call) {
  return Binary(call, Known(WrappingAdd), [](double a, double b) { return a + b; });
}

Outputs Sub(const FoldCall& call) {
  return Binary(call, Known(WrappingSub), [](double a, double b) { return a - b; });
}

Outputs Mul(const FoldCall& call) {
  const auto multiply = [](int64_t a, int64_t b) -> int64_t {
    if (a == 0 || b == 0) return 0;  // whatever an unknown other factor is
    if (a == kUnknownElement || b == kUnknownElement) return kUnknownElement;
    return WrappingMul(a, b);
  };
  return Binary(call, multiply, [](double a, double b) { return a * b; });
}

Outputs Div(const FoldCall& call) {
  return Binary(call, Known(TruncatingDiv), [](double a, double b) { return a / b; });
}

Outputs Mod(const FoldCall& call) {
  const bool truncating = call.int_attribute("fmod", 0) != 0;
  if (truncating) {
    return Binary(call, Known(TruncatingMod), [](double a, double b) { return std::fmod(a, b); });
  }
  return Binary(call, Known(FlooringMod), [](double a, double b) {
    const double remainder = std::fmod(a, b);
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  });
}

// The result has the base's dtype; the exponent may have another one.
Outputs Pow(const FoldCall& call) {
  const Literal* base = call.value(0);
  const Literal* exponent = call.value(1);
  if (base == nullptr || exponent == nullptr) return {};
  if (base->data.index() == exponent->data.index() && base->ints() != nullptr) {
    if (base->dtype == exponent->dtype) return Binary(call, Known(IntegerPow), [](double, double) { return 0.0; });
    return {};
  }
  const auto as_doubles = [](const Literal& x) {
    if (x.floats() != nullptr) return *x.floats();
    if (x.ints() == nullptr) return std::vector<double>();
    return std::vector<double>(x.ints()->begin(), x.ints()->end());
  };
  const std::vector<double> bases = as_doubles(*base);
  const std::vector<double> exponents = as_doubles(*exponent);
  std::optional<Dims> dims = BroadcastDims({&base->dims, &exponent->dims});
  if (!dims || (call.version() < 7 && base->dims != exponent->dims)) return {};
  if (Count(base->dims) != bases.size() || Count(exponent->dims) != exponents.size()) return {};  // strings
  const std::vector<int64_t> base_offsets = BroadcastOffsets(base->dims, *dims);
  const std::vector<int64_t> exponent_offsets = BroadcastOffsets(exponent->dims, *dims);
  std::vector<double> powers;
  for (size_t i = 0; i < base_offsets.size(); ++i) {
    powers.push_back(
        std::pow(bases[static_cast<size_t>(base_offsets[i])], exponents[static_cast<size_t>(exponent_offsets[i])]));
  }
  if (base->floats() != nullptr) {
    for (double& v : powers) v = RoundToFloat(base->dtype, v);
    return Floats(base->dtype, *std::move(dims), std::move(powers));
  }
  std::vector<int64_t> rounded;
  for (double v : powers) {
    rounded.push_back(std::fabs(v) < 9.2e18 ? WrapToInteger(base->dtype, static_cast<int64_t>(v)) : kUnknownElement);
  }
  return Integers(base->dtype, *std::move(dims), std::move(rounded));
}

// Folds any number of inputs from the left with the operator's row for two.
Outputs Variadic(const FoldCall& call, Outputs (*combine)(const FoldCall&)) {
  if (call.num_inputs() == 0 || call.value(0) == nullptr) return {};
  Outputs result = {std::make_shared<Literal>(*call.value(0))};
  const onnx::NodeProto no_attributes;
  for (size_t i = 1; i < call.num_inputs() && !result.empty(); ++i) {
    const std::array<Input, 2> two = {Input{result[0].get(), nullptr, true}, Input{call.value(i), nullptr, true}};
    // Variadic operators have had NumPy broadcasting since version 8; before, equal shapes.
    result = combine(FoldCall(no_attributes, call.version() < 8 ? 1 : 8, two));
  }
  return result;
}

Outputs Max(const FoldCall& call) {
  return Variadic(call, [](const FoldCall& two) {
    return Binary(two, Known([](int64_t a, int64_t b) { return std::max(a, b); }),
                  [](double a, double b) { return std::isnan(a) || a > b ? a : b; });
  });
}

Outputs Min(const FoldCall& call) {
  return Variadic(call, [](const FoldCall& two) {
    return Binary(two, Known([](int64_t a, int64_t b) { return std::min(a, b); }),
                  [](double a, double b) { return std::isnan(a) || a < b ? a : b; });
  });
}

Outputs Sum(const FoldCall& call) { return Variadic(call, Add); }

Outputs Mean(const FoldCall& call) {
  Outputs sum = Variadic(call, Add);
  if (sum.empty() || sum[0]->floats() == nullptr) return {};
  const auto count = static_cast<double>(call.num_inputs());
  return MapElements(*sum[0], [](int64_t v) { return v; }, [count](double v) { return v / count; });
}

// A shift by the width or more (negative counts as such) leaves nothing, to the right the sign.
Outputs BitShift(const FoldCall& call) {
  if (call.string_attribute("direction", "") == "LEFT") {
    return BinaryBits(call, Known([](int64_t a, int64_t b) {
                        return b < 0 || b > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
                      }));
  }
  return BinaryBits(call, Known([](int64_t a, int64_t b) { return a >> (b < 0 ? 63 : std::min<int64_t>(b, 63)); }));
}

Outputs BitwiseAnd(const FoldCall& call) {
  return BinaryBits(call, Known([](int64_t a, int64_t b) { return a & b; }));
}

Outputs BitwiseOr(const FoldCall& call) {
  return BinaryBits(call, Known([](int64_t a, int64_t b) { return a | b; }));
}

Outputs BitwiseXor(const FoldCall& call) {
  return BinaryBits(call, Known([](int64_t a, int64_t b) { return a ^ b; }));
}

constexpr auto kArithmeticRows = std::to_array<FoldRow>({
    {"Add", Add, FoldNeeds::kPartial},
    {"BitShift", BitShift, FoldNeeds::kPartial},
    {"BitwiseAnd", BitwiseAnd, FoldNeeds::kPartial},
    {"BitwiseOr", BitwiseOr, FoldNeeds::kPartial},
    {"BitwiseXor", BitwiseXor, FoldNeeds::kPartial},
    {"Div", Div, FoldNeeds::kPartial},
    {"Max", Max, FoldNeeds::kPartial},
    {"Mean", Mean},
    {"Min", Min, FoldNeeds::kPartial},
    {"Mod", Mod, FoldNeeds::kPartial},
    {"Mul", Mul, FoldNeeds::kPartial},
    {"Pow", Pow},
    {"Sub", Sub, FoldNeeds::kPartial},
    {"Sum", Sum, FoldNeeds::kPartial},
});

}  // namespace

absl::Span<const FoldRow> ArithmeticRows() { return kArithmeticRows; }

}  // namespace onnx_mem::fold
