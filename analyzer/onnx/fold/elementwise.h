// Element by element with NumPy broadcasting: the frame that arithmetic and comparison share.
#ifndef ONNX_MEM_ANALYZER_ONNX_FOLD_ELEMENTWISE_H_
#define ONNX_MEM_ANALYZER_ONNX_FOLD_ELEMENTWISE_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/onnx/fold/fold.h"
#include "analyzer/onnx/read/tensor_literal.h"

namespace onnx_mem::fold {

// Whether int64 holds every element as its own number: not so for uint64 from 2^63 on.
inline bool FitsInt64(const Literal& literal) {
  if (literal.dtype != DType::kUInt64) return true;
  return std::all_of(literal.ints()->begin(), literal.ints()->end(),
                     [](int64_t v) { return v >= 0 || v == kUnknownElement; });
}

// Two operands of one dtype, and where each element of the result finds its two.
struct Pairing {
  const Literal* a;
  const Literal* b;
  Dims dims;
  std::vector<int64_t> a_offsets;
  std::vector<int64_t> b_offsets;
};

// The first two inputs of `call`; nullopt where they do not fit each other.
inline std::optional<Pairing> Pair(const FoldCall& call) {
  const Literal* a = call.value(0);
  const Literal* b = call.value(1);
  if (a == nullptr || b == nullptr || a->data.index() != b->data.index()) return std::nullopt;
  if (a->ints() != nullptr && (!FitsInt64(*a) || !FitsInt64(*b))) return std::nullopt;
  // Before opset 7 operands were aligned by attributes.
  if (call.version() < 7 && a->dims != b->dims) return std::nullopt;
  std::optional<Dims> dims = BroadcastDims({&a->dims, &b->dims});
  if (!dims) return std::nullopt;
  std::vector<int64_t> a_offsets = BroadcastOffsets(a->dims, *dims);
  std::vector<int64_t> b_offsets = BroadcastOffsets(b->dims, *dims);
  return Pairing{a, b, *std::move(dims), std::move(a_offsets), std::move(b_offsets)};
}

// result[i] = op(a[i], b[i]) for elements of type T.
template <class R, class T, class Op>
std::vector<R> Combine(const Pairing& pairing, Op op) {
  const auto& a = std::get<std::vector<T>>(pairing.a->data);
  const auto& b = std::get<std::vector<T>>(pairing.b->data);
  std::vector<R> result;
  result.reserve(pairing.a_offsets.size());
  for (size_t i = 0; i < pairing.a_offsets.size(); ++i) {
    result.push_back(op(a[static_cast<size_t>(pairing.a_offsets[i])], b[static_cast<size_t>(pairing.b_offsets[i])]));
  }
  return result;
}

// `op` on integers, except that anything with an unknown element is unknown.
template <class Op>
auto Known(Op op) {
  return [op](int64_t a, int64_t b) {
    return a == kUnknownElement || b == kUnknownElement ? kUnknownElement : static_cast<int64_t>(op(a, b));
  };
}

// Every element of the only operand: `int_op` or `float_op`, whichever its dtype asks for, result of the same dtype.
template <class IntOp, class FloatOp>
Outputs MapElements(const Literal& x, IntOp int_op, FloatOp float_op) {
  if (const std::vector<int64_t>* ints = x.ints()) {
    if (!FitsInt64(x)) return {};
    std::vector<int64_t> result(*ints);
    for (int64_t& v : result) {
      if (v != kUnknownElement) v = WrapToInteger(x.dtype, int_op(v));
    }
    return Integers(x.dtype, x.dims, std::move(result));
  }
  if (const std::vector<double>* floats = x.floats()) {
    std::vector<double> result(*floats);
    for (double& v : result) v = RoundToFloat(x.dtype, float_op(v));
    return Floats(x.dtype, x.dims, std::move(result));
  }
  return {};
}

}  // namespace onnx_mem::fold

#endif  // ONNX_MEM_ANALYZER_ONNX_FOLD_ELEMENTWISE_H_
