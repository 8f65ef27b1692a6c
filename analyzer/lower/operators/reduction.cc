// Reductions and softmax.
#include <numeric>

#include "absl/strings/match.h"
#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

// Axes and keepdim as the framework takes them. Without axes everything is reduced, unless the node says no-op.
Attributes ReduceAttributes(const Site& s) {
  auto axes = s.Axes(1, s.InRank(0));
  if (!axes || axes->empty()) {
    axes.emplace(s.InRank(0));
    std::iota(axes->begin(), axes->end(), 0);
  }
  return {{"axes", *axes}, {"keepdim", s.Int("keepdims", 1)}};
}

bool IsNoOp(const Site& s) {
  const auto axes = s.Axes(1, s.InRank(0));
  return (!axes || axes->empty()) && s.Int("noop_with_empty_axes", 0) != 0;
}

void EmitOnTop(Site& s, std::string_view first, std::string_view second, Attributes first_attributes) {
  const TensorId x =
      s.EmitTemp(first, {s.Materialized(0)}, s.OutShape().dims, s.OutType(), std::move(first_attributes));
  s.Emit(second, {x}, {s.Out(0)});
}

}  // namespace

// x.max(dim) returns values and indices, x.amax(dim) values alone; both are written as ReduceMax. Over one of several
// axes the first is what code calls, unless a dynamo export says otherwise.
static bool RunsAsMaxWithIndices(const Site& s, const Attributes& attributes) {
  if (s.framework() != "amax" && s.framework() != "amin") return false;
  const std::string& call = s.scope().framework_op;
  if (absl::StartsWith(call, "amax#") || absl::StartsWith(call, "amin#")) return false;
  const auto& axes = std::get<std::vector<int64_t>>(attributes.at("axes"));
  return axes.size() == 1 && s.InRank(0) > 1;
}

void LowerReduce(Site& s) {
  if (IsNoOp(s)) return s.Alias(0, s.Materialized(0));
  Attributes attributes = ReduceAttributes(s);
  if (RunsAsMaxWithIndices(s, attributes)) {
    s.Emit("max_dim", {s.Materialized(0)}, {s.Out(0)}, std::move(attributes));
    return;
  }
  if (s.framework() == "norm") attributes["p"] = s.node().op == "ReduceL1" ? 1.0 : 2.0;
  s.Emit(s.framework(), {s.Materialized(0)}, {s.Out(0)}, std::move(attributes));
}

void LowerReduceSumSquare(Site& s) {
  const TensorId square =
      s.EmitTemp("pow_scalar", {s.Materialized(0)}, s.InShape(0).dims, s.OutType(), {{"exponent", 2.0}});
  s.Emit("sum", {square}, {s.Out(0)}, ReduceAttributes(s));
}

void LowerReduceLogSum(Site& s) { EmitOnTop(s, "sum", "log", ReduceAttributes(s)); }

void LowerArg(Site& s) {
  s.Emit(s.framework(), {s.Materialized(0)}, {s.Out(0)},
         {{"axis", s.Axis("axis", 0)}, {"keepdim", s.Int("keepdims", 1)}});
}

void LowerCumulative(Site& s) {
  const int64_t axis =
      s.Number(1) ? static_cast<int64_t>(*s.Number(1)) : s.Ints(1).value_or(std::vector<int64_t>{0})[0];
  s.Emit(s.framework(), {s.Materialized(0)}, {s.Out(0)}, {{"axis", Site::Normalize(axis, s.InRank(0))}});
}

void LowerSoftmax(Site& s) {
  const int64_t fallback = s.version() != 0 && s.version() < 13 ? 1 : -1;
  s.Emit(s.framework(), {s.Materialized(0)}, {s.Out(0)}, {{"axis", s.Axis("axis", fallback)}});
}

void LowerHardmax(Site& s) {
  Dims reduced = s.InShape(0).dims;
  const int64_t axis = s.Axis("axis", -1);
  if (axis >= 0 && axis < static_cast<int64_t>(reduced.size())) reduced[static_cast<size_t>(axis)] = 1;
  const TensorId index = s.EmitTemp("argmax", {s.Materialized(0)}, reduced, DType::kInt64, {{"axis", axis}});
  s.Emit("one_hot", {index}, {s.Out(0)});
}

}  // namespace onnx_mem
