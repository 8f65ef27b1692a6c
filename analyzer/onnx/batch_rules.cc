#include "analyzer/onnx/batch_rules.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

const Operand& InputAt(const BatchSite& site, size_t i) {
  static const Operand kAbsent;
  return i < site.inputs.size() ? site.inputs[i] : kAbsent;
}
bool Known(const Operand& operand) { return operand.present && operand.base.has_rank; }

std::optional<int64_t> IntOf(const BatchSite& site, std::string_view name) {
  for (const auto& attribute : site.node.attribute()) {
    if (attribute.name() == name) return attribute.i();
  }
  return std::nullopt;
}

// Integer contents of input `i`, as exported.
const std::vector<int64_t>* IntsAt(const BatchSite& site, size_t i) {
  const Operand& operand = InputAt(site, i);
  return operand.base_contents != nullptr ? operand.base_contents->ints() : nullptr;
}

// `axis` counted from the front, in [0, rank); nullopt where out of range.
std::optional<size_t> Axis(int64_t axis, size_t rank) {
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(axis);
}

Ruling NotUnderstood() { return {.edits = {}, .wishes = {}, .alternatives = {}, .understood = false}; }

// Adds a wish for those dims of input `i` that are wanted and not yet scaled; with `of_size_one` only those whose exported
// size is 1, else only the others.
void Add(const BatchSite& site, size_t i, const Traces& wanted, bool of_size_one, Ones ones, std::vector<SizeWish>& wishes) {
  const Operand& operand = InputAt(site, i);
  SizeWish wish{.input = static_cast<int>(i), .dims = Traces(operand.base.rank()), .ones = ones};
  bool any = false;
  for (size_t d = 0; d < wish.dims.size() && d < wanted.size(); ++d) {
    if (!wanted[d].any() || operand.traces[d].any() || (operand.base.dims[d] == 1) != of_size_one) continue;
    wish.dims[d] = wanted[d];
    any = true;
  }
  if (any) wishes.push_back(std::move(wish));
}

void WishFor(const BatchSite& site, size_t i, const Traces& wanted, Ruling& ruling, Ones ones = Ones::kExpand) {
  Add(site, i, wanted, /*of_size_one=*/false, ones, ruling.wishes);
  Add(site, i, wanted, /*of_size_one=*/true, ones, ruling.wishes);
}

// Granting is possible where something below could be asked for it.
Ruling OrNotUnderstood(Ruling ruling) {
  return ruling.edits.empty() && ruling.wishes.empty() && ruling.alternatives.empty() ? NotUnderstood() : ruling;
}

// --- Reshape ---

Ruling FollowReshape(const BatchSite& site) {
  Ruling ruling;
  const Operand& data = InputAt(site, 0);
  const Operand& out = site.outputs[0];
  if (!Known(data) || !Known(out) || !InputAt(site, 1).baked || !AnyScaled(data.traces)) return ruling;
  const auto traces = Reshaped(data.base.dims, data.traces, out.base.dims, site.variables);
  if (!traces) return NotUnderstood();
  ruling.edits.push_back({.input = 1, .base = {out.base.dims.begin(), out.base.dims.end()}, .elements = *traces});
  return ruling;
}

// Reshape, Unsqueeze, Squeeze, Flatten: the same elements under another shape.
Ruling GrantReshape(const BatchSite& site, int output) {
  Ruling ruling;
  const Operand& out = site.outputs[static_cast<size_t>(output)];
  const Dims& data = InputAt(site, 0).base.dims;
  const auto wanted = Reshaped(out.base.dims, out.traces, data, site.variables);
  if (!wanted) return NotUnderstood();
  for (size_t d = 0; d < wanted->size(); ++d) {
    // A dim of 1 that this operator adds was never the batch's; other dims do not grow in its place.
    bool of_size_one = true;
    for (size_t k = 0; k < site.variables.size(); ++k) of_size_one &= (*wanted)[d].power[k] == 0 || site.variables[k].from == 1;
    if ((*wanted)[d].any() && of_size_one && data[d] != 1) return NotUnderstood();
  }
  WishFor(site, 0, *wanted, ruling);
  if (site.node.op_type() == "Reshape") {
    ruling.edits.push_back({.input = 1, .base = {out.base.dims.begin(), out.base.dims.end()}, .elements = out.traces});
  }
  return ruling;
}

// --- broadcasting: Add, Where, Expand, the leading dims of MatMul ---

