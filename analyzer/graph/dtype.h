// Element types and their width. Names are those of the JSON contract ("float32"), which are numpy's.
#ifndef ONNX_MEM_ANALYZER_GRAPH_DTYPE_H_
#define ONNX_MEM_ANALYZER_GRAPH_DTYPE_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace onnx_mem {

enum class DType : uint8_t {
  kUnknown,
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kFloat8,  // any of the 8-bit floating formats
  kFloat4,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kInt4,
  kInt2,
  kUInt64,
  kUInt32,
  kUInt16,
  kUInt8,
  kUInt4,
  kUInt2,
  kBool,
  kComplex64,
  kComplex128,
  kString,
};

struct DTypeRow {
  DType dtype;
  std::string_view name;
  int bits;  // 0: not a device type (strings), or unknown
  bool floating;
};

inline constexpr auto kDTypes = std::to_array<DTypeRow>({
    {DType::kUnknown, "unknown", 0, false},
    {DType::kFloat32, "float32", 32, true},
    {DType::kFloat64, "float64", 64, true},
    {DType::kFloat16, "float16", 16, true},
    {DType::kBFloat16, "bfloat16", 16, true},
    {DType::kFloat8, "float8", 8, true},
    {DType::kFloat4, "float4", 4, true},
    {DType::kInt64, "int64", 64, false},
    {DType::kInt32, "int32", 32, false},
    {DType::kInt16, "int16", 16, false},
    {DType::kInt8, "int8", 8, false},
    {DType::kInt4, "int4", 4, false},
    {DType::kInt2, "int2", 2, false},
    {DType::kUInt64, "uint64", 64, false},
    {DType::kUInt32, "uint32", 32, false},
    {DType::kUInt16, "uint16", 16, false},
    {DType::kUInt8, "uint8", 8, false},
    {DType::kUInt4, "uint4", 4, false},
    {DType::kUInt2, "uint2", 2, false},
    {DType::kBool, "bool", 8, false},
    {DType::kComplex64, "complex64", 64, false},
    {DType::kComplex128, "complex128", 128, false},
    {DType::kString, "string", 0, false},
});

constexpr const DTypeRow& RowOf(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }
constexpr std::string_view NameOf(DType dtype) { return RowOf(dtype).name; }
constexpr bool IsFloating(DType dtype) { return RowOf(dtype).floating; }
constexpr bool IsComplex(DType dtype) { return dtype == DType::kComplex64 || dtype == DType::kComplex128; }
// c10::isDifferentiableType: what can have a gradient.
constexpr bool IsDifferentiable(DType dtype) { return IsFloating(dtype) || IsComplex(dtype); }
constexpr DType RealTypeOf(DType dtype) {
  if (!IsComplex(dtype)) return dtype;
  return dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
}
constexpr DType ComplexTypeOf(DType dtype) {
  return dtype == DType::kFloat64 || dtype == DType::kComplex128 ? DType::kComplex128 : DType::kComplex64;
}
constexpr bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }
constexpr bool IsIntegral(DType dtype) { return dtype >= DType::kInt64 && dtype <= DType::kUInt2; }

namespace dtype_internal {
constexpr bool RowsInEnumOrder() {
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].dtype != static_cast<DType>(i)) return false;
  }
  return true;
}
static_assert(RowsInEnumOrder());
}  // namespace dtype_internal

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_DTYPE_H_
