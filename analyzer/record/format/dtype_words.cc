#include "analyzer/record/format/dtype_words.h"

#include <algorithm>
#include <array>

namespace onnx_mem::record {
namespace {

struct DTypeWord {
  std::string_view word;
  DType dtype;
};
constexpr auto kWords = std::to_array<DTypeWord>({
    {"f32", DType::kFloat32},
    {"f16", DType::kFloat16},
    {"bf16", DType::kBFloat16},
    {"f64", DType::kFloat64},
    {"i64", DType::kInt64},
    {"i32", DType::kInt32},
    {"i16", DType::kInt16},
    {"i8", DType::kInt8},
    {"u8", DType::kUInt8},
    {"b8", DType::kBool},
    {"c64", DType::kComplex64},
    {"c128", DType::kComplex128},
    {"uint16", DType::kUInt16},
    {"uint32", DType::kUInt32},
    {"uint64", DType::kUInt64},
    {"float8_e4m3fn", DType::kFloat8},
});

}  // namespace

DType DTypeOf(std::string_view word) {
  const auto* row = std::find_if(kWords.begin(), kWords.end(), [&](const DTypeWord& r) { return r.word == word; });
  if (row != kWords.end()) return row->dtype;
  return word.starts_with("float8_") ? DType::kFloat8 : DType::kUnknown;
}

std::string_view WordOf(DType dtype) {
  const auto* row = std::find_if(kWords.begin(), kWords.end(), [&](const DTypeWord& r) { return r.dtype == dtype; });
  return row == kWords.end() ? std::string_view("?") : row->word;
}

}  // namespace onnx_mem::record
