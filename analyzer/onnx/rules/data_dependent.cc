// Sizes that depend on data: the largest that they can be.
#include <algorithm>
#include <array>

#include "analyzer/onnx/rules/rule.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem::rules {
namespace {

using fold::FoldCall;

constexpr int kInt64 = onnx::TensorProto::INT64;

// The lesser of two sizes of which one may be unknown.
int64_t AtMost(int64_t a, int64_t b) {
  if (a < 0) return b;
  return b < 0 ? a : std::min(a, b);
}

int64_t Elements(const Shape& shape) { return NumElements(shape).value_or(kUnknownDim); }

// One column of coordinates per element that is not zero: at most all of them.
Results NonZero(const FoldCall& call) {
  const Shape x = ShapeOf(call, 0);
  if (!x.has_rank) return {};
  return {{kInt64, Shape({static_cast<int64_t>(x.rank()), Elements(x)}), true}};
}

// Per batch and class at most max_output_boxes_per_class of the boxes, none where it is not given.
Results NonMaxSuppression(const FoldCall& call) {
  const int64_t boxes = DimOf(call, 0, 1);
  const int64_t groups = Times(DimOf(call, 1, 0), DimOf(call, 1, 1));
  int64_t per_class = boxes;
  if (!call.has(2)) {
    per_class = 0;
  } else if (std::optional<int64_t> limit = call.scalar(2)) {
    per_class = AtMost(boxes, std::max<int64_t>(*limit, 0));
  }
  return {{kInt64, Shape({Times(groups, per_class), 3}), per_class != 0}};
}

Results Compress(const FoldCall& call) {
  const Shape x = ShapeOf(call, 0);
  if (!x.has_rank) return {};
  const int64_t conditions = DimOf(call, 1, 0);
  // Where the condition is known, so is the count.
  int64_t chosen = kUnknownDim;
  if (const Literal* condition = call.value(1); condition != nullptr && condition->ints() != nullptr) {
    chosen = std::count_if(condition->ints()->begin(), condition->ints()->end(), [](int64_t v) { return v != 0; });
  }
  if (call.attribute("axis") == nullptr) {
    const int64_t bound = AtMost(Elements(x), conditions);
    return {{TypeOf(call, 0), Shape({chosen >= 0 ? chosen : bound}), chosen < 0}};
  }
  std::optional<size_t> axis = fold::NormalAxis(call.int_attribute("axis", 0), x.rank());
  if (!axis) return {};
  Shape out = x;
  out.dims[*axis] = chosen >= 0 ? chosen : AtMost(x.dims[*axis], conditions);
  return {{TypeOf(call, 0), out, chosen < 0}};
}

// Values, first positions, inverse, counts.
Results Unique(const FoldCall& call) {
  const Shape x = ShapeOf(call, 0);
  if (!x.has_rank) return {};
  Shape values({Elements(x)});
  int64_t length = Elements(x);
  if (call.attribute("axis") != nullptr) {
    std::optional<size_t> axis = fold::NormalAxis(call.int_attribute("axis", 0), x.rank());
    if (!axis) return {};
    values = x;
    length = x.dims[*axis];
  }
  return {{TypeOf(call, 0), values, true},
          {kInt64, Shape({length}), true},
          {kInt64, Shape({length})},
          {kInt64, Shape({length}), true}};
}

Results TopK(const FoldCall& call) {
  const Shape x = ShapeOf(call, 0);
  std::optional<size_t> axis = fold::NormalAxis(call.int_attribute("axis", -1), x.rank());
  if (!axis) return {};
  return {{TypeOf(call, 0), x, true}, {kInt64, x, true}};
}

// A slice is never longer than what it is cut from.
Results Slice(const FoldCall& call) {
  Shape x = ShapeOf(call, 0);
  if (!x.has_rank) return {};
  return {{TypeOf(call, 0), std::move(x), true}};
}

// In inference a Dropout's mask is as large as its input; of its dtype before opset 10.
Results Dropout(const FoldCall& call) {
  const int mask = call.version() < 10 ? TypeOf(call, 0) : static_cast<int>(onnx::TensorProto::BOOL);
  return {{TypeOf(call, 0), ShapeOf(call, 0)}, {mask, ShapeOf(call, 0)}};
}

// Sizes that pooling lost, where the node is given them.
Results MaxUnpool(const FoldCall& call) {
  const Literal* shape = call.value(2);
  if (shape == nullptr || shape->ints() == nullptr) return {};
  return {{TypeOf(call, 0), Shape(Dims(shape->ints()->begin(), shape->ints()->end()))}};
}

constexpr auto kDataDependentRows = std::to_array<TypeRuleRow>({
    {"", "Compress", Compress},
    {"", "Dropout", Dropout},
    {"", "MaxUnpool", MaxUnpool},
    {"", "NonMaxSuppression", NonMaxSuppression},
    {"", "NonZero", NonZero},
    {"", "Slice", Slice},
    {"", "TopK", TopK},
    {"", "Unique", Unique},
});

}  // namespace

absl::Span<const TypeRuleRow> DataDependentRows() { return kDataDependentRows; }

}  // namespace onnx_mem::rules
