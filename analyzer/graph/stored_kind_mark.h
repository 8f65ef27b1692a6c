// Keys of Node::metadata that import sets from the exported program's signature, beside what the exporter wrote.
#ifndef ONNX_MEM_ANALYZER_GRAPH_STORED_KIND_MARK_H_
#define ONNX_MEM_ANALYZER_GRAPH_STORED_KIND_MARK_H_

#include <string_view>

namespace onnx_mem {

// The stored tensors that the node reads and that are parameters, or buffers, of their modules:
// "\nfc.weight\nfc.bias\n".
inline constexpr std::string_view kReadsParameter = "onnx_mem.reads_parameter";
inline constexpr std::string_view kReadsBuffer = "onnx_mem.reads_buffer";
// The node runs in a module that has a parameter of which the file has no tensor: the value is its name.
inline constexpr std::string_view kLostParameter = "onnx_mem.lost_parameter";

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_STORED_KIND_MARK_H_
