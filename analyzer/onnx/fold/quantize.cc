// DequantizeLinear and QuantizeLinear with one scale for the whole tensor or one per slice of an axis.
#include <array>
#include <cmath>

#include "analyzer/onnx/fold/fold.h"
#include "analyzer/onnx/read/tensor_literal.h"

namespace onnx_mem::fold {
namespace {

// For each element of `x`, the offset of its scale; nullopt for scales in blocks.
std::optional<std::vector<int64_t>> ScaleOffsets(const FoldCall& call, const Literal& x, const Literal& scale) {
  const int64_t count = Count(x.dims).value_or(0);
  if (Count(scale.dims) == 1) return std::vector<int64_t>(static_cast<size_t>(count), 0);
  std::optional<size_t> axis = NormalAxis(call.int_attribute("axis", 1), x.dims.size());
  if (!axis || scale.dims.size() != 1 || scale.dims[0] != x.dims[*axis]) return std::nullopt;
  if (call.int_attribute("block_size", 0) != 0) return std::nullopt;
  const AxisSplit split = SplitAt(x.dims, *axis);
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < count; ++i) offsets.push_back(i / split.inner % split.length);
  return offsets;
}

// Whether the zero point (input 2) is absent or has one integer per scale.
bool ZeroPointFits(const FoldCall& call, const Literal& scale) {
  if (!call.has(2)) return true;
  const Literal* zero = call.value(2);
  return zero != nullptr && zero->ints() != nullptr && Count(zero->dims) == Count(scale.dims);
}

Outputs DequantizeLinear(const FoldCall& call) {
  const Literal& x = *call.value(0);
  const Literal* scale = call.value(1);
  if (scale == nullptr || scale->floats() == nullptr || x.ints() == nullptr || !ZeroPointFits(call, *scale)) return {};
  if (call.int_attribute("output_dtype", 0) != 0) return {};
  std::optional<std::vector<int64_t>> offsets = ScaleOffsets(call, x, *scale);
  if (!offsets) return {};
  std::vector<double> result;
  for (size_t i = 0; i < offsets->size(); ++i) {
    const auto at = static_cast<size_t>((*offsets)[i]);
    const double zero = call.has(2) ? static_cast<double>((*call.value(2)->ints())[at]) : 0.0;
    const double difference = static_cast<double>((*x.ints())[i]) - zero;
    result.push_back(RoundToFloat(scale->dtype, difference * (*scale->floats())[at]));
  }
  return Floats(scale->dtype, x.dims, std::move(result));
}

Outputs QuantizeLinear(const FoldCall& call) {
  const Literal& x = *call.value(0);
  const Literal* scale = call.value(1);
  if (scale == nullptr || scale->floats() == nullptr || x.floats() == nullptr || !ZeroPointFits(call, *scale))
    return {};
  if (call.int_attribute("output_dtype", 0) != 0) return {};
  const DType to = call.has(2) ? call.value(2)->dtype : DType::kUInt8;
  const int bits = RowOf(to).bits;
  if (!IsIntegral(to) || bits > 16) return {};
  const bool is_signed = WrapToInteger(to, -1) < 0;
  const double low = is_signed ? -std::ldexp(1, bits - 1) : 0;
  const double high = std::ldexp(1, is_signed ? bits - 1 : bits) - 1;
  std::optional<std::vector<int64_t>> offsets = ScaleOffsets(call, x, *scale);
  if (!offsets) return {};
  std::vector<int64_t> result;
  for (size_t i = 0; i < offsets->size(); ++i) {
    const auto at = static_cast<size_t>((*offsets)[i]);
    const double zero = call.has(2) ? static_cast<double>((*call.value(2)->ints())[at]) : 0.0;
    const DType working = x.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
    const double level = std::nearbyint(RoundToFloat(working, (*x.floats())[i] / (*scale->floats())[at])) + zero;
    if (std::isnan(level)) return {};
    result.push_back(static_cast<int64_t>(std::min(std::max(level, low), high)));
  }
  return Integers(to, x.dims, std::move(result));
}

constexpr auto kQuantizeRows = std::to_array<FoldRow>({
    {"DequantizeLinear", DequantizeLinear},
    {"QuantizeLinear", QuantizeLinear},
});

}  // namespace

absl::Span<const FoldRow> QuantizeRows() { return kQuantizeRows; }

}  // namespace onnx_mem::fold
