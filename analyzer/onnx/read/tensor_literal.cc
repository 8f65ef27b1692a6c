#include "analyzer/onnx/read/tensor_literal.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

struct ElementRow {
  int element_type;
  DType dtype;
};

constexpr auto kElements = std::to_array<ElementRow>({
    {onnx::TensorProto::UNDEFINED, DType::kUnknown},
    {onnx::TensorProto::FLOAT, DType::kFloat32},
    {onnx::TensorProto::UINT8, DType::kUInt8},
    {onnx::TensorProto::INT8, DType::kInt8},
    {onnx::TensorProto::UINT16, DType::kUInt16},
    {onnx::TensorProto::INT16, DType::kInt16},
    {onnx::TensorProto::INT32, DType::kInt32},
    {onnx::TensorProto::INT64, DType::kInt64},
    {onnx::TensorProto::STRING, DType::kString},
    {onnx::TensorProto::BOOL, DType::kBool},
    {onnx::TensorProto::FLOAT16, DType::kFloat16},
    {onnx::TensorProto::DOUBLE, DType::kFloat64},
    {onnx::TensorProto::UINT32, DType::kUInt32},
    {onnx::TensorProto::UINT64, DType::kUInt64},
    {onnx::TensorProto::COMPLEX64, DType::kComplex64},
    {onnx::TensorProto::COMPLEX128, DType::kComplex128},
    {onnx::TensorProto::BFLOAT16, DType::kBFloat16},
    {onnx::TensorProto::FLOAT8E4M3FN, DType::kFloat8},
    {onnx::TensorProto::FLOAT8E4M3FNUZ, DType::kFloat8},
    {onnx::TensorProto::FLOAT8E5M2, DType::kFloat8},
    {onnx::TensorProto::FLOAT8E5M2FNUZ, DType::kFloat8},
    {onnx::TensorProto::UINT4, DType::kUInt4},
    {onnx::TensorProto::INT4, DType::kInt4},
    {onnx::TensorProto::FLOAT4E2M1, DType::kFloat4},
    {onnx::TensorProto::FLOAT8E8M0, DType::kFloat8},
    {onnx::TensorProto::UINT2, DType::kUInt2},
    {onnx::TensorProto::INT2, DType::kInt2},
});

double FromBits(int fraction_bits, int exponent_bits, uint32_t bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const int exponent = static_cast<int>((bits >> fraction_bits) & ((1u << exponent_bits) - 1));
  const double sign = (bits >> (fraction_bits + exponent_bits)) & 1 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1u << fraction_bits), exponent - bias - fraction_bits);
}

// The nearest number with `precision` significant bits, subnormal below 2^min_exponent, infinite from `limit` on.
double RoundToPrecision(double value, int precision, int min_exponent, double limit) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  const int step = std::max(exponent - precision, min_exponent - precision + 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
  return std::fabs(rounded) >= limit ? std::copysign(HUGE_VAL, value) : rounded;
}

// Elements of `bits` < 8 packed from the low end of each byte.
int64_t Unpack(const unsigned char* bytes, int64_t index, int bits, bool is_signed) {
  const int per_byte = 8 / bits;
  const int shift = static_cast<int>(index % per_byte) * bits;
  const int64_t value = (bytes[index / per_byte] >> shift) & ((1 << bits) - 1);
  return is_signed && (value >> (bits - 1)) != 0 ? value - (int64_t{1} << bits) : value;
}

bool IsSigned(DType dtype) {
  switch (dtype) {
    case DType::kInt64:
    case DType::kInt32:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kInt4:
    case DType::kInt2: return true;
    default: return false;
  }
}