// `wanted` of a result of `shape`, at the dims of `operand` that correspond (aligned at the right, `skip` dims at the end
// left out) and have either its size or 1.
Traces Aligned(const Operand& operand, const Dims& shape, const Traces& wanted, size_t skip) {
  Traces dims(operand.base.rank());
  for (size_t back = skip + 1; back <= std::min(operand.base.rank(), shape.size()); ++back) {
    const size_t d = operand.base.rank() - back;
    const size_t w = shape.size() - back;
    if (operand.base.dims[d] == shape[w]) dims[d] = wanted[w];
  }
  return dims;
}

// How the result of broadcasting all inputs is scaled, by the operands that are scaled already.
Traces BroadcastTraces(const BatchSite& site, const Dims& shape, size_t skip) {
  Traces traces(shape.size());
  for (const Operand& operand : site.inputs) {
    if (!Known(operand)) continue;
    for (size_t back = skip + 1; back <= std::min(operand.base.rank(), shape.size()); ++back) {
      const Trace& trace = operand.traces[operand.base.rank() - back];
      if (trace.any()) traces[shape.size() - back] = trace;
    }
  }
  return traces;
}

Ruling FollowBroadcast(const BatchSite& site, size_t skip) {
  Ruling ruling;
  const Operand& out = site.outputs[0];
  if (!Known(out)) return ruling;
  const Traces traces = BroadcastTraces(site, out.base.dims, skip);
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    if (!Known(site.inputs[i])) continue;
    WishFor(site, i, Aligned(site.inputs[i], out.base.dims, traces, skip), ruling, Ones::kBroadcast);
  }
  return ruling;
}
Ruling FollowElementwise(const BatchSite& site) { return FollowBroadcast(site, 0); }
Ruling FollowMatMul(const BatchSite& site) { return FollowBroadcast(site, 2); }

// Operands of the result's size are all scaled; of those that are 1 where it is 1, one is.
void AskAligned(const BatchSite& site, size_t i, const Traces& wanted, Ruling& ruling) {
  Add(site, i, wanted, /*of_size_one=*/false, Ones::kBroadcast, ruling.wishes);
  Add(site, i, wanted, /*of_size_one=*/true, Ones::kBroadcast, ruling.alternatives);
}

Ruling GrantElementwise(const BatchSite& site, int output) {
  Ruling ruling;
  const Operand& out = site.outputs[static_cast<size_t>(output)];
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    if (Known(site.inputs[i])) AskAligned(site, i, Aligned(site.inputs[i], out.base.dims, out.traces, 0), ruling);
  }
  return OrNotUnderstood(std::move(ruling));
}

// Rows come from the first factor, columns from the second, leading dims from either.
Ruling GrantMatMul(const BatchSite& site, int) {
  const Operand &a = InputAt(site, 0), &b = InputAt(site, 1), &out = site.outputs[0];
  if (!Known(a) || !Known(b) || a.base.rank() < 2 || b.base.rank() < 2) return NotUnderstood();
  const size_t rank = out.base.rank();
  Ruling ruling;
  Traces of_a = Aligned(a, out.base.dims, out.traces, 2), of_b = Aligned(b, out.base.dims, out.traces, 2);
  of_a[a.base.rank() - 2] = out.traces[rank - 2];
  of_b[b.base.rank() - 1] = out.traces[rank - 1];
  AskAligned(site, 0, of_a, ruling);
  AskAligned(site, 1, of_b, ruling);
  return OrNotUnderstood(std::move(ruling));
}

Ruling GrantGemm(const BatchSite& site, int) {
  const Operand &a = InputAt(site, 0), &out = site.outputs[0];
  if (!Known(a) || a.base.rank() != 2 || out.traces[1].any()) return NotUnderstood();
  Traces of_a(2);
  of_a[IntOf(site, "transA").value_or(0) != 0 ? 1 : 0] = out.traces[0];
  Ruling ruling;
  AskAligned(site, 0, of_a, ruling);
  return OrNotUnderstood(std::move(ruling));
}

// Operators whose outputs have the dims of input 0 but along an axis, which they split or reduce.
Ruling GrantOtherDims(const BatchSite& site, int output) {
  const Operand &data = InputAt(site, 0), &out = site.outputs[static_cast<size_t>(output)];
  if (!Known(data) || data.base.rank() != out.base.rank()) return NotUnderstood();
  for (size_t d = 0; d < out.base.rank(); ++d) {
    if (out.traces[d].any() && data.base.dims[d] != out.base.dims[d]) return NotUnderstood();
  }
  Ruling ruling;
  AskAligned(site, 0, out.traces, ruling);
  return OrNotUnderstood(std::move(ruling));
}

