// Names of module calls, as exporters write them: the module's path, and a number behind it from the second call on.
#ifndef ONNX_MEM_ANALYZER_EXPORTED_CALL_NAME_H_
#define ONNX_MEM_ANALYZER_EXPORTED_CALL_NAME_H_

#include <string>
#include <string_view>
#include <utility>

namespace onnx_mem {

// "layer_1", the second call of a module -> "layer" and "_1"; the first call has no number.
std::pair<std::string_view, std::string_view> SplitCallNumber(std::string_view name);
// "layer_1" -> "layer".
std::string_view WithoutCallNumber(std::string_view name);
// "layers.3.conv_1" -> "layers..conv_": the same place in every round of a loop.
std::string WithoutDigits(std::string_view name);
// The same for the numbers of elements of lists alone: "layers.3.conv1" -> "layers..conv1.".
std::string WithoutElementNumbers(std::string_view name);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EXPORTED_CALL_NAME_H_
