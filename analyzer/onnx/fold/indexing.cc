// Operators that take elements by index: Gather, Slice, ScatterND. An index out of range leaves the result unknown.
#include <array>

#include "analyzer/onnx/fold/fold.h"

namespace onnx_mem::fold {
namespace {

// `index` in [-length, length) made non-negative.
std::optional<int64_t> NormalIndex(int64_t index, int64_t length) {
  if (index < -length || index >= length) return std::nullopt;
  return index < 0 ? index + length : index;
}

const std::vector<int64_t>* Indices(const FoldCall& call) {
  return call.value(1) != nullptr ? call.value(1)->ints() : nullptr;
}

Outputs Gather(const FoldCall& call) {
  const Literal& x = *call.value(0);
  const std::vector<int64_t>* indices = Indices(call);
  std::optional<size_t> axis = NormalAxis(call.int_attribute("axis", 0), x.dims.size());
  if (indices == nullptr || !axis) return {};
  const Dims& index_dims = call.value(1)->dims;
  Dims dims(x.dims.begin(), x.dims.begin() + static_cast<int64_t>(*axis));
  dims.insert(dims.end(), index_dims.begin(), index_dims.end());
  dims.insert(dims.end(), x.dims.begin() + static_cast<int64_t>(*axis) + 1, x.dims.end());
  if (!Count(dims)) return {};
  const AxisSplit split = SplitAt(x.dims, *axis);
  std::vector<int64_t> offsets;
  for (int64_t outer = 0; outer < split.outer; ++outer) {
    for (int64_t raw : *indices) {
      std::optional<int64_t> index = NormalIndex(raw, split.length);
      if (!index) return {};
      for (int64_t inner = 0; inner < split.inner; ++inner) {
        offsets.push_back((outer * split.length + *index) * split.inner + inner);
      }
    }
  }
  return Taken(x, std::move(dims), offsets);
}

// Offsets in a tensor of `dims` of the elements that indices of the same rank name along `axis`.
std::optional<std::vector<int64_t>> OffsetsAlongAxis(const Dims& dims, const Literal& indices, size_t axis) {
  if (indices.dims.size() != dims.size()) return std::nullopt;
  const Dims strides = StridesOf(dims);
  const Dims index_strides = StridesOf(indices.dims);
  std::vector<int64_t> offsets(indices.ints()->size(), 0);
  for (size_t i = 0; i < offsets.size(); ++i) {
    for (size_t k = 0; k < dims.size(); ++k) {
      int64_t at = static_cast<int64_t>(i) / index_strides[k] % indices.dims[k];
      if (k == axis) at = (*indices.ints())[i];
      std::optional<int64_t> index = NormalIndex(at, dims[k]);
      if (!index) return std::nullopt;
      offsets[i] += *index * strides[k];
    }
  }
  return offsets;
}

Outputs GatherElements(const FoldCall& call) {
  const Literal& x = *call.value(0);
  std::optional<size_t> axis = NormalAxis(call.int_attribute("axis", 0), x.dims.size());
  if (Indices(call) == nullptr || !axis) return {};
  auto offsets = OffsetsAlongAxis(x.dims, *call.value(1), *axis);
  if (!offsets) return {};
  return Taken(x, call.value(1)->dims, *offsets);
}

// Where each index tuple (the last axis of `indices`) of a batch points in a tensor of `dims`: the offset of the first
// of the elements that it names. The first `batch` axes are common to both.
std::optional<std::vector<int64_t>> TupleOffsets(const Dims& dims, const Literal& indices, size_t batch) {
  if (indices.dims.empty() || indices.dims.size() <= batch) return std::nullopt;
  const auto tuple = static_cast<size_t>(indices.dims.back());
  if (tuple == 0 || batch + tuple > dims.size()) return std::nullopt;
  int64_t batches = 1;
  for (size_t i = 0; i < batch; ++i) {
    if (indices.dims[i] != dims[i]) return std::nullopt;
    batches *= dims[i];
  }
  const Dims strides = StridesOf(dims);
  const int64_t tuples = static_cast<int64_t>(indices.ints()->size() / tuple);
  std::vector<int64_t> offsets;
  for (int64_t t = 0; t < tuples; ++t) {
    const int64_t batch_size = batch == 0 ? 0 : strides[batch - 1];
    int64_t offset = t / std::max<int64_t>(tuples / std::max<int64_t>(batches, 1), 1) * batch_size;
    for (size_t k = 0; k < tuple; ++k) {
      const int64_t raw = (*indices.ints())[static_cast<size_t>(t) * tuple + k];
      std::optional<int64_t> index = NormalIndex(raw, dims[batch + k]);
      if (!index) return std::nullopt;
      offset += *index * strides[batch + k];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

Outputs GatherND(const FoldCall& call) {
  const Literal& x = *call.value(0);
  const int64_t batch = call.int_attribute("batch_dims", 0);
  if (Indices(call) == nullptr || batch < 0 || static_cast<size_t>(batch) >= x.dims.size()) return {};
  const Literal& indices = *call.value(1);
  auto starts = TupleOffsets(x.dims, indices, static_cast<size_t>(batch));
  if (!starts) return {};
  const Dims tail(x.dims.begin() + batch + indices.dims.back(), x.dims.end());
  Dims dims(indices.dims.begin(), indices.dims.end() - 1);
  dims.insert(dims.end(), tail.begin(), tail.end());
  std::optional<int64_t> run = Count(tail);
  if (!Count(dims) || !run) return {};
  std::vector<int64_t> offsets;
  for (int64_t start : *starts) {
    for (int64_t i = 0; i < *run; ++i) offsets.push_back(start + i);
  }
  return Taken(x, std::move(dims), offsets);
}

// Along one axis: first element, how many, and the distance between them.
struct Cut {
  int64_t start = 0;
  int64_t count = 0;
  int64_t step = 1;
};

Cut CutOf(int64_t length, int64_t start, int64_t end, int64_t step) {
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? length : length - 1;
  const auto place = [&](int64_t at) {
    if (at < 0) at = at < -length ? -1 : at + length;  // beyond the front: clamped below
    return std::clamp(at, low, high);
  };
  Cut cut{step > 0 ? place(start) : std::clamp<int64_t>(place(start), -1, length - 1), 0, step};
  const int64_t stop = place(end);
  // Steps reach up to the ends of int64; the distance does not, so divide it, not the step.
  const int64_t distance = step > 0 ? stop - cut.start : cut.start - stop;
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : ~static_cast<uint64_t>(step) + 1;
  if (distance > 0) cut.count = static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride) + 1;
  return cut;
}

Outputs Slice(const FoldCall& call) {
  const Literal& x = *call.value(0);
  const auto starts = call.ints_input_or_attribute(1, "starts");
  const auto ends = call.ints_input_or_attribute(2, "ends");
  if (!starts || !ends || starts->size() != ends->size()) return {};
  auto axes = call.ints_input_or_attribute(3, "axes");
  auto steps = call.ints_input_or_attribute(4, "steps");
  if (!axes) {
    axes.emplace();
    for (size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<int64_t>(i));
  }
  if (!steps) steps.emplace(starts->size(), 1);
  if (axes->size() != starts->size() || steps->size() != starts->size()) return {};
  std::vector<Cut> cuts;
  for (int64_t dim : x.dims) cuts.push_back({0, dim, 1});
  for (size_t i = 0; i < starts->size(); ++i) {
    std::optional<size_t> axis = NormalAxis((*axes)[i], x.dims.size());
    if (!axis || (*steps)[i] == 0) return {};
    cuts[*axis] = CutOf(x.dims[*axis], (*starts)[i], (*ends)[i], (*steps)[i]);
  }
  Dims dims;
  for (const Cut& cut : cuts) dims.push_back(cut.count);
  Dims strides = StridesOf(x.dims);
  int64_t start = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] > 0) start += cuts[axis].start * strides[axis];
    // With one element the step, however large, is not taken.
    strides[axis] *= dims[axis] > 1 ? cuts[axis].step : 0;
  }
  return Taken(x, dims, StridedOffsets(dims, strides, start));
}

// `x` with `updates` written at `offsets`; only where elements replace, add or compete as `reduction` says.
template <class T>
Outputs Written(const Literal& x, const std::vector<int64_t>& offsets, int64_t run, const Literal& updates,
                std::string_view reduction) {
  const auto* source = std::get_if<std::vector<T>>(&updates.data);
  const auto* base = std::get_if<std::vector<T>>(&x.data);
  if (source == nullptr || base == nullptr || source->size() != offsets.size() * static_cast<size_t>(run)) return {};
  if (reduction != "none" && reduction != "max" && reduction != "min") return {};
  std::vector<T> data = *base;
  for (size_t i = 0; i < source->size(); ++i) {
    const auto at = static_cast<size_t>(offsets[i / static_cast<size_t>(run)]) + i % static_cast<size_t>(run);
    if (at >= data.size()) return {};
    const T& update = (*source)[i];
    if (reduction == "none" || (reduction == "max" ? data[at] < update : update < data[at])) data[at] = update;
  }
  auto result = std::make_shared<Literal>(x);
  result->data = std::move(data);
  return {std::move(result)};
}

Outputs Write(const Literal& x, const std::vector<int64_t>& offsets, int64_t run, const Literal& updates,
              std::string_view reduction) {
  if (run == 0) return {};
  if (x.ints() != nullptr) return Written<int64_t>(x, offsets, run, updates, reduction);
  if (x.floats() != nullptr) return Written<double>(x, offsets, run, updates, reduction);
  return Written<std::string>(x, offsets, run, updates, reduction);
}

Outputs ScatterElements(const FoldCall& call) {
  const Literal& x = *call.value(0);
  std::optional<size_t> axis = NormalAxis(call.int_attribute("axis", 0), x.dims.size());
  if (Indices(call) == nullptr || call.value(2) == nullptr || !axis) return {};
  auto offsets = OffsetsAlongAxis(x.dims, *call.value(1), *axis);
  if (!offsets) return {};
  return Write(x, *offsets, 1, *call.value(2), call.string_attribute("reduction", "none"));
}

Outputs ScatterND(const FoldCall& call) {
  const Literal& x = *call.value(0);
  if (Indices(call) == nullptr || call.value(2) == nullptr) return {};
  auto starts = TupleOffsets(x.dims, *call.value(1), 0);
  if (!starts) return {};
  const Dims tail(x.dims.begin() + call.value(1)->dims.back(), x.dims.end());
  return Write(x, *starts, Count(tail).value_or(0), *call.value(2), call.string_attribute("reduction", "none"));
}

constexpr auto kIndexingRows = std::to_array<FoldRow>({
    {"Gather", Gather, FoldNeeds::kPartial0},
    {"GatherElements", GatherElements, FoldNeeds::kPartial0},
    {"GatherND", GatherND, FoldNeeds::kPartial0},
    {"Scatter", ScatterElements},
    {"ScatterElements", ScatterElements},
    {"ScatterND", ScatterND},
    {"Slice", Slice, FoldNeeds::kPartial0},
});

}  // namespace

absl::Span<const FoldRow> IndexingRows() { return kIndexingRows; }

}  // namespace onnx_mem::fold
