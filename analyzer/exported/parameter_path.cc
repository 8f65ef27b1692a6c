#include "analyzer/exported/parameter_path.h"

#include <cstddef>

namespace onnx_mem {

std::pair<std::string_view, std::string_view> SplitPath(std::string_view target) {
  const size_t dot = target.rfind('.');
  if (dot == std::string_view::npos) return {{}, target};
  return {target.substr(0, dot), target.substr(dot + 1)};
}

std::string_view WithoutParametrizations(std::string_view module) {
  constexpr std::string_view kParametrizations = "parametrizations.";
  const size_t at = module.find(kParametrizations);
  if (at == std::string_view::npos) return module;
  return at == 0 ? std::string_view() : module.substr(0, at - 1);
}

}  // namespace onnx_mem
