// Operators that give the same elements another shape or order: Reshape, Transpose, Concat, Split, Expand, Tile.
// All of them carry unknown elements along.
#include <array>
#include <numeric>

#include "analyzer/onnx/fold/fold.h"

namespace onnx_mem::fold {
namespace {

// The same elements in the same order.
Outputs Reshaped(const Literal& x, Dims dims) {
  if (Count(dims) != Count(x.dims)) return {};
  auto result = std::make_shared<Literal>(x);
  result->dims = std::move(dims);
  return {std::move(result)};
}

Outputs Identity(const FoldCall& call) { return {std::make_shared<Literal>(*call.value(0))}; }

// Operators of training that pass their input on when the file is run for inference; `mask` outputs stay unknown.
Outputs Dropout(const FoldCall& call) {
  if (call.num_outputs() != 1) return {};
  if (call.has(2) && call.scalar(2) != 0) return {};
  return Identity(call);
}

Outputs Reshape(const FoldCall& call) {
  const Literal& x = *call.value(0);
  std::optional<std::vector<int64_t>> target = call.ints_input_or_attribute(1, "shape");
  if (!target) return {};
  const bool allow_zero = call.int_attribute("allowzero", 0) != 0;
  Dims dims(target->begin(), target->end());
  int64_t known = 1;
  std::optional<size_t> inferred;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allow_zero) {
      if (i >= x.dims.size()) return {};
      dims[i] = x.dims[i];
    }
    if (dims[i] == -1) {
      if (inferred) return {};
      inferred = i;
      continue;
    }
    if (dims[i] < 0 || dims[i] > kMaxElements) return {};
    known *= dims[i];
    if (known > kMaxElements) return {};
  }
  if (inferred) {
    const int64_t count = Count(x.dims).value_or(0);
    if (known == 0 || count % known != 0) return {};
    dims[*inferred] = count / known;
  }
  return Reshaped(x, std::move(dims));
}

Outputs Flatten(const FoldCall& call) {
  const Literal& x = *call.value(0);
  int64_t axis = call.int_attribute("axis", 1);
  const auto rank = static_cast<int64_t>(x.dims.size());
  if (axis < -rank || axis > rank) return {};
  if (axis < 0) axis += rank;
  const auto middle = x.dims.begin() + axis;
  return Reshaped(x, {std::accumulate(x.dims.begin(), middle, int64_t{1}, std::multiplies<>()),
                      std::accumulate(middle, x.dims.end(), int64_t{1}, std::multiplies<>())});
}

Outputs Squeeze(const FoldCall& call) {
  const Literal& x = *call.value(0);
  const bool all = !call.has(1) && call.attribute("axes") == nullptr;
  std::vector<bool> drop(x.dims.size(), false);
  if (all) {
    for (size_t i = 0; i < x.dims.size(); ++i) drop[i] = x.dims[i] == 1;
  } else {
    std::optional<std::vector<int64_t>> axes = call.ints_input_or_attribute(1, "axes");
    if (!axes) return {};
    for (int64_t axis : *axes) {
      std::optional<size_t> normal = NormalAxis(axis, x.dims.size());
      if (!normal || x.dims[*normal] != 1) return {};
      drop[*normal] = true;
    }
  }
  Dims dims;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (!drop[i]) dims.push_back(x.dims[i]);
  }
  return Reshaped(x, std::move(dims));
}

Outputs Unsqueeze(const FoldCall& call) {
  const Literal& x = *call.value(0);
  std::optional<std::vector<int64_t>> axes = call.ints_input_or_attribute(1, "axes");
  if (!axes || axes->size() > 64) return {};
  const size_t rank = x.dims.size() + axes->size();
  std::vector<bool> inserted(rank, false);
  for (int64_t axis : *axes) {
    std::optional<size_t> normal = NormalAxis(axis, rank);
    if (!normal || inserted[*normal]) return {};
    inserted[*normal] = true;
  }
  Dims dims;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) dims.push_back(inserted[i] ? 1 : x.dims[next++]);
  return Reshaped(x, std::move(dims));
}

