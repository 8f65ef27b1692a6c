// Operators whose result size or contents depend on which elements qualify: NonZero, Compress, Unique, TopK.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "analyzer/onnx/fold/fold.h"
#include "analyzer/order/stable_sort.h"

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

Outputs NonZero(const FoldCall& call) {
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

Outputs Compress(const FoldCall& call) {
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
  StableSort(order, [&](int64_t a, int64_t b) { return at(a) < at(b); });
  order.erase(std::unique(order.begin(), order.end(), [&](int64_t a, int64_t b) { return at(a) == at(b); }),
              order.end());
  if (!sorted) std::sort(order.begin(), order.end());
  return order;
}

// Element `i` of the result for each element of the input, and how often each occurs.
template <class T>
Outputs UniqueOf(const FoldCall& call, const Literal& x, const std::vector<T>& data) {
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

Outputs Unique(const FoldCall& call) {
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
      StableSort(order, [&](int64_t a, int64_t b) { return largest ? at(b) < at(a) : at(a) < at(b); });
      for (int64_t i = 0; i < k; ++i) {
        positions[static_cast<size_t>((outer * k + i) * split.inner + inner)] = order[static_cast<size_t>(i)];
      }
    }
  }
  return positions;
}

Outputs TopK(const FoldCall& call) {
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

constexpr auto kSelectionRows = std::to_array<FoldRow>({
    {"Compress", Compress},
    {"NonZero", NonZero},
    {"TopK", TopK},
    {"Unique", Unique},
});

}  // namespace

absl::Span<const FoldRow> SelectionRows() { return kSelectionRows; }

}  // namespace onnx_mem::fold