template <class T>
T Load(const unsigned char* bytes, int64_t index) {
  static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");
  T value;
  std::memcpy(&value, bytes + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

int64_t RawInteger(DType dtype, const unsigned char* bytes, int64_t i) {
  switch (dtype) {
    case DType::kInt64:
    case DType::kUInt64: return Load<int64_t>(bytes, i);
    case DType::kInt32: return Load<int32_t>(bytes, i);
    case DType::kUInt32: return Load<uint32_t>(bytes, i);
    case DType::kInt16: return Load<int16_t>(bytes, i);
    case DType::kUInt16: return Load<uint16_t>(bytes, i);
    case DType::kInt8: return Load<int8_t>(bytes, i);
    case DType::kBool: return bytes[i] != 0 ? 1 : 0;
    case DType::kUInt8: return bytes[i];
    default: return Unpack(bytes, i, RowOf(dtype).bits, IsSigned(dtype));
  }
}

double RawFloat(DType dtype, const unsigned char* bytes, int64_t i) {
  switch (dtype) {
    case DType::kFloat64: return Load<double>(bytes, i);
    case DType::kFloat16: return FromBits(10, 5, Load<uint16_t>(bytes, i));
    case DType::kBFloat16: return FromBits(7, 8, Load<uint16_t>(bytes, i));
    default: return Load<float>(bytes, i);
  }
}

bool IsFoldableFloat(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64 || IsHalf(dtype); }

// Reads `count` integers from whichever field holds them; false if that field has another number of elements.
bool ReadIntegers(const onnx::TensorProto& tensor, DType dtype, int64_t count, std::vector<int64_t>& out) {
  out.reserve(static_cast<size_t>(count));
  const int bits = RowOf(dtype).bits;
  const int64_t units = bits < 8 ? (count * bits + 7) / 8 : count;  // bytes where packed, else elements
  if (tensor.has_raw_data()) {
    const std::string& raw = tensor.raw_data();
    if (static_cast<int64_t>(raw.size()) != (bits < 8 ? units : count * (bits / 8))) return false;
    const auto* bytes = reinterpret_cast<const unsigned char*>(raw.data());
    for (int64_t i = 0; i < count; ++i) out.push_back(RawInteger(dtype, bytes, i));
    return true;
  }
  if (dtype == DType::kInt64) {
    if (tensor.int64_data_size() != count) return false;
    out.assign(tensor.int64_data().begin(), tensor.int64_data().end());
    return true;
  }
  if (dtype == DType::kUInt32 || dtype == DType::kUInt64) {
    if (tensor.uint64_data_size() != count) return false;
    for (uint64_t value : tensor.uint64_data()) out.push_back(static_cast<int64_t>(value));
    return true;
  }
  if (tensor.int32_data_size() != units) return false;
  for (int64_t i = 0; i < count; ++i) {
    if (bits >= 8) {
      out.push_back(WrapToInteger(dtype, tensor.int32_data(static_cast<int>(i))));
    } else {
      const auto byte = static_cast<unsigned char>(tensor.int32_data(static_cast<int>(i / (8 / bits))));
      out.push_back(Unpack(&byte, i % (8 / bits), bits, IsSigned(dtype)));
    }
  }
  return true;
}

bool ReadFloats(const onnx::TensorProto& tensor, DType dtype, int64_t count, std::vector<double>& out) {
  out.reserve(static_cast<size_t>(count));
  if (tensor.has_raw_data()) {
    const std::string& raw = tensor.raw_data();
    if (static_cast<int64_t>(raw.size()) != count * (RowOf(dtype).bits / 8)) return false;
    const auto* bytes = reinterpret_cast<const unsigned char*>(raw.data());
    for (int64_t i = 0; i < count; ++i) out.push_back(RawFloat(dtype, bytes, i));
    return true;
  }
  if (dtype == DType::kFloat32) {
    if (tensor.float_data_size() != count) return false;
    out.assign(tensor.float_data().begin(), tensor.float_data().end());
    return true;
  }
  if (dtype == DType::kFloat64) {
    if (tensor.double_data_size() != count) return false;
    out.assign(tensor.double_data().begin(), tensor.double_data().end());
    return true;
  }
  if (tensor.int32_data_size() != count) return false;
  const bool brain = dtype == DType::kBFloat16;
  for (int32_t bits : tensor.int32_data()) {
    out.push_back(FromBits(brain ? 7 : 10, brain ? 8 : 5, static_cast<uint16_t>(bits)));
  }
  return true;
}

// Element count of `tensor`; -1 where a dim is negative or the product overflows.
int64_t NumElementsOf(const onnx::TensorProto& tensor) {
  Shape shape(Dims(tensor.dims().begin(), tensor.dims().end()));
  return NumElements(shape).value_or(-1);
}

}  // namespace

DType DTypeOf(int element_type) {
  if (element_type < 0 || element_type >= static_cast<int>(kElements.size())) return DType::kUnknown;
  return kElements[static_cast<size_t>(element_type)].dtype;
}

int ElementTypeOf(DType dtype) {
  if (dtype == DType::kFloat8 || dtype == DType::kFloat4) return onnx::TensorProto::UNDEFINED;
  for (const ElementRow& row : kElements) {
    if (row.dtype == dtype) return row.element_type;
  }
  return onnx::TensorProto::UNDEFINED;
}

bool HasPayload(const onnx::TensorProto& tensor) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return false;
  if (tensor.has_raw_data() || tensor.int64_data_size() != 0 || tensor.float_data_size() != 0 ||
      tensor.int32_data_size() != 0 || tensor.double_data_size() != 0 || tensor.uint64_data_size() != 0 ||
      tensor.string_data_size() != 0) {
    return true;
  }
  return NumElementsOf(tensor) == 0;
}

