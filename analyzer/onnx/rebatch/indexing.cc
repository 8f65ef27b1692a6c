// Operators that pick elements: lists of indices and bounds of slices that were written for one batch.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "analyzer/onnx/rebatch/rule.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

// The ends of a Slice from 0 to what `size(axis)` was, scaled as `traces` of that axis say.
template <class F>
std::optional<ContentsEdit> EditEnds(const BatchSite& site, size_t rank, const Traces& traces, F size) {
  constexpr size_t kStarts = 1, kEnds = 2, kAxes = 3;
  const auto *starts = IntsAt(site, kStarts), *ends = IntsAt(site, kEnds), *axes = IntsAt(site, kAxes);
  if (starts == nullptr || ends == nullptr || !InputAt(site, kEnds).baked) return std::nullopt;
  ContentsEdit edit{.input = kEnds, .base = *ends, .elements = Traces(ends->size())};
  for (size_t i = 0; i < ends->size() && i < starts->size(); ++i) {
    const auto axis = Axis(axes != nullptr && i < axes->size() ? (*axes)[i] : static_cast<int64_t>(i), rank);
    if (axis && traces[*axis].any() && (*starts)[i] == 0 && (*ends)[i] == size(*axis)) edit.elements[i] = traces[*axis];
  }
  return AnyScaled(edit.elements) ? std::optional(std::move(edit)) : std::nullopt;
}

// Slice along a scaled dim up to the exported size was a slice of the whole.
Ruling FollowSlice(const BatchSite& site) {
  Ruling ruling;
  const Operand& data = InputAt(site, 0);
  if (!Known(data)) return ruling;
  auto edit = EditEnds(site, data.base.rank(), data.traces, [&](size_t axis) { return data.base.dims[axis]; });
  if (edit) ruling.edits.push_back(*std::move(edit));
  return ruling;
}

// A table cut to the exported size (mask[:, :, :length, :length]) is cut further out; what is not cut has to follow.
Ruling GrantSlice(const BatchSite& site, int) {
  const Operand &data = InputAt(site, 0), &out = site.outputs[0];
  if (!Known(data) || data.base.rank() != out.base.rank()) return NotUnderstood();
  Ruling ruling;
  Traces below(out.base.rank());
  Traces cut(out.base.rank());
  for (size_t d = 0; d < out.base.rank(); ++d) (data.base.dims[d] == out.base.dims[d] ? below : cut)[d] = out.traces[d];
  auto edit = EditEnds(site, out.base.rank(), cut, [&](size_t axis) { return out.base.dims[axis]; });
  if (AnyScaled(cut) && !edit) return NotUnderstood();
  if (edit) ruling.edits.push_back(*std::move(edit));
  AskAligned(site, 0, below, ruling);
  return OrNotUnderstood(std::move(ruling));
}

// Advanced indexing and strided views are exported as lists of indices. Where a list names every place of the first
// `depth` dims of data once and in order, the operator is a reshape of those dims and its list follows them.
// `place(i)`: what the i-th index names, counted row by row.
template <class F>
Ruling FollowEnumeration(const BatchSite& site, size_t depth, size_t count, const Dims& list, F place) {
  const Operand &data = InputAt(site, 0), &indices = InputAt(site, 1);
  const Dims dims(data.base.dims.begin(), data.base.dims.begin() + static_cast<std::ptrdiff_t>(depth));
  const Traces traces(data.traces.begin(), data.traces.begin() + static_cast<std::ptrdiff_t>(depth));
  if (!AnyScaled(traces) || AnyScaled(indices.traces) || NumElements(Shape(dims)) != static_cast<int64_t>(count))
    return {};
  for (size_t i = 0; i < count; ++i) {
    if (place(i) != static_cast<int64_t>(i)) return {};
  }
  auto wanted = Reshaped(dims, traces, list, site.variables);
  if (!wanted) return {};
  wanted->resize(indices.base.rank());
  Ruling ruling;
  WishFor(site, 1, *wanted, ruling, Ones::kScale);
  return ruling;
}

