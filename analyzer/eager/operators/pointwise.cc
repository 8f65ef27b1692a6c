#include "analyzer/eager/operators/pointwise.h"

#include <algorithm>
#include <array>

#include "analyzer/eager/engine/copy_slices.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

// bool < integer < floating < complex, the order in which kinds win.
int Kind(DType t) {
  if (t == DType::kBool) return 0;
  if (IsIntegral(t)) return 1;
  return IsFloating(t) ? 2 : 3;
}

bool IsSigned(DType t) {
  return t == DType::kInt64 || t == DType::kInt32 || t == DType::kInt16 || t == DType::kInt8 || t == DType::kInt4 ||
         t == DType::kInt2;
}

DType PromoteIntegers(DType a, DType b) {
  if (RowOf(a).bits < RowOf(b).bits) std::swap(a, b);
  if (RowOf(a).bits > RowOf(b).bits) return IsSigned(a) || !IsSigned(b) ? a : DType::kInt64;
  if (IsSigned(a) == IsSigned(b)) return a;
  switch (RowOf(a).bits) {  // the smallest signed type that holds both
    case 8: return DType::kInt16;
    case 16: return DType::kInt32;
    default: return DType::kInt64;
  }
}

bool IsMaskStep(std::string_view op) {
  static constexpr auto kMasks = std::to_array<std::string_view>(
      {"gt", "lt", "ge", "le", "eq", "ne", "isnan", "logical_and", "logical_or", "bitwise_not"});
  return std::find(kMasks.begin(), kMasks.end(), op) != kMasks.end();
}

}  // namespace

DType PromoteTypes(DType a, DType b) {
  if (a == b) return a;
  if (Kind(a) != Kind(b)) return Kind(a) > Kind(b) ? a : b;
  if (Kind(a) == 1) return PromoteIntegers(a, b);
  if (RowOf(a).bits == RowOf(b).bits) return DType::kFloat32;  // float16 and bfloat16
  return RowOf(a).bits > RowOf(b).bits ? a : b;
}

DType ResultType(std::initializer_list<TensorRef> operands) {
  DType with_dims = DType::kUnknown, without = DType::kUnknown;
  for (const TensorRef& t : operands) {
    if (t == nullptr) continue;
    DType& result = t->dims.empty() ? without : with_dims;
    result = result == DType::kUnknown ? t->dtype : PromoteTypes(result, t->dtype);
  }
  if (with_dims == DType::kUnknown) return without;
  if (without == DType::kUnknown || Kind(without) <= Kind(with_dims)) return with_dims;
  return PromoteTypes(with_dims, without);
}

DType FloatingTypeOf(const EagerTensor& t) { return IsFloating(t.dtype) ? t.dtype : DType::kFloat32; }

TensorRef NewPointwise(Machine& m, std::string_view op, std::initializer_list<TensorRef> operands) {
  return NewPointwise(m, op, operands, ResultType(operands));
}

TensorRef NewPointwise(Machine& m, std::string_view op, std::initializer_list<TensorRef> operands, DType dtype) {
  Dims dims;
  absl::InlinedVector<const EagerTensor*, 4> present;
  for (const TensorRef& t : operands) {
    if (t == nullptr) continue;
    dims = BroadcastDims(dims, t->dims);
    present.push_back(t.get());
  }
  return m.New(op, dims, dtype, ElementwiseStrides(dims, std::span<const EagerTensor* const>(present)));
}

TensorRef InPlace(Machine& m, std::string_view op, const TensorRef& x) {
  m.BeginStep(op);
  TensorRef y = m.Alias(x, x->dims, x->strides, x->is_view);
  if (m.grad_enabled()) WriteOver(x, y);
  return y;
}

TensorRef OverwriteUnlessObserved(Machine& m, std::string_view op, const TensorRef& x) {
  if (kObserved) return m.NewLike(op, *x);
  m.BeginStep(op);
  return x;
}

TensorRef ToCopy(Machine& m, const TensorRef& x, DType dtype) {
  if (x->dtype == dtype) return x;
  NodeRef node;
  if (IsDifferentiable(dtype)) node = m.MakeNode("ToCopyBackward0", {x});
  TensorRef copy = m.NewLike("_to_copy", *x, dtype);
  node.Output(copy);
  node.Formula([original = x->dtype](Backward& b) {
    const TensorRef& g = b.grad();
    b.result(0, ToCopy(b.m, IsComplex(original) ? g : RealPart(b.m, g), original));
  });
  return copy;
}

TensorRef RunPointwise(Machine& m, std::span<const std::string_view> steps, std::initializer_list<TensorRef> operands) {
  absl::InlinedVector<TensorRef, 6> live;
  for (std::string_view op : steps) {
    if (op.empty()) break;
    if (op == "scalar_tensor") {
      live.push_back(m.New(op, Dims{}, ResultType(operands)));
    } else if (IsMaskStep(op)) {
      live.push_back(NewPointwise(m, op, operands, DType::kBool));
    } else {
      live.push_back(NewPointwise(m, op, operands));
    }
  }
  return live.back();
}

TensorRef RunPointwise(Machine& m, std::initializer_list<std::string_view> steps,
                       std::initializer_list<TensorRef> operands) {
  return RunPointwise(m, std::span<const std::string_view>(steps.begin(), steps.size()), operands);
}

}  // namespace onnx_mem::eager
