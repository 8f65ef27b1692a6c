// onnx.TensorProto <-> Literal, and element types to and fro. Payloads come in three forms (raw bytes, typed fields,
// another file) and twelve widths; everything after this knows int64, double and string.
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_TENSOR_LITERAL_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_TENSOR_LITERAL_H_

#include <cstdint>

#include "analyzer/graph/dag.h"

namespace onnx {
class TensorProto;
}  // namespace onnx

namespace onnx_mem {

// onnx.TensorProto.DataType -> DType; kUnknown for what has no counterpart.
DType DTypeOf(int element_type);
// The inverse; 0 (UNDEFINED) for kUnknown and for the families that name several formats (kFloat8, kFloat4).
int ElementTypeOf(DType dtype);

// Whether the tensor carries its contents: false where the reader left them behind or they lie in another file.
bool HasPayload(const onnx::TensorProto& tensor);

// The contents, or null where they are absent, are more than `max_elements`, do not match the dims, or have an element
// type that neither int64 nor double holds (float8, float4, complex).
LiteralPtr LiteralOf(const onnx::TensorProto& tensor, int64_t max_elements);

// Writes `literal` into an empty tensor as typed fields.
void FillTensor(const Literal& literal, onnx::TensorProto& tensor);

// `value` as an element of `dtype` would hold it: rounded to the format's nearest (ties to even).
double RoundToFloat(DType dtype, double value);
// Likewise for integers: wrapped to the width, two's complement. Bool: 0 or 1.
int64_t WrapToInteger(DType dtype, int64_t value);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_TENSOR_LITERAL_H_