Outputs Transpose(const FoldCall& call) {
  const Literal& x = *call.value(0);
  const size_t rank = x.dims.size();
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  if (const onnx::AttributeProto* perm = call.attribute("perm")) {
    if (static_cast<size_t>(perm->ints_size()) != rank) return {};
    std::vector<bool> seen(rank, false);
    for (size_t i = 0; i < rank; ++i) {
      std::optional<size_t> axis = NormalAxis(perm->ints(static_cast<int>(i)), rank);
      if (!axis || seen[*axis]) return {};
      seen[*axis] = true;
      order[i] = *axis;
    }
  }
  const Dims strides = StridesOf(x.dims);
  Dims dims(rank, 0);
  Dims moved(rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = x.dims[order[i]];
    moved[i] = strides[order[i]];
  }
  return Taken(x, dims, StridedOffsets(dims, moved, 0));
}

Outputs Expand(const FoldCall& call) {
  const Literal& x = *call.value(0);
  if (call.value(1) == nullptr || call.value(1)->ints() == nullptr) return {};
  const Dims target(call.value(1)->ints()->begin(), call.value(1)->ints()->end());
  std::optional<Dims> dims = BroadcastDims({&x.dims, &target});
  if (!dims) return {};
  return Taken(x, *dims, BroadcastOffsets(x.dims, *dims));
}

Outputs Tile(const FoldCall& call) {
  const Literal& x = *call.value(0);
  if (call.version() < 6) return {};  // another meaning: tiles along one axis
  if (call.value(1) == nullptr || call.value(1)->ints() == nullptr) return {};
  const std::vector<int64_t>& repeats = *call.value(1)->ints();
  if (repeats.size() != x.dims.size()) return {};
  Dims dims = x.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] < 0 || repeats[i] > kMaxElements) return {};
    dims[i] *= repeats[i];
  }
  std::optional<int64_t> count = Count(dims);
  if (!count) return {};
  const Dims strides = StridesOf(x.dims);
  const Dims out_strides = StridesOf(dims);
  std::vector<int64_t> offsets(static_cast<size_t>(*count), 0);
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    for (size_t i = 0; i < offsets.size(); ++i) {
      const int64_t index = static_cast<int64_t>(i) / out_strides[axis] % dims[axis];
      offsets[i] += index % x.dims[axis] * strides[axis];
    }
  }
  return Taken(x, std::move(dims), offsets);
}

template <class T>
Outputs Joined(const FoldCall& call, size_t axis, Dims dims) {
  const Literal& first = *call.value(0);
  const AxisSplit whole = SplitAt(dims, axis);
  std::vector<T> data(static_cast<size_t>(Count(dims).value_or(0)));
  int64_t at = 0;  // position along the axis
  for (size_t k = 0; k < call.num_inputs(); ++k) {
    const Literal& part = *call.value(k);
    const auto* source = std::get_if<std::vector<T>>(&part.data);
    if (source == nullptr || part.dtype != first.dtype) return {};
    const int64_t run = part.dims[axis] * whole.inner;
    for (int64_t outer = 0; outer < whole.outer; ++outer) {
      std::copy_n(source->begin() + outer * run, run, data.begin() + (outer * whole.length + at) * whole.inner);
    }
    at += part.dims[axis];
  }
  auto result = std::make_shared<Literal>();
  result->dtype = first.dtype;
  result->dims = std::move(dims);
  result->data = std::move(data);
  return {std::move(result)};
}

