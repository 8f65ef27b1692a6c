// A key of Node::metadata that import sets, beside what the exporter wrote.
#ifndef ONNX_MEM_ANALYZER_EXPORTED_FIXED_TABLE_MARK_H_
#define ONNX_MEM_ANALYZER_EXPORTED_FIXED_TABLE_MARK_H_

#include <string_view>

namespace onnx_mem {

// The node reads a table of positions whose contents are sines and cosines: the value is the table's name.
inline constexpr std::string_view kReadsFixedTable = "onnx_mem.reads_fixed_table";

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EXPORTED_FIXED_TABLE_MARK_H_