Ruling FollowGather(const BatchSite& site) {
  const Operand &data = InputAt(site, 0), &indices = InputAt(site, 1);
  const std::vector<int64_t>* contents = IntsAt(site, 1);
  if (!Known(data) || !Known(indices) || data.base.rank() == 0 || contents == nullptr) return {};
  if (IntOf(site, "axis").value_or(0) != 0 || contents->size() == 1) return {};
  return FollowEnumeration(site, 1, contents->size(), indices.base.dims, [&](size_t i) { return (*contents)[i]; });
}

// The dim of the list of `indices` along which coordinate `d` counts 0, 1, 2, ... and no other coordinate changes:
// mask[batch, key] for every [batch, 1, query, key] of an attention, as transformers has it (masking_utils.py,
// padding_mask_function). With an exported size of 1, where nothing counts, the first dim of 1. nullopt without one.
std::optional<size_t> CountedBy(const Operand& indices, const std::vector<int64_t>& contents, size_t d, int64_t size) {
  const Dims list(indices.base.dims.begin(), indices.base.dims.end() - 1);
  const auto width = static_cast<size_t>(indices.base.dims.back());
  for (size_t dim = 0; dim < list.size(); ++dim) {
    if (list[dim] != size) continue;
    size_t inner = width;  // numbers from one place of `dim` to the next
    for (size_t i = dim + 1; i < list.size(); ++i) inner *= static_cast<size_t>(list[i]);
    const auto counts = [&](size_t at) {
      const size_t step = at / inner % static_cast<size_t>(size);
      if (at % width == d) return contents[at] == static_cast<int64_t>(step);
      return step == 0 || contents[at] == contents[at - inner];
    };
    bool all = true;
    for (size_t at = 0; at < contents.size() && all; ++at) all = counts(at);
    if (all) return dim;
  }
  return std::nullopt;
}

// A list in which the scaled dims of data are each counted by a dim of its own follows them there.
Ruling FollowCounting(const BatchSite& site, const std::vector<int64_t>& contents, size_t width) {
  const Operand &data = InputAt(site, 0), &indices = InputAt(site, 1);
  if (AnyScaled(indices.traces)) return {};
  Traces wanted(indices.base.rank());
  for (size_t d = 0; d < width; ++d) {
    if (!data.traces[d].any()) continue;
    const std::optional<size_t> dim = CountedBy(indices, contents, d, data.base.dims[d]);
    if (!dim || wanted[*dim].any()) return {};
    wanted[*dim] = data.traces[d];
  }
  Ruling ruling;
  if (AnyScaled(wanted)) WishFor(site, 1, wanted, ruling, Ones::kScale);
  return ruling;
}

Ruling FollowGatherND(const BatchSite& site) {
  const Operand &data = InputAt(site, 0), &indices = InputAt(site, 1);
  const std::vector<int64_t>* contents = IntsAt(site, 1);
  if (!Known(data) || !Known(indices) || indices.base.rank() == 0 || contents == nullptr) return {};
  const auto width = static_cast<size_t>(indices.base.dims.back());
  if (IntOf(site, "batch_dims").value_or(0) != 0 || width == 0 || width > data.base.rank()) return {};
  const auto place = [&](size_t i) {
    uint64_t at = 0;  // unsigned: contents may be anything
    for (size_t d = 0; d < width; ++d) {
      at = at * static_cast<uint64_t>(data.base.dims[d]) + static_cast<uint64_t>((*contents)[i * width + d]);
    }
    return static_cast<int64_t>(at);
  };
  const Dims list(indices.base.dims.begin(), indices.base.dims.end() - 1);
  Ruling enumeration = FollowEnumeration(site, width, contents->size() / width, list, place);
  return enumeration.wishes.empty() ? FollowCounting(site, *contents, width) : std::move(enumeration);
}