Outputs Concat(const FoldCall& call) {
  if (call.num_inputs() == 0) return {};
  for (size_t k = 0; k < call.num_inputs(); ++k) {
    if (call.value(k) == nullptr) return {};
  }
  const Literal& first = *call.value(0);
  // Version 1 has a default; later ones require the attribute.
  std::optional<size_t> axis = NormalAxis(call.int_attribute("axis", call.version() < 4 ? 1 : 0), first.dims.size());
  if (!axis) return {};
  Dims dims = first.dims;
  for (size_t k = 1; k < call.num_inputs(); ++k) {
    const Dims& more = call.value(k)->dims;
    if (more.size() != dims.size()) return {};
    for (size_t i = 0; i < dims.size(); ++i) {
      if (i != *axis && more[i] != dims[i]) return {};
    }
    dims[*axis] += more[*axis];
  }
  if (!Count(dims)) return {};
  if (first.ints() != nullptr) return Joined<int64_t>(call, *axis, std::move(dims));
  if (first.floats() != nullptr) return Joined<double>(call, *axis, std::move(dims));
  return Joined<std::string>(call, *axis, std::move(dims));
}

// Lengths of the parts along `axis`: as given, or equal ones (the last may be shorter with num_outputs).
std::optional<std::vector<int64_t>> SplitLengths(const FoldCall& call, int64_t length) {
  std::optional<std::vector<int64_t>> given = call.ints_input_or_attribute(1, "split");
  if (given) {
    int64_t total = 0;
    for (int64_t part : *given) {
      if (part < 0 || part > length) return std::nullopt;
      total += part;
    }
    return given->size() == call.num_outputs() && total == length ? given : std::nullopt;
  }
  if (call.has(1)) return std::nullopt;
  const auto parts = static_cast<int64_t>(call.num_outputs());
  const int64_t size = (length + parts - 1) / parts;
  if (length % parts != 0 && (call.version() < 18 || length - size * (parts - 1) < 0)) return std::nullopt;
  std::vector<int64_t> lengths(static_cast<size_t>(parts), size);
  lengths.back() = length - size * (parts - 1);
  return lengths;
}

Outputs Split(const FoldCall& call) {
  const Literal& x = *call.value(0);
  std::optional<size_t> axis = NormalAxis(call.int_attribute("axis", 0), x.dims.size());
  if (!axis || call.num_outputs() == 0) return {};
  const AxisSplit whole = SplitAt(x.dims, *axis);
  std::optional<std::vector<int64_t>> lengths = SplitLengths(call, whole.length);
  if (!lengths) return {};
  Outputs outputs;
  int64_t at = 0;
  for (int64_t length : *lengths) {
    Dims dims = x.dims;
    dims[*axis] = length;
    std::vector<int64_t> offsets;
    for (int64_t outer = 0; outer < whole.outer; ++outer) {
      for (int64_t i = 0; i < length * whole.inner; ++i) {
        offsets.push_back((outer * whole.length + at) * whole.inner + i);
      }
    }
    Outputs part = Taken(x, std::move(dims), offsets);
    if (part.empty()) return {};
    outputs.push_back(std::move(part[0]));
    at += length;
  }
  return outputs;
}

constexpr auto kLayoutRows = std::to_array<FoldRow>({
    {"Concat", Concat, FoldNeeds::kPartial},
    {"Dropout", Dropout, FoldNeeds::kPartial0},
    {"Expand", Expand, FoldNeeds::kPartial0},
    {"Flatten", Flatten, FoldNeeds::kPartial0},
    {"Identity", Identity, FoldNeeds::kPartial0},
    {"Reshape", Reshape, FoldNeeds::kPartial0},
    {"Split", Split, FoldNeeds::kPartial0},
    {"Squeeze", Squeeze, FoldNeeds::kPartial0},
    {"Tile", Tile, FoldNeeds::kPartial0},
    {"Transpose", Transpose, FoldNeeds::kPartial0},
    {"Unsqueeze", Unsqueeze, FoldNeeds::kPartial0},
});

}  // namespace

absl::Span<const FoldRow> LayoutRows() { return kLayoutRows; }

}  // namespace onnx_mem::fold
