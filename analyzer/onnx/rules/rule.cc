#include "analyzer/onnx/rules/rule.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analyzer/onnx/infer/scope.h"

namespace onnx_mem::rules {
namespace {

using Key = std::pair<std::string_view, std::string_view>;

absl::flat_hash_map<Key, Function> AllRows() {
  absl::flat_hash_map<Key, Function> rows;
  for (absl::Span<const TypeRuleRow> family :
       {AttentionRows(), ContribRows(), ConvolutionRows(), EinsumRows(), FormerRows(), MlRows()}) {
    for (const TypeRuleRow& row : family) rows.emplace(Key(row.domain, row.op), row.rule);
  }
  return rows;
}

}  // namespace

Function FindRule(std::string_view domain, std::string_view op) {
  static const auto& rows = *new absl::flat_hash_map<Key, Function>(AllRows());
  const auto found = rows.find(Key(domain, op));
  return found != rows.end() ? found->second : nullptr;
}

bool IsSchemaWrong(std::string_view domain, std::string_view op) {
  const absl::Span<const TypeRuleRow> rows = EinsumRows();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const TypeRuleRow& row) { return row.domain == domain && row.op == op; });
}

Function FindBound(std::string_view op) {
  for (const TypeRuleRow& row : DataDependentRows()) {
    if (row.op == op) return row.rule;
  }
  return nullptr;
}

Shape ShapeOf(const fold::FoldCall& call, size_t i) { return ShapeOfType(call.type(i)); }

int TypeOf(const fold::FoldCall& call, size_t i) {
  const onnx::TypeProto* type = call.type(i);
  return type != nullptr && type->has_tensor_type() ? type->tensor_type().elem_type() : onnx::TensorProto::UNDEFINED;
}

int64_t DimOf(const fold::FoldCall& call, size_t i, int64_t axis) {
  const Shape shape = ShapeOf(call, i);
  const auto rank = static_cast<int64_t>(shape.rank());
  if (axis < -rank || axis >= rank) return kUnknownDim;
  return shape.dims[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
}

int64_t Times(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return kUnknownDim;
  return CheckedMul(a, b).value_or(kUnknownDim);
}

int64_t Plus(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return kUnknownDim;
  return CheckedAdd(a, b).value_or(kUnknownDim);
}

int64_t Over(int64_t a, int64_t b) { return a < 0 || b <= 0 ? kUnknownDim : a / b; }

Dims IntsOf(const fold::FoldCall& call, std::string_view name) {
  const onnx::AttributeProto* found = call.attribute(name);
  return found != nullptr ? Dims(found->ints().begin(), found->ints().end()) : Dims();
}

Results SameAsFirst(const fold::FoldCall& call) { return {{TypeOf(call, 0), ShapeOf(call, 0)}}; }

Shape Broadcast(const Shape& a, const Shape& b) {
  if (!a.has_rank || !b.has_rank) return Shape();
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  for (size_t i = 0; i < shorter.rank(); ++i) {
    int64_t& out = result.dims[longer.rank() - shorter.rank() + i];
    const int64_t dim = shorter.dims[i];
    if (dim == 1 || dim == out) continue;
    if (out == 1) {
      out = dim;
    } else if (out == kUnknownDim) {
      out = dim;  // the unknown one is 1 or the same
    }
  }
  return result;
}

Shape MatrixProduct(Shape a, Shape b) {
  if (!a.has_rank || !b.has_rank || a.rank() == 0 || b.rank() == 0) return Shape();
  const bool a_vector = a.rank() == 1;
  const bool b_vector = b.rank() == 1;
  if (a_vector) a.dims.insert(a.dims.begin(), 1);
  if (b_vector) b.dims.push_back(1);
  const int64_t rows = a.dims[a.rank() - 2];
  const int64_t columns = b.dims.back();
  a.dims.resize(a.rank() - 2);
  b.dims.resize(b.rank() - 2);
  Shape result = Broadcast(a, b);
  if (!a_vector) result.dims.push_back(rows);
  if (!b_vector) result.dims.push_back(columns);
  return result;
}

}  // namespace onnx_mem::rules
