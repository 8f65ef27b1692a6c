// Operators whose result is a truth value, and Where, which consumes one.
#include <array>
#include <cmath>
#include <functional>
#include <string>

#include "analyzer/onnx/fold/elementwise.h"

namespace onnx_mem::fold {
namespace {

template <class Op>
Outputs Compare(const FoldCall& call, Op op) {
  std::optional<Pairing> pairing = Pair(call);
  if (!pairing) return {};
  std::vector<int64_t> result;
  if (pairing->a->ints() != nullptr) {
    result = Combine<int64_t, int64_t>(*pairing, Known([op](int64_t a, int64_t b) { return op(a, b) ? 1 : 0; }));
  } else if (pairing->a->floats() != nullptr) {
    result = Combine<int64_t, double>(*pairing, [op](double a, double b) -> int64_t { return op(a, b) ? 1 : 0; });
  } else {
    result = Combine<int64_t, std::string>(
        *pairing, [op](const std::string& a, const std::string& b) -> int64_t { return op(a, b) ? 1 : 0; });
  }
  return Integers(DType::kBool, pairing->dims, std::move(result));
}

Outputs Equal(const FoldCall& call) { return Compare(call, std::equal_to<>()); }
Outputs Greater(const FoldCall& call) { return Compare(call, std::greater<>()); }
Outputs GreaterOrEqual(const FoldCall& call) { return Compare(call, std::greater_equal<>()); }
Outputs Less(const FoldCall& call) { return Compare(call, std::less<>()); }
Outputs LessOrEqual(const FoldCall& call) { return Compare(call, std::less_equal<>()); }

// `decisive` is the operand that settles the result whatever the other one is.
template <class Op>
Outputs Logical(const FoldCall& call, std::optional<int64_t> decisive, Op op) {
  std::optional<Pairing> pairing = Pair(call);
  if (!pairing || pairing->a->ints() == nullptr) return {};
  return Integers(DType::kBool, pairing->dims,
                  Combine<int64_t, int64_t>(*pairing, [&](int64_t a, int64_t b) -> int64_t {
                    if (decisive && (a == *decisive || b == *decisive)) return *decisive;
                    if (a == kUnknownElement || b == kUnknownElement) return kUnknownElement;
                    return op(a != 0, b != 0) ? 1 : 0;
                  }));
}

Outputs And(const FoldCall& call) { return Logical(call, 0, std::logical_and<>()); }
Outputs Or(const FoldCall& call) { return Logical(call, 1, std::logical_or<>()); }
Outputs Xor(const FoldCall& call) { return Logical(call, std::nullopt, std::not_equal_to<>()); }

Outputs Not(const FoldCall& call) {
  const Literal& x = *call.value(0);
  if (x.dtype != DType::kBool) return {};
  return MapElements(x, [](int64_t v) -> int64_t { return v == 0 ? 1 : 0; }, [](double v) { return v; });
}

template <class Test>
Outputs Classify(const FoldCall& call, Test test) {
  const std::vector<double>* floats = call.value(0)->floats();
  if (floats == nullptr) return {};
  std::vector<int64_t> result;
  for (double v : *floats) result.push_back(test(v) ? 1 : 0);
  return Integers(DType::kBool, call.value(0)->dims, std::move(result));
}

Outputs IsInf(const FoldCall& call) {
  const bool negative = call.int_attribute("detect_negative", 1) != 0;
  const bool positive = call.int_attribute("detect_positive", 1) != 0;
  return Classify(call, [=](double v) { return std::isinf(v) && (v < 0 ? negative : positive); });
}

Outputs IsNaN(const FoldCall& call) {
  return Classify(call, [](double v) { return std::isnan(v); });
}

template <class T>
std::optional<std::vector<T>> Select(const std::vector<int64_t>& condition, const std::vector<int64_t>& c_offsets,
                                     const std::vector<T>& x, const std::vector<int64_t>& x_offsets,
                                     const std::vector<T>& y, const std::vector<int64_t>& y_offsets) {
  std::vector<T> result;
  for (size_t i = 0; i < c_offsets.size(); ++i) {
    const int64_t choice = condition[static_cast<size_t>(c_offsets[i])];
    const T& a = x[static_cast<size_t>(x_offsets[i])];
    const T& b = y[static_cast<size_t>(y_offsets[i])];
    if (choice != kUnknownElement || a == b) {
      result.push_back(choice != 0 ? a : b);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      result.push_back(kUnknownElement);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

Outputs Where(const FoldCall& call) {
  const Literal* condition = call.value(0);
  const Literal* x = call.value(1);
  const Literal* y = call.value(2);
  if (condition == nullptr || x == nullptr || y == nullptr || condition->ints() == nullptr) return {};
  if (x->dtype != y->dtype) return {};
  std::optional<Dims> dims = BroadcastDims({&condition->dims, &x->dims, &y->dims});
  if (!dims) return {};
  const std::vector<int64_t> c_offsets = BroadcastOffsets(condition->dims, *dims);
  const std::vector<int64_t> x_offsets = BroadcastOffsets(x->dims, *dims);
  const std::vector<int64_t> y_offsets = BroadcastOffsets(y->dims, *dims);
  if (x->ints() != nullptr) {
    return Integers(x->dtype, *dims,
                    *Select(*condition->ints(), c_offsets, *x->ints(), x_offsets, *y->ints(), y_offsets));
  }
  if (x->floats() == nullptr) return {};
  auto chosen = Select(*condition->ints(), c_offsets, *x->floats(), x_offsets, *y->floats(), y_offsets);
  if (!chosen) return {};
  return Floats(x->dtype, *dims, *std::move(chosen));
}

constexpr auto kComparisonRows = std::to_array<FoldRow>({
    {"And", And, FoldNeeds::kPartial},
    {"Equal", Equal, FoldNeeds::kPartial},
    {"Greater", Greater, FoldNeeds::kPartial},
    {"GreaterOrEqual", GreaterOrEqual, FoldNeeds::kPartial},
    {"IsInf", IsInf},
    {"IsNaN", IsNaN},
    {"Less", Less, FoldNeeds::kPartial},
    {"LessOrEqual", LessOrEqual, FoldNeeds::kPartial},
    {"Not", Not, FoldNeeds::kPartial},
    {"Or", Or, FoldNeeds::kPartial},
    {"Where", Where, FoldNeeds::kPartial},
    {"Xor", Xor, FoldNeeds::kPartial},
});

}  // namespace

absl::Span<const FoldRow> ComparisonRows() { return kComparisonRows; }

}  // namespace onnx_mem::fold
