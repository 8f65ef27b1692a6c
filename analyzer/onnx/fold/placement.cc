// Operators that place elements in a frame: Pad, Trilu, OneHot.
#include <algorithm>
#include <array>
#include <numeric>

#include "analyzer/onnx/fold/fold.h"

namespace onnx_mem::fold {
namespace {

Outputs Trilu(const FoldCall& call) {
  const Literal& x = *call.value(0);
  if (x.dims.size() < 2 || (call.has(1) && !call.scalar(1))) return {};
  const int64_t diagonal = call.scalar(1).value_or(0);
  const bool upper = call.int_attribute("upper", 1) != 0;
  const int64_t columns = x.dims.back();
  const int64_t rows = x.dims[x.dims.size() - 2];
  auto result = std::make_shared<Literal>(x);
  const auto clear = [&](auto& data) {
    for (size_t i = 0; i < data.size(); ++i) {
      const int64_t distance = static_cast<int64_t>(i) % columns - static_cast<int64_t>(i) / columns % rows;
      if (upper ? distance < diagonal : distance > diagonal) data[i] = {};
    }
  };
  std::visit(clear, result->data);
  return {std::move(result)};
}

Outputs OneHot(const FoldCall& call) {
  const Literal& indices = *call.value(0);
  const std::optional<int64_t> depth = call.scalar(1);
  const Literal* values = call.value(2);  // off, on
  if (!depth || *depth <= 0 || *depth > kMaxElements || values == nullptr || Count(values->dims) != 2) return {};
  if (indices.ints() == nullptr) return {};
  std::optional<size_t> axis = NormalAxis(call.int_attribute("axis", -1), indices.dims.size() + 1);
  if (!axis) return {};
  Dims dims = indices.dims;
  dims.insert(dims.begin() + static_cast<int64_t>(*axis), *depth);
  std::optional<int64_t> count = Count(dims);
  if (!count) return {};
  const AxisSplit split = SplitAt(dims, *axis);
  std::vector<int64_t> offsets(static_cast<size_t>(*count), 0);
  for (size_t i = 0; i < indices.ints()->size(); ++i) {
    int64_t index = (*indices.ints())[i];
    if (index < -*depth || index >= *depth) continue;  // all off
    if (index < 0) index += *depth;
    const int64_t outer = static_cast<int64_t>(i) / split.inner;
    offsets[static_cast<size_t>((outer * *depth + index) * split.inner + static_cast<int64_t>(i) % split.inner)] = 1;
  }
  return Taken(*values, std::move(dims), offsets);
}

// Where position `at` of a padded axis reads from; nullopt where it holds the constant.
std::optional<int64_t> PadSource(std::string_view mode, int64_t at, int64_t length) {
  if (at >= 0 && at < length) return at;
  if (mode == "edge") return at < 0 ? 0 : length - 1;
  if (mode == "wrap") return (at % length + length) % length;
  if (mode == "reflect") {
    if (length == 1) return 0;
    const int64_t period = 2 * (length - 1);
    const int64_t phase = (at % period + period) % period;
    return phase < length ? phase : period - phase;
  }
  return std::nullopt;
}

// Begin and end of each axis; empty where they do not fit.
std::vector<std::pair<int64_t, int64_t>> PadAmounts(const FoldCall& call, size_t rank) {
  auto pads = call.ints_input_or_attribute(1, "pads");
  if (!pads) return {};
  std::vector<std::pair<int64_t, int64_t>> amounts(rank, {0, 0});
  auto axes = call.ints_input_or_attribute(3, "axes");
  if (!axes) {
    axes.emplace(rank);
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (pads->size() != 2 * axes->size()) return {};
  for (size_t i = 0; i < axes->size(); ++i) {
    std::optional<size_t> axis = NormalAxis((*axes)[i], rank);
    if (!axis) return {};
    amounts[*axis] = {(*pads)[i], (*pads)[i + axes->size()]};
    if (std::max(std::abs(amounts[*axis].first), std::abs(amounts[*axis].second)) > kMaxElements) return {};
  }
  return amounts;
}

Outputs Pad(const FoldCall& call) {
  const Literal& x = *call.value(0);
  const auto amounts = PadAmounts(call, x.dims.size());
  if (amounts.size() != x.dims.size() || Count(x.dims) == 0) return {};
  const std::string_view mode = call.string_attribute("mode", "constant");
  Dims dims;
  for (size_t i = 0; i < amounts.size(); ++i) dims.push_back(x.dims[i] + amounts[i].first + amounts[i].second);
  std::optional<int64_t> count = Count(dims);
  if (!count) return {};
  // The constant stands behind the elements, so that one Taken serves both.
  Literal source = x;
  if (call.has(2) && (call.value(2)->data.index() != x.data.index() || Count(call.value(2)->dims) != 1)) return {};
  std::visit(
      [&](auto& data) {
        using T = typename std::decay_t<decltype(data)>::value_type;
        T constant{};
        if (call.has(2)) constant = std::get<std::vector<T>>(call.value(2)->data).front();
        if constexpr (std::is_same_v<T, double>) {
          if (!call.has(2)) constant = call.float_attribute("value", 0);
        }
        data.push_back(constant);
      },
      source.data);
  const int64_t constant_at = *Count(x.dims);
  const Dims strides = StridesOf(x.dims);
  const Dims out_strides = StridesOf(dims);
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < *count; ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < dims.size() && offset != constant_at; ++axis) {
      const int64_t at = i / out_strides[axis] % dims[axis] - amounts[axis].first;
      std::optional<int64_t> from = PadSource(mode, at, x.dims[axis]);
      offset = from ? offset + *from * strides[axis] : constant_at;
    }
    offsets.push_back(offset);
  }
  return Taken(source, std::move(dims), offsets);
}

constexpr auto kPlacementRows = std::to_array<FoldRow>({
    {"OneHot", OneHot},
    {"Pad", Pad},
    {"Trilu", Trilu},
});

}  // namespace

absl::Span<const FoldRow> PlacementRows() { return kPlacementRows; }

}  // namespace onnx_mem::fold