// GatherElements: the output has the indices' size.
Ruling GrantElements(const BatchSite& site, int) {
  if (!Known(InputAt(site, 1))) return NotUnderstood();
  Ruling ruling;
  AskAligned(site, 1, site.outputs[0].traces, ruling);
  return OrNotUnderstood(std::move(ruling));
}

// out = data dims before the axis, index dims, data dims after it.
Ruling GrantGather(const BatchSite& site, int) {
  const Operand &data = InputAt(site, 0), &indices = InputAt(site, 1), &out = site.outputs[0];
  if (!Known(data) || !Known(indices)) return NotUnderstood();
  const auto axis = Axis(IntOf(site, "axis").value_or(0), data.base.rank());
  if (!axis || out.base.rank() + 1 != data.base.rank() + indices.base.rank()) return NotUnderstood();
  Traces of_data(data.base.rank()), of_indices(indices.base.rank());
  for (size_t d = 0; d < out.base.rank(); ++d) {
    if (d < *axis) {
      of_data[d] = out.traces[d];
    } else if (d < *axis + indices.base.rank()) {
      of_indices[d - *axis] = out.traces[d];
    } else {
      of_data[d + 1 - indices.base.rank()] = out.traces[d];
    }
  }
  Ruling ruling;
  WishFor(site, 0, of_data, ruling);
  WishFor(site, 1, of_indices, ruling);
  return ruling;
}

// GatherElements, ScatterElements: indices (and updates) lie within data, dim by dim.
Ruling FollowElements(const BatchSite& site) {
  Ruling ruling;
  const Operand& data = InputAt(site, 0);
  for (size_t i : {size_t{1}, size_t{2}}) {
    const Operand& operand = InputAt(site, i);
    if (!Known(data) || !Known(operand) || operand.base.rank() != data.base.rank()) continue;
    Traces traces(data.base.rank());
    for (size_t d = 0; d < traces.size(); ++d) {
      if (operand.base.dims[d] == data.base.dims[d]) traces[d] = data.traces[d];
    }
    WishFor(site, i, traces, ruling);
  }
  return ruling;
}

// ScatterND: one update per index. Indices that name samples cannot follow the batch.
Ruling FollowScatterND(const BatchSite& site) {
  const Operand &indices = InputAt(site, 1), &updates = InputAt(site, 2);
  if (!Known(indices) || !Known(updates) || indices.base.rank() == 0) return {};
  for (size_t d = 0; d + 1 < indices.base.rank() && d < updates.base.rank(); ++d) {
    if (!indices.traces[d].SamePower(updates.traces[d])) return NotUnderstood();
  }
  const Operand& data = InputAt(site, 0);
  // Indices [.., k] address the first k dims of data; a scaled one is addressed completely only by scaled indices.
  const auto addressed = static_cast<size_t>(indices.base.dims.back());
  for (size_t d = 0; Known(data) && d < addressed && d < data.base.rank(); ++d) {
    if (data.traces[d].any() && !AnyScaled(indices.traces)) return NotUnderstood();
  }
  // The rest of its dims are those of an update: torch.empty_like(x), folded, into which columns of x are written.
  Ruling ruling;
  Traces rest(data.base.rank());
  for (size_t d = addressed, u = indices.base.rank() - 1; Known(data) && d < rest.size() && u < updates.base.rank();
       ++d, ++u) {
    if (data.base.dims[d] == updates.base.dims[u]) rest[d] = updates.traces[u];
  }
  WishFor(site, 0, rest, ruling);
  return ruling;
}

}  // namespace

absl::Span<const BatchRow> IndexingRows() {
  static constexpr auto kRows = std::to_array<BatchRow>({
      {"Gather", FollowGather, GrantGather},
      {"GatherElements", FollowElements, GrantElements},
      {"GatherND", FollowGatherND, nullptr},
      {"ScatterElements", FollowElements, nullptr},
      {"ScatterND", FollowScatterND, nullptr},
      {"Slice", FollowSlice, GrantSlice},
  });
  return kRows;
}

}  // namespace onnx_mem
