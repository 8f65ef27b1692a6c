// What onnx.checker says of a file, for --strict.
#ifndef ONNX_MEM_ANALYZER_ONNX_STRICT_ONNX_CHECKER_H_
#define ONNX_MEM_ANALYZER_ONNX_STRICT_ONNX_CHECKER_H_

#include <string>

#include "absl/status/status.h"

namespace onnx_mem {

// Of the bytes of a model without its weights (ModelFile::Annotated; none: a record alone, OK). Weights count as there,
// wherever they are: a file that was stripped of them is legal here. Error: bad-model with the checker's first words.
absl::Status CheckAsOnnxDoes(const std::string& slim, const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_STRICT_ONNX_CHECKER_H_