Ruling EditExpand(const BatchSite& site, const Traces& wanted) {
  Ruling ruling;
  const Operand& out = site.outputs[0];
  const std::vector<int64_t>* target = IntsAt(site, 1);
  if (target == nullptr || !InputAt(site, 1).baked) return ruling;
  ContentsEdit edit{.input = 1, .base = *target, .elements = Traces(target->size())};
  bool any = false;
  for (size_t back = 1; back <= std::min(target->size(), out.base.rank()); ++back) {
    const size_t t = target->size() - back;
    const Trace& trace = wanted[out.base.rank() - back];
    // A 1 in the target leaves the dim as it is.
    if (!trace.any() || ((*target)[t] == 1 && out.base.dims[out.base.rank() - back] != 1)) continue;
    edit.elements[t] = trace;
    any = true;
  }
  if (any) ruling.edits.push_back(std::move(edit));
  return ruling;
}

// A zero state of the exported batch, expanded to a target that follows: the state has to follow too. At batch 1 it is
// broadcast, unless it was no parameter.
Ruling FollowTarget(const BatchSite& site, const std::vector<int64_t>& before, const std::vector<int64_t>& now) {
  Ruling ruling;
  const Operand& data = InputAt(site, 0);
  Traces wanted(data.base.rank());
  for (size_t back = 1; back <= std::min({before.size(), now.size(), data.base.rank()}); ++back) {
    const size_t d = data.base.rank() - back;
    const auto trace = TraceOf(before[before.size() - back], now[now.size() - back], site.variables);
    if (trace && trace->any() && data.base.dims[d] == before[before.size() - back]) wanted[d] = *trace;
  }
  WishFor(site, 0, wanted, ruling, Ones::kConstant);
  return ruling;
}

Ruling FollowExpand(const BatchSite& site) {
  const Operand& data = InputAt(site, 0);
  const Operand& out = site.outputs[0];
  if (!Known(data) || !Known(out)) return {};
  const Operand& target = InputAt(site, 1);
  if (!target.baked && target.base_contents && target.contents && target.base_contents->ints() && target.contents->ints()) {
    return FollowTarget(site, *target.base_contents->ints(), *target.contents->ints());
  }
  Traces traces(out.base.rank());
  for (size_t back = 1; back <= std::min(data.base.rank(), out.base.rank()); ++back) {
    traces[out.base.rank() - back] = data.traces[data.base.rank() - back];
  }
  return EditExpand(site, traces);
}

Ruling GrantExpand(const BatchSite& site, int) {
  const Operand& out = site.outputs[0];
  Ruling ruling = EditExpand(site, out.traces);
  const Operand& data = InputAt(site, 0);
  // A dim of 1 in the data is what the Expand expands.
  if (Known(data)) Add(site, 0, Aligned(data, out.base.dims, out.traces, 0), /*of_size_one=*/false, Ones::kBroadcast, ruling.wishes);
  return OrNotUnderstood(std::move(ruling));
}

// --- Concat: all dims but the axis agree ---

Ruling FollowConcat(const BatchSite& site) {
  Ruling ruling;
  const Operand& out = site.outputs[0];
  const auto axis = Known(out) ? Axis(IntOf(site, "axis").value_or(0), out.base.rank()) : std::nullopt;
  if (!axis) return ruling;
  Traces traces(out.base.rank());
  for (const Operand& operand : site.inputs) {
    if (!Known(operand) || operand.base.rank() != traces.size()) return ruling;
    for (size_t d = 0; d < traces.size(); ++d) {
      if (d != *axis && operand.traces[d].any()) traces[d] = operand.traces[d];
    }
  }
  for (size_t i = 0; i < site.inputs.size(); ++i) WishFor(site, i, traces, ruling);
  return ruling;
}

Ruling GrantConcat(const BatchSite& site, int) {
  Ruling ruling;
  const Operand& out = site.outputs[0];
  const auto axis = Axis(IntOf(site, "axis").value_or(0), out.base.rank());
  if (!axis || out.traces[*axis].any()) return NotUnderstood();
  for (size_t i = 0; i < site.inputs.size(); ++i) WishFor(site, i, out.traces, ruling);
  return ruling;
}

