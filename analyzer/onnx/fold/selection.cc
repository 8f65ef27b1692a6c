// Operators whose result size or contents depend on which elements qualify: NonZero, Compress, Unique, TopK; and those
// that place elements in a frame: Pad, Trilu, OneHot.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "analyzer/onnx/fold/fold.h"

namespace onnx_mem::fold {
namespace {

// Offsets of the elements that are not zero; nullopt for strings.
std::optional<std::vector<int64_t>> NonZeroOffsets(const Literal& x) {
  std::vector<int64_t> offsets;
  const auto collect = [&offsets](const auto& data) {
    for (size_t i = 0; i < data.size(); ++i) {
      if (data[i] != 0) offsets.push_back(static_cast<int64_t>(i));
    }
  };
  if (x.ints() != nullptr) {
    collect(*x.ints());
  } else if (x.floats() != nullptr) {
    collect(*x.floats());
  } else {
    return std::nullopt;
  }
  return offsets;
}

Outputs NonZero(const Call& call) {
  const Literal& x = *call.value(0);
  std::optional<std::vector<int64_t>> offsets = NonZeroOffsets(x);
  if (!offsets) return {};
  const Dims strides = StridesOf(x.dims);
  std::vector<int64_t> coordinates;
  for (size_t axis = 0; axis < x.dims.size(); ++axis) {
    for (int64_t offset : *offsets) coordinates.push_back(offset / strides[axis] % x.dims[axis]);
  }
  return Integers(DType::kInt64, {static_cast<int64_t>(x.dims.size()), static_cast<int64_t>(offsets->size())},
                  std::move(coordinates));
}

// Slices of `x` at `chosen` positions along `axis`.
Outputs TakeAlong(const Literal& x, size_t axis, absl::Span<const int64_t> chosen) {
  const AxisSplit split = SplitAt(x.dims, axis);
  Dims dims = x.dims;
  dims[axis] = static_cast<int64_t>(chosen.size());
  std::vector<int64_t> offsets;
  for (int64_t outer = 0; outer < split.outer; ++outer) {
    for (int64_t index : chosen) {
      for (int64_t inner = 0; inner < split.inner; ++inner) {
        offsets.push_back((outer * split.length + index) * split.inner + inner);
      }
    }
  }
  return Taken(x, std::move(dims), offsets);
}

// Input 0 flattened when the node has no `axis`.
Literal Flat(const Literal& x) {
  Literal flat = x;
  flat.dims = {Count(x.dims).value_or(0)};
  return flat;
}

Outputs Compress(const Call& call) {
  const Literal* condition = call.value(1);
  if (condition == nullptr || condition->ints() == nullptr) return {};
  const bool flat = call.attribute("axis") == nullptr;
  const Literal x = flat ? Flat(*call.value(0)) : *call.value(0);
  std::optional<size_t> axis = NormalAxis(call.int_attribute("axis", 0), x.dims.size());
  if (!axis) return {};
  std::vector<int64_t> chosen;
  for (size_t i = 0; i < condition->ints()->size(); ++i) {
    if ((*condition->ints())[i] == 0) continue;
    if (static_cast<int64_t>(i) >= x.dims[*axis]) return {};
    chosen.push_back(static_cast<int64_t>(i));
  }
  return TakeAlong(x, *axis, chosen);
}

// Positions of the distinct elements: sorted by value, or in order of first appearance.
template <class T>
std::vector<int64_t> DistinctPositions(const std::vector<T>& data, bool sorted) {
  std::vector<int64_t> order(data.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&data](int64_t i) -> const T& { return data[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return at(a) < at(b); });
  order.erase(std::unique(order.begin(), order.end(), [&](int64_t a, int64_t b) { return at(a) == at(b); }),
              order.end());
  if (!sorted) std::sort(order.begin(), order.end());
  return order;
}

// Element `i` of the result for each element of the input, and how often each occurs.
template <class T>
Outputs UniqueOf(const Call& call, const Literal& x, const std::vector<T>& data) {
  if constexpr (std::is_same_v<T, double>) {
    if (std::any_of(data.begin(), data.end(), [](double v) { return std::isnan(v); })) return {};
  }
  const std::vector<int64_t> first = DistinctPositions(data, call.int_attribute("sorted", 1) != 0);
  const auto distinct = static_cast<int64_t>(first.size());
  std::vector<int64_t> inverse;
  std::vector<int64_t> counts(first.size(), 0);
  std::vector<int64_t> by_value(first.size());
  std::iota(by_value.begin(), by_value.end(), 0);
  const auto value_of = [&](int64_t k) -> const T& { return data[static_cast<size_t>(first[static_cast<size_t>(k)])]; };
  std::sort(by_value.begin(), by_value.end(), [&](int64_t a, int64_t b) { return value_of(a) < value_of(b); });
  for (const T& v : data) {
    const auto found = std::lower_bound(by_value.begin(), by_value.end(), v,
                                        [&](int64_t k, const T& wanted) { return value_of(k) < wanted; });
    inverse.push_back(*found);
    ++counts[static_cast<size_t>(*found)];
  }
  Outputs outputs = Taken(x, {distinct}, first);
  for (auto& [dims, part] : {std::pair<Dims, std::vector<int64_t>>{{distinct}, first},
                             {{static_cast<int64_t>(data.size())}, inverse},
                             {{distinct}, counts}}) {
    Outputs one = Integers(DType::kInt64, dims, part);
    if (outputs.empty() || one.empty()) return {};
    outputs.push_back(std::move(one[0]));
  }
  outputs.resize(call.num_outputs());
  return outputs;
}

Outputs Unique(const Call& call) {
  if (call.attribute("axis") != nullptr && call.value(0)->dims.size() != 1) return {};
  if (call.num_outputs() > 4) return {};
  const Literal x = Flat(*call.value(0));
  return std::visit([&](const auto& data) { return UniqueOf(call, x, data); }, x.data);
}

template <class T>
std::vector<int64_t> BestPositions(const std::vector<T>& data, const AxisSplit& split, int64_t k, bool largest) {
  std::vector<int64_t> positions(static_cast<size_t>(split.outer * k * split.inner));
  std::vector<int64_t> order(static_cast<size_t>(split.length));
  for (int64_t outer = 0; outer < split.outer; ++outer) {
    for (int64_t inner = 0; inner < split.inner; ++inner) {
      const auto at = [&](int64_t i) {
        return data[static_cast<size_t>((outer * split.length + i) * split.inner + inner)];
      };
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t a, int64_t b) { return largest ? at(b) < at(a) : at(a) < at(b); });
      for (int64_t i = 0; i < k; ++i) {
        positions[static_cast<size_t>((outer * k + i) * split.inner + inner)] = order[static_cast<size_t>(i)];
      }
    }
  }
  return positions;
}

