// The names of a module's parameters, taken apart.
#ifndef ONNX_MEM_ANALYZER_EXPORTED_PARAMETER_PATH_H_
#define ONNX_MEM_ANALYZER_EXPORTED_PARAMETER_PATH_H_

#include <string_view>
#include <utility>

namespace onnx_mem {

// "layers.3.fc.weight" -> "layers.3.fc" and "weight".
std::pair<std::string_view, std::string_view> SplitPath(std::string_view target);

// "fc.parametrizations.weight" -> "fc": the module that runs with what torch.nn.utils.parametrize makes of its
// parameters.
std::string_view WithoutParametrizations(std::string_view module);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EXPORTED_PARAMETER_PATH_H_