// --- recurrent layers: states and lengths have the batch of X ---

Ruling FollowRecurrent(const BatchSite& site) {
  Ruling ruling;
  const Operand& x = InputAt(site, 0);
  if (!Known(x) || x.base.rank() != 3) return ruling;
  const bool batch_first = IntOf(site, "layout").value_or(0) == 1;
  const Trace& batch = x.traces[batch_first ? 0 : 1];
  if (!batch.any()) return ruling;
  constexpr size_t kLengths = 4, kInitialH = 5, kInitialC = 6;
  for (size_t i : {kLengths, kInitialH, kInitialC}) {
    const Operand& operand = InputAt(site, i);
    if (!Known(operand) || operand.base.rank() != (i == kLengths ? 1U : 3U)) continue;
    Traces traces(operand.base.rank());
    traces[i == kLengths || batch_first ? 0 : 1] = batch;
    WishFor(site, i, traces, ruling, Ones::kScale);
  }
  return ruling;
}

// --- sizes given as contents ---

// Resize (sizes) and Upsample: a size equal to the scaled input's own follows it.
Ruling FollowResize(const BatchSite& site) {
  Ruling ruling;
  const Operand& data = InputAt(site, 0);
  constexpr size_t kSizes = 3;
  const std::vector<int64_t>* sizes = IntsAt(site, kSizes);
  if (!Known(data) || sizes == nullptr || !InputAt(site, kSizes).baked || sizes->size() != data.base.rank()) return ruling;
  ContentsEdit edit{.input = kSizes, .base = *sizes, .elements = data.traces};
  for (size_t d = 0; d < sizes->size(); ++d) {
    if (data.traces[d].any() && (*sizes)[d] != data.base.dims[d]) return NotUnderstood();
  }
  if (AnyScaled(data.traces)) ruling.edits.push_back(std::move(edit));
  return ruling;
}

// The output's shape is the contents of input `input`: ConstantOfShape, RandomNormal of a shape.
Ruling GrantShapeInput(const BatchSite& site, int) {
  const Operand& out = site.outputs[0];
  const std::vector<int64_t>* shape = IntsAt(site, 0);
  if (shape == nullptr || shape->size() != out.base.rank()) return NotUnderstood();
  Ruling ruling;
  ruling.edits.push_back({.input = 0, .base = *shape, .elements = out.traces});
  return ruling;
}

// Tile repeats the batch times what held one sample.
Ruling GrantTile(const BatchSite& site, int) {
  const Operand& out = site.outputs[0];
  const std::vector<int64_t>* repeats = IntsAt(site, 1);
  const Operand& data = InputAt(site, 0);
  if (repeats == nullptr || !Known(data) || repeats->size() != out.base.rank()) return NotUnderstood();
  Ruling ruling;
  ContentsEdit edit{.input = 1, .base = *repeats, .elements = Traces(repeats->size())};
  Traces wanted(data.base.rank());
  bool any = false;
  for (size_t d = 0; d < out.base.rank(); ++d) {
    if (!out.traces[d].any()) continue;
    const bool repeated = Scaled((*repeats)[d], out.traces[d], site.variables, Sizes::kTarget).has_value() &&
                          ((*repeats)[d] != 1 || out.base.dims[d] == 1);
    (repeated ? edit.elements[d] : wanted[d]) = out.traces[d];
    any |= repeated;
  }
  if (any) ruling.edits.push_back(std::move(edit));
  WishFor(site, 0, wanted, ruling);
  return ruling;
}

// Range(0, n, 1), as positions are made.
Ruling GrantRange(const BatchSite& site, int) {
  const auto *start = IntsAt(site, 0), *limit = IntsAt(site, 1), *step = IntsAt(site, 2);
  if (start == nullptr || limit == nullptr || step == nullptr) return NotUnderstood();
  if (start->size() != 1 || limit->size() != 1 || step->size() != 1 || (*start)[0] != 0 || (*step)[0] != 1) return NotUnderstood();
  Ruling ruling;
  ruling.edits.push_back({.input = 1, .base = *limit, .elements = site.outputs[0].traces});
  return ruling;
}

