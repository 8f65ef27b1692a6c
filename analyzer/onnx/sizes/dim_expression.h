// Dimensions that exporters write as a formula of others: "2*batch", "seq + past", "s77//2", "max(1, s0)".
#ifndef ONNX_MEM_ANALYZER_ONNX_SIZES_DIM_EXPRESSION_H_
#define ONNX_MEM_ANALYZER_ONNX_SIZES_DIM_EXPRESSION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_mem {

// Names in `text`, in order, each once. A text that is no formula ("batch", "input.1_dim_0") is itself one name.
std::vector<std::string> DimNames(std::string_view text);

// The value of `text`; nullopt where a name is not in `values`, or on overflow or division by zero.
std::optional<int64_t> EvaluateDim(std::string_view text, const std::map<std::string, int64_t>& values);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_SIZES_DIM_EXPRESSION_H_
