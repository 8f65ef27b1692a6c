// Operators that reorder, join or keep dims.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "analyzer/onnx/rebatch/rule.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

Ruling FollowReshape(const BatchSite& site) {
  Ruling ruling;
  const Operand &data = InputAt(site, 0), &target = InputAt(site, 1), &out = site.outputs[0];
  if (!Known(data) || !Known(out) || target.contents == nullptr || !AnyScaled(data.traces)) return ruling;
  const auto traces = Reshaped(data.base.dims, data.traces, out.base.dims, site.variables);
  if (!traces) return target.baked ? NotUnderstood() : ruling;
  for (size_t d = 0; d < out.base.rank(); ++d) {
    // Where the file computes a part of the target otherwise than expected, it knows better.
    const Trace computed = FollowsAlready(target, d, site.variables);
    if (computed.any() && !computed.SamePower((*traces)[d])) return ruling;
  }
  ruling.edits.push_back({.input = 1, .base = {out.base.dims.begin(), out.base.dims.end()}, .elements = *traces});
  return ruling;
}

// Reshape, Unsqueeze, Squeeze, Flatten: the same elements under another shape.
Ruling GrantReshape(const BatchSite& site, int output) {
  Ruling ruling;
  const Operand& out = site.outputs[static_cast<size_t>(output)];
  if (!Known(InputAt(site, 0))) return NotUnderstood();
  const Dims& data = InputAt(site, 0).base.dims;
  const auto wanted = Reshaped(out.base.dims, out.traces, data, site.variables);
  if (!wanted) return NotUnderstood();
  for (size_t d = 0; d < wanted->size(); ++d) {
    // A dim of 1 that this operator adds was never the batch's; other dims do not grow in its place.
    bool of_size_one = true;
    for (size_t k = 0; k < site.variables.size(); ++k)
      of_size_one &= (*wanted)[d].power[k] == 0 || site.variables[k].from == 1;
    if ((*wanted)[d].any() && of_size_one && data[d] != 1) return NotUnderstood();
  }
  WishFor(site, 0, *wanted, ruling);
  if (site.node.op_type() == "Reshape") {
    ruling.edits.push_back({.input = 1, .base = {out.base.dims.begin(), out.base.dims.end()}, .elements = out.traces});
  }
  return OrNotUnderstood(std::move(ruling));
}

// Every `step`-th input from `first` on is joined.
Ruling FollowJoined(const BatchSite& site, size_t first, size_t step) {
  Ruling ruling;
  const Operand& out = site.outputs[0];
  const auto axis = Known(out) ? Axis(IntOf(site, "axis").value_or(0), out.base.rank()) : std::nullopt;
  if (!axis) return ruling;
  Traces traces(out.base.rank());
  for (size_t i = first; i < site.inputs.size(); i += step) {
    const Operand& operand = site.inputs[i];
    if (!Known(operand) || operand.base.rank() != traces.size()) return ruling;
    for (size_t d = 0; d < traces.size(); ++d) {
      if (d != *axis && operand.traces[d].any()) traces[d] = operand.traces[d];
    }
  }
  for (size_t i = first; i < site.inputs.size(); i += step) WishFor(site, i, traces, ruling);
  return ruling;
}

Ruling FollowConcat(const BatchSite& site) { return FollowJoined(site, 0, 1); }
// com.microsoft: scale and zero point of the result, then each operand with its own.
Ruling FollowQuantizedConcat(const BatchSite& site) { return FollowJoined(site, 2, 3); }

Ruling GrantConcat(const BatchSite& site, int) {
  Ruling ruling;
  const Operand& out = site.outputs[0];
  const auto axis = Axis(IntOf(site, "axis").value_or(0), out.base.rank());
  if (!axis || out.traces[*axis].any()) return NotUnderstood();
  for (size_t i = 0; i < site.inputs.size(); ++i) WishFor(site, i, out.traces, ruling);
  return ruling;
}

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

// Recurrent layers: states and lengths have the batch of X.
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

}  // namespace

absl::Span<const BatchRow> LayoutRows() {
  static constexpr auto kRows = std::to_array<BatchRow>({
      {"Concat", FollowConcat, GrantConcat},
      {"CumSum", nullptr, GrantOtherDims},
      {"Flatten", nullptr, GrantReshape},
      {"GRU", FollowRecurrent, nullptr},
      {"LSTM", FollowRecurrent, nullptr},
      {"LayerNormalization", nullptr, GrantOtherDims},
      {"QLinearConcat", FollowQuantizedConcat, nullptr},
      {"RMSNormalization", nullptr, GrantOtherDims},
      {"RNN", FollowRecurrent, nullptr},
      {"ReduceMax", nullptr, GrantOtherDims},
      {"ReduceMean", nullptr, GrantOtherDims},
      {"ReduceMin", nullptr, GrantOtherDims},
      {"ReduceSum", nullptr, GrantOtherDims},
      {"Reshape", FollowReshape, GrantReshape},
      {"Split", nullptr, GrantOtherDims},
      {"Squeeze", nullptr, GrantReshape},
      {"Transpose", nullptr, GrantTranspose},
      {"Unsqueeze", nullptr, GrantReshape},
  });
  return kRows;
}

}  // namespace onnx_mem