// Slice along a scaled dim up to the exported size was a slice of the whole.
Ruling FollowSlice(const BatchSite& site) {
  Ruling ruling;
  const Operand& data = InputAt(site, 0);
  constexpr size_t kStarts = 1, kEnds = 2, kAxes = 3;
  const auto *starts = IntsAt(site, kStarts), *ends = IntsAt(site, kEnds), *axes = IntsAt(site, kAxes);
  if (!Known(data) || starts == nullptr || ends == nullptr || !InputAt(site, kEnds).baked) return ruling;
  ContentsEdit edit{.input = kEnds, .base = *ends, .elements = Traces(ends->size())};
  bool any = false;
  for (size_t i = 0; i < ends->size() && i < starts->size(); ++i) {
    const auto axis = Axis(axes != nullptr && i < axes->size() ? (*axes)[i] : static_cast<int64_t>(i), data.base.rank());
    if (!axis || !data.traces[*axis].any()) continue;
    if ((*starts)[i] != 0 || (*ends)[i] != data.base.dims[*axis]) continue;
    edit.elements[i] = data.traces[*axis];
    any = true;
  }
  if (any) ruling.edits.push_back(std::move(edit));
  return ruling;
}

// --- indexing and layout ---

Ruling GrantTranspose(const BatchSite& site, int) {
  const Operand& out = site.outputs[0];
  const size_t rank = out.base.rank();
  Traces wanted(rank);
  for (size_t d = 0; d < rank; ++d) wanted[rank - 1 - d] = out.traces[d];
  for (const auto& attribute : site.node.attribute()) {
    if (attribute.name() != "perm") continue;
    if (static_cast<size_t>(attribute.ints_size()) != rank) return NotUnderstood();
    for (size_t d = 0; d < rank; ++d) {
      const auto from = Axis(attribute.ints(static_cast<int>(d)), rank);
      if (!from) return NotUnderstood();
      wanted[*from] = out.traces[d];
    }
  }
  Ruling ruling;
  WishFor(site, 0, wanted, ruling);
  return ruling;
}

// Whether a list of indices reads sample by sample: what it reads of sample b is what it reads of sample 0. At batch 1
// there is no second sample to look at; the leading dim of 1 is taken for the batch. `element(i)`: index i as the sample
// and the place within it.
template <class F>
bool ReadsSampleBySample(const Operand& data, const Operand& indices, size_t count, const Variables& variables, F element) {
  const Trace& trace = data.traces[0];
  for (size_t k = 0; k < variables.size(); ++k) {
    if (trace.power[k] == 0) continue;
    const int64_t samples = variables[k].from;
    if (trace.power[k] > 1 || trace.outer[k] != 1 || indices.base.rank() < 2 || indices.base.dims[0] != samples) return false;
    const size_t stride = count / static_cast<size_t>(samples);
    for (size_t i = 0; i < count; ++i) {
      const auto [sample, place] = element(i);
      if (sample != static_cast<int64_t>(i / stride) || place != element(i % stride).second) return false;
    }
  }
  return true;
}

// Gather from a flattened tensor: how a strided view and advanced indexing are exported.
Ruling FollowGather(const BatchSite& site) {
  Ruling ruling;
  const Operand &data = InputAt(site, 0), &indices = InputAt(site, 1);
  if (!Known(data) || !Known(indices) || data.base.rank() == 0 || IntOf(site, "axis").value_or(0) != 0) return ruling;
  if (!data.traces[0].any() || AnyScaled(indices.traces) || NumElements(indices.base) == 1) return ruling;
  const std::vector<int64_t>* contents = IntsAt(site, 1);
  int64_t samples = 1;
  for (size_t k = 0; k < site.variables.size(); ++k) samples *= data.traces[0].power[k] > 0 ? site.variables[k].from : 1;
  const int64_t per_sample = data.base.dims[0] / samples;
  if (contents == nullptr || per_sample < 1) return ruling;
  const auto element = [&](size_t i) { return std::make_pair((*contents)[i] / per_sample, (*contents)[i] % per_sample); };
  if (!ReadsSampleBySample(data, indices, contents->size(), site.variables, element)) return ruling;
  Traces wanted(indices.base.rank());
  wanted[0] = data.traces[0];
  WishFor(site, 1, wanted, ruling, Ones::kScale);
  return ruling;
}

