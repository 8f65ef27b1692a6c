// Key of Node::metadata that import sets from the exported program's signature, beside what the exporter wrote.
#ifndef ONNX_MEM_ANALYZER_EXPORTED_LOST_PARAMETER_MARK_H_
#define ONNX_MEM_ANALYZER_EXPORTED_LOST_PARAMETER_MARK_H_

#include <string_view>

namespace onnx_mem {

// The node runs in a module that has a parameter of which the file has no tensor: the value is its name.
inline constexpr std::string_view kLostParameter = "onnx_mem.lost_parameter";

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EXPORTED_LOST_PARAMETER_MARK_H_
