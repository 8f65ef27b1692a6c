// Operators that move no data: the framework makes views (or copies where strides force it; eager decides).
#include <algorithm>
#include <limits>
#include <numeric>

#include "analyzer/lower/facts/exporter_rules.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

// A bound of a slice, counted from the front. An axis of unknown size counts as empty.
int64_t ClampBound(int64_t bound, int64_t size) {
  size = std::max<int64_t>(size, 0);
  return std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size);
}

struct SliceOperands {
  std::vector<int64_t> axes, starts, ends, steps;
};

// Slice's operands: attributes in opset 1, inputs from 10 on. Bounds that depend on data start at 0 and end where the
// output does.
SliceOperands ReadBounds(const Site& s) {
  SliceOperands b;
  const bool old = s.node().attributes.contains("starts");
  b.starts = old ? s.IntList("starts") : s.Ints(1).value_or(std::vector<int64_t>());
  b.ends = old ? s.IntList("ends") : s.Ints(2).value_or(std::vector<int64_t>());
  b.axes = old ? s.IntList("axes") : s.Ints(3).value_or(std::vector<int64_t>());
  if (!old) b.steps = s.Ints(4).value_or(std::vector<int64_t>());
  const size_t rank = s.InRank(0);
  if (b.starts.empty() || b.ends.size() != b.starts.size()) {
    b.starts.assign(rank, 0);
    b.ends.assign(s.OutShape().dims.begin(), s.OutShape().dims.end());
    b.axes.clear();
    b.steps.clear();
  }
  if (b.axes.empty()) {
    b.axes.resize(b.starts.size());
    std::iota(b.axes.begin(), b.axes.end(), 0);
  }
  if (b.steps.size() != b.starts.size()) b.steps.assign(b.starts.size(), 1);
  return b;
}

}  // namespace

void LowerReshape(Site& s) { s.Emit("reshape", {s.Materialized(0)}, {s.Out(0)}); }

// torch.flatten of what is flat already returns it.
void LowerFlatten(Site& s) {
  const TensorId x = s.Materialized(0);
  if (s.InShape(0) == s.OutShape()) return s.Alias(0, x);
  s.Emit("reshape", {x}, {s.Out(0)});
}

void LowerTranspose(Site& s) {
  std::vector<int64_t> perm = s.IntList("perm");
  if (perm.empty()) {
    perm.resize(s.InRank(0));
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  s.Emit("permute", {s.Materialized(0)}, {s.Out(0)}, {{"perm", std::move(perm)}});
}

void LowerSqueeze(Site& s) {
  Attributes attributes;
  if (auto axes = s.Axes(1, s.InRank(0))) attributes["axes"] = *axes;
  s.Emit("squeeze", {s.Materialized(0)}, {s.Out(0)}, std::move(attributes));
}

void LowerUnsqueeze(Site& s) {
  Attributes attributes;
  if (auto axes = s.Axes(1, s.OutShape().rank())) attributes["axes"] = *axes;
  s.Emit("unsqueeze", {s.Materialized(0)}, {s.Out(0)}, std::move(attributes));
}

void LowerExpand(Site& s) {
  const TensorId x = s.In(0);
  if (!x.valid()) {
    s.Emit("full", {}, {s.Out(0)});  // torch.full, new_zeros
    return;
  }
  s.Emit("expand", {x}, {s.Out(0)});
}

// Positive steps are a view; torch has no negative ones: flip, which copies, then a view.
void LowerSlice(Site& s) {
  const SliceOperands b = ReadBounds(s);
  const Dims& dims = s.InShape(0).dims;
  TensorId x = s.Materialized(0);
  std::vector<int64_t> axes, starts, ends, steps, flipped;
  for (size_t i = 0; i < b.axes.size(); ++i) {
    const int64_t axis = Site::Normalize(b.axes[i], dims.size());
    if (axis < 0 || axis >= static_cast<int64_t>(dims.size())) continue;
    const int64_t size = dims[static_cast<size_t>(axis)];
    if (b.steps[i] < 0) flipped.push_back(axis);
    axes.push_back(axis);
    starts.push_back(b.steps[i] < 0 ? 0 : ClampBound(b.starts[i], size));
    ends.push_back(b.steps[i] < 0 ? s.OutDim(0, static_cast<size_t>(axis)) : ClampBound(b.ends[i], size));
    const int64_t step = std::max(b.steps[i], -std::numeric_limits<int64_t>::max());  // which has an opposite
    steps.push_back(std::max<int64_t>(step < 0 ? -step : step, 1));
  }
  if (!flipped.empty()) {
    if (s.InShape(0) == s.OutShape()) {
      s.Emit("flip", {x}, {s.Out(0)}, {{"axes", flipped}});
      return;
    }
    x = s.EmitTemp("flip", {x}, dims, s.InType(0), {{"axes", flipped}});
  }
  s.Emit("slice", {x}, {s.Out(0)}, {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"steps", steps}});
}

// A piece that the file does not name is made as well.
void LowerSplit(Site& s) {
  const int64_t axis = s.Axis("axis", 0);
  const Dims whole = s.InShape(0).dims;
  const bool known = axis >= 0 && axis < std::ssize(whole);
  const std::vector<int64_t> given = s.Ints(1).value_or(s.IntList("split"));
  const int64_t count = std::ssize(s.node().outputs);
  std::vector<int64_t> sizes;
  TensorIds outputs = s.node().outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape& shape = s.OutShape(i);
    sizes.push_back(axis >= 0 && axis < std::ssize(shape.dims) ? shape.dims[static_cast<size_t>(axis)] : kUnknownDim);
    if (outputs[i].valid() || !known) continue;
    Dims dims = whole;
    int64_t& size = dims[static_cast<size_t>(axis)];
    size = i < given.size() ? given[i] : (size + count - 1) / count;
    sizes.back() = size;
    outputs[i] = s.Temp(dims, s.InType(0));
  }
  // x[..., :n] and x[..., n:], which dynamo's optimizer made one (onnxscript, _basic_rules.py): each has a backward of
  // its own.
  if (known && HasRule(s.node(), "SlicesSplit")) {
    int64_t start = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::vector<int64_t> axes = {axis}, starts = {start}, ends = {start + sizes[i]}, steps = {1};
      start += sizes[i];
      s.Emit("slice", {s.Materialized(0)}, {outputs[i]},
             {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"steps", steps}});
    }
    return;
  }
  s.Emit("split", {s.Materialized(0)}, std::move(outputs), {{"axis", axis}, {"sizes", sizes}});
}

// An exporter writes Identity for a parameter that equals another one: shared weights in a training export; in an
// evaluation export small ones (biases of zeros) are only equal by chance and stay parameters of their own.
void LowerIdentity(Site& s) {
  const TensorId stored = s.Has(0) ? s.node().inputs[0] : TensorId();
  const bool initializer = stored.valid() && s.source().tensors[stored].role == TensorRole::kInitializer;
  if (initializer && s.InRank(0) <= 1 && !s.lowering().training_form &&
      !IsExporterName(s.draft().tensor(s.Out(0)).name)) {
    s.draft().SetKind(s.Out(0), KindOfStored(s.source(), stored));
    s.draft().mutable_tensor(s.Out(0)).role = TensorRole::kInitializer;
    return;
  }
  s.Alias(0, s.Materialized(0));
}

}  // namespace onnx_mem