// GatherND whose index tuples begin with the sample: x[arange(batch)[:, None], positions].
Ruling FollowGatherND(const BatchSite& site) {
  Ruling ruling;
  const Operand &data = InputAt(site, 0), &indices = InputAt(site, 1);
  if (!Known(data) || !Known(indices) || data.base.rank() == 0 || IntOf(site, "batch_dims").value_or(0) != 0) return ruling;
  const std::vector<int64_t>* contents = IntsAt(site, 1);
  if (contents == nullptr || indices.base.rank() < 2 || !data.traces[0].any() || AnyScaled(indices.traces)) return ruling;
  const auto width = static_cast<size_t>(indices.base.dims.back());
  if (width == 0 || contents->empty()) return ruling;
  const size_t stride = contents->size() / static_cast<size_t>(std::max<int64_t>(indices.base.dims[0], 1));
  // The rest of the tuple is compared element by element: as a place it stands for itself.
  for (size_t i = 0; i < contents->size(); ++i) {
    if (i % width != 0 && (*contents)[i] != (*contents)[i % stride]) return ruling;
  }
  const auto element = [&](size_t i) { return std::make_pair((*contents)[i * width], int64_t{0}); };
  if (!ReadsSampleBySample(data, indices, contents->size() / width, site.variables, element)) return ruling;
  Traces wanted(indices.base.rank());
  wanted[0] = data.traces[0];
  WishFor(site, 1, wanted, ruling, Ones::kScale);
  return ruling;
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
  return {};
}

struct BatchRow {
  std::string_view op;
  Ruling (*follow)(const BatchSite&);
  Ruling (*grant)(const BatchSite&, int output);
};

constexpr auto kRows = std::to_array<BatchRow>({
    {"Abs", nullptr, GrantElementwise},
    {"Add", FollowElementwise, GrantElementwise},
    {"And", FollowElementwise, GrantElementwise},
    {"Cast", nullptr, GrantElementwise},
    {"CastLike", nullptr, GrantElementwise},
    {"Ceil", nullptr, GrantElementwise},
    {"Clip", nullptr, GrantElementwise},
    {"Concat", FollowConcat, GrantConcat},
    {"ConstantOfShape", nullptr, GrantShapeInput},
    {"Cos", nullptr, GrantElementwise},
    {"CumSum", nullptr, GrantOtherDims},
    {"Div", FollowElementwise, GrantElementwise},
    {"Dropout", nullptr, GrantElementwise},
    {"Elu", nullptr, GrantElementwise},
    {"Equal", FollowElementwise, GrantElementwise},
    {"Erf", nullptr, GrantElementwise},
    {"Exp", nullptr, GrantElementwise},
    {"Expand", FollowExpand, GrantExpand},
    {"Flatten", nullptr, GrantReshape},
    {"Floor", nullptr, GrantElementwise},
    {"GRU", FollowRecurrent, nullptr},
    {"Gather", FollowGather, GrantGather},
    {"GatherElements", FollowElements, nullptr},
    {"GatherND", FollowGatherND, nullptr},
    {"Gelu", nullptr, GrantElementwise},
    {"Gemm", nullptr, GrantGemm},
    {"Greater", FollowElementwise, GrantElementwise},
    {"GreaterOrEqual", FollowElementwise, GrantElementwise},
    {"HardSigmoid", nullptr, GrantElementwise},
    {"HardSwish", nullptr, GrantElementwise},
    {"Identity", nullptr, GrantElementwise},
    {"IsInf", nullptr, GrantElementwise},
    {"IsNaN", nullptr, GrantElementwise},
    {"LSTM", FollowRecurrent, nullptr},
    {"LayerNormalization", nullptr, GrantOtherDims},
    {"LeakyRelu", nullptr, GrantElementwise},
    {"Less", FollowElementwise, GrantElementwise},
    {"LessOrEqual", FollowElementwise, GrantElementwise},
    {"Log", nullptr, GrantElementwise},
    {"LogSoftmax", nullptr, GrantElementwise},
    {"MatMul", FollowMatMul, GrantMatMul},
    {"Max", FollowElementwise, GrantElementwise},
    {"Mean", FollowElementwise, GrantElementwise},
    {"Min", FollowElementwise, GrantElementwise},
    {"Mish", nullptr, GrantElementwise},
    {"Mod", FollowElementwise, GrantElementwise},
    {"Mul", FollowElementwise, GrantElementwise},
    {"Neg", nullptr, GrantElementwise},
    {"Not", nullptr, GrantElementwise},
    {"Or", FollowElementwise, GrantElementwise},
    {"PRelu", FollowElementwise, GrantElementwise},
    {"Pow", FollowElementwise, GrantElementwise},
    {"RMSNormalization", nullptr, GrantOtherDims},
    {"RNN", FollowRecurrent, nullptr},
    {"Range", nullptr, GrantRange},
    {"Reciprocal", nullptr, GrantElementwise},
    {"ReduceMax", nullptr, GrantOtherDims},
    {"ReduceMean", nullptr, GrantOtherDims},
    {"ReduceMin", nullptr, GrantOtherDims},
    {"ReduceSum", nullptr, GrantOtherDims},
    {"Relu", nullptr, GrantElementwise},
    {"Reshape", FollowReshape, GrantReshape},
    {"Resize", FollowResize, nullptr},
    {"Round", nullptr, GrantElementwise},
    {"ScatterElements", FollowElements, nullptr},
    {"ScatterND", FollowScatterND, nullptr},
    {"Selu", nullptr, GrantElementwise},
    {"Sigmoid", nullptr, GrantElementwise},
    {"Sign", nullptr, GrantElementwise},
    {"Sin", nullptr, GrantElementwise},
    {"Slice", FollowSlice, GrantOtherDims},
    {"Softmax", nullptr, GrantElementwise},
    {"Softplus", nullptr, GrantElementwise},
    {"Softsign", nullptr, GrantElementwise},
    {"Split", nullptr, GrantOtherDims},
    {"Sqrt", nullptr, GrantElementwise},
    {"Squeeze", nullptr, GrantReshape},
    {"Sub", FollowElementwise, GrantElementwise},
    {"Sum", FollowElementwise, GrantElementwise},
    {"Tanh", nullptr, GrantElementwise},
    {"Tile", nullptr, GrantTile},
    {"Transpose", nullptr, GrantTranspose},
    {"Trilu", nullptr, GrantElementwise},
    {"Unsqueeze", nullptr, GrantReshape},
    {"Where", FollowElementwise, GrantElementwise},
    {"Xor", FollowElementwise, GrantElementwise},
});

