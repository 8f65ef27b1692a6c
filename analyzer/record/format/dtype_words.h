// How the text of a record calls the types of elements: "f32", "bf16", "b8".
#ifndef ONNX_MEM_ANALYZER_RECORD_FORMAT_DTYPE_WORDS_H_
#define ONNX_MEM_ANALYZER_RECORD_FORMAT_DTYPE_WORDS_H_

#include <string_view>

#include "analyzer/graph/dtype.h"

namespace onnx_mem::record {

// kUnknown where the word names none.
DType DTypeOf(std::string_view word);
// "?" of a type that no record has.
std::string_view WordOf(DType dtype);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_FORMAT_DTYPE_WORDS_H_