Outputs TopK(const Call& call) {
  const Literal& x = *call.value(0);
  const std::optional<int64_t> k = call.has(1) ? call.scalar(1) : call.int_attribute("k", -1);
  std::optional<size_t> axis = NormalAxis(call.int_attribute("axis", -1), x.dims.size());
  // Unsorted results may come in any order.
  if (!k || !axis || *k < 0 || *k > x.dims[*axis] || call.int_attribute("sorted", 1) == 0) return {};
  const AxisSplit split = SplitAt(x.dims, *axis);
  const bool largest = call.int_attribute("largest", 1) != 0;
  std::vector<int64_t> positions;
  if (x.ints() != nullptr) {
    positions = BestPositions(*x.ints(), split, *k, largest);
  } else if (x.floats() != nullptr) {
    for (double v : *x.floats()) {
      if (std::isnan(v)) return {};
    }
    positions = BestPositions(*x.floats(), split, *k, largest);
  } else {
    return {};
  }
  Dims dims = x.dims;
  dims[*axis] = *k;
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t outer = static_cast<int64_t>(i) / (*k * split.inner);
    offsets.push_back((outer * split.length + positions[i]) * split.inner + static_cast<int64_t>(i) % split.inner);
  }
  Outputs values = Taken(x, dims, offsets);
  Outputs indices = Integers(DType::kInt64, dims, std::move(positions));
  if (values.empty() || indices.empty() || call.num_outputs() > 2) return {};
  values.push_back(std::move(indices[0]));
  values.resize(call.num_outputs());
  return values;
}

Outputs Trilu(const Call& call) {
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

Outputs OneHot(const Call& call) {
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
std::vector<std::pair<int64_t, int64_t>> PadAmounts(const Call& call, size_t rank) {
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

Outputs Pad(const Call& call) {
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

constexpr auto kSelectionRows = std::to_array<Row>({
    {"Compress", Compress},
    {"NonZero", NonZero},
    {"OneHot", OneHot},
    {"Pad", Pad},
    {"TopK", TopK},
    {"Trilu", Trilu},
    {"Unique", Unique},
});

}  // namespace

absl::Span<const Row> SelectionRows() { return kSelectionRows; }

}  // namespace onnx_mem::fold