const BatchRow* RowOf(const onnx::NodeProto& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return nullptr;
  const auto* row = std::lower_bound(kRows.begin(), kRows.end(), node.op_type(),
                                     [](const BatchRow& a, const std::string& op) { return a.op < op; });
  return row != kRows.end() && row->op == node.op_type() ? row : nullptr;
}

constexpr bool RowsInOrder() {
  return std::is_sorted(kRows.begin(), kRows.end(), [](const BatchRow& a, const BatchRow& b) { return a.op < b.op; });
}
static_assert(RowsInOrder());

// A Gather or Slice that picks one element of the dim: x[:, 0], x[:, -1:].
bool PicksOne(const BatchSite& site) {
  const Operand& out = site.outputs[0];
  const Operand& data = InputAt(site, 0);
  if (!Known(out) || !Known(data)) return false;
  if (site.node.op_type() == "Gather") {
    const Operand& indices = InputAt(site, 1);
    return Known(indices) && NumElements(indices.base) == 1;
  }
  for (size_t d = 0; d < data.base.rank(); ++d) {
    if (data.traces[d].any() && (d >= out.base.rank() || out.base.dims[d] != 1)) return false;
  }
  return true;
}

}  // namespace

Ruling FollowBatch(const BatchSite& site) {
  const BatchRow* row = RowOf(site.node);
  return row == nullptr || row->follow == nullptr || site.outputs.empty() ? Ruling() : row->follow(site);
}

Ruling GrantBatch(const BatchSite& site, int output) {
  const BatchRow* row = RowOf(site.node);
  return row == nullptr || row->grant == nullptr ? NotUnderstood() : row->grant(site, output);
}

bool MayDropBatch(const BatchSite& site) {
  constexpr auto kReducers = std::to_array<std::string_view>(
      {"ArgMax", "ArgMin", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "NegativeLogLikelihoodLoss", "Shape", "Size",
       "SoftmaxCrossEntropyLoss", "TopK"});
  const std::string& op = site.node.op_type();
  if (op.rfind("Reduce", 0) == 0 || std::binary_search(kReducers.begin(), kReducers.end(), op)) return true;
  if (op == "Gather" || op == "Slice") return PicksOne(site);
  // A contraction over the scaled dim of both operands: statistics over the batch, a product over the sequence.
  if (op == "MatMul" || op == "Gemm" || op == "Einsum") {
    return AnyScaled(InputAt(site, 0).traces) && AnyScaled(InputAt(site, 1).traces);
  }
  return false;
}

}  // namespace onnx_mem