LiteralPtr LiteralOf(const onnx::TensorProto& tensor, int64_t max_elements) {
  const int64_t count = NumElementsOf(tensor);
  if (count < 0 || count > max_elements || !HasPayload(tensor)) return nullptr;
  auto literal = std::make_shared<Literal>();
  literal->dtype = DTypeOf(tensor.data_type());
  literal->dims.assign(tensor.dims().begin(), tensor.dims().end());
  if (literal->dtype == DType::kString) {
    if (tensor.string_data_size() != count) return nullptr;
    literal->data = std::vector<std::string>(tensor.string_data().begin(), tensor.string_data().end());
    return literal;
  }
  if (IsFoldableFloat(literal->dtype)) {
    std::vector<double> values;
    if (!ReadFloats(tensor, literal->dtype, count, values)) return nullptr;
    literal->data = std::move(values);
    return literal;
  }
  if (!IsIntegral(literal->dtype) && literal->dtype != DType::kBool) return nullptr;
  std::vector<int64_t> values;
  if (!ReadIntegers(tensor, literal->dtype, count, values)) return nullptr;
  literal->data = std::move(values);
  return literal;
}

void FillTensor(const Literal& literal, onnx::TensorProto& tensor) {
  tensor.set_data_type(ElementTypeOf(literal.dtype));
  for (int64_t dim : literal.dims) tensor.add_dims(dim);
  if (const auto* strings = std::get_if<std::vector<std::string>>(&literal.data)) {
    for (const std::string& text : *strings) tensor.add_string_data(text);
  } else if (const std::vector<double>* floats = literal.floats()) {
    // Half formats are read back through this same file only as float: consumers want numbers, not bit patterns.
    if (literal.dtype == DType::kFloat64) {
      tensor.mutable_double_data()->Assign(floats->begin(), floats->end());
    } else {
      if (literal.dtype != DType::kFloat32) tensor.set_data_type(onnx::TensorProto::FLOAT);
      tensor.mutable_float_data()->Assign(floats->begin(), floats->end());
    }
  } else if (const std::vector<int64_t>* ints = literal.ints()) {
    if (literal.dtype == DType::kInt64) {
      tensor.mutable_int64_data()->Assign(ints->begin(), ints->end());
    } else if (literal.dtype == DType::kUInt32 || literal.dtype == DType::kUInt64) {
      tensor.mutable_uint64_data()->Assign(ints->begin(), ints->end());
    } else {
      if (RowOf(literal.dtype).bits < 8) tensor.set_data_type(onnx::TensorProto::INT32);
      tensor.mutable_int32_data()->Assign(ints->begin(), ints->end());
    }
  }
}

double RoundToFloat(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat64: return value;
    case DType::kFloat16: return RoundToPrecision(value, 11, -14, 65536.0);
    case DType::kBFloat16: return RoundToPrecision(value, 8, -126, std::ldexp(1.0, 128));
    default:
      // A double beyond float's range converts to undefined; infinity is what the arithmetic would have given.
      if (std::fabs(value) > 3.4028235677973366e38) return std::copysign(HUGE_VAL, value);
      return static_cast<float>(value);
  }
}

int64_t WrapToInteger(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  const int bits = RowOf(dtype).bits;
  if (bits == 64 || bits == 0) return value;
  const uint64_t low = static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
  if (IsSigned(dtype) && (low >> (bits - 1)) != 0) return static_cast<int64_t>(low) - (int64_t{1} << bits);
  return static_cast<int64_t>(low);
}

}  // namespace onnx_mem
