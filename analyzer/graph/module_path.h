// Paths of modules, "encoder.layers.0": parts with dots between them. "" is the root.
#ifndef ONNX_MEM_ANALYZER_GRAPH_MODULE_PATH_H_
#define ONNX_MEM_ANALYZER_GRAPH_MODULE_PATH_H_

#include <cstddef>
#include <string_view>

namespace onnx_mem {

// By whole parts: "layer10" is not below "layer1". The root is not above anything here.
inline bool IsAtOrBelow(std::string_view path, std::string_view module) {
  return path == module || (path.size() > module.size() && path.starts_with(module) && path[module.size()] == '.');
}

// The same where everything is inside the root.
inline bool IsInside(std::string_view path, std::string_view module) {
  return module.empty() || IsAtOrBelow(path, module);
}

// The modules around `path`, outer ones first, without the root and without itself: "encoder", "encoder.layers".
template <class Visit>
void ForEachOuterModule(std::string_view path, Visit visit) {
  for (size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    visit(path.substr(0, dot));
  }
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_MODULE_PATH_H_
