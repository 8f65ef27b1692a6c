// A key of Node::metadata that import sets, beside what the exporter wrote.
#ifndef ONNX_MEM_ANALYZER_EXPORTED_TIED_WEIGHT_MARK_H_
#define ONNX_MEM_ANALYZER_EXPORTED_TIED_WEIGHT_MARK_H_

#include <string_view>

namespace onnx_mem {

// The node reads a weight whose contents are no embedding's, though its shape is: the value is the weight's name.
inline constexpr std::string_view kOwnWeight = "onnx_mem.own_weight";

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EXPORTED_TIED_WEIGHT_MARK_H_
