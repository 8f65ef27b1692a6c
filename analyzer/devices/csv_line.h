// One line of comma-separated values -> its fields.
#ifndef ONNX_MEM_ANALYZER_DEVICES_CSV_LINE_H_
#define ONNX_MEM_ANALYZER_DEVICES_CSV_LINE_H_

#include <string>
#include <string_view>
#include <vector>

namespace onnx_mem {

// RFC 4180 without line breaks inside fields: quotes keep commas and go away; blanks stay. At least one field.
//   a,"b, c",   ->   {"a", "b, c", ""}
std::vector<std::string> SplitCsvLine(std::string_view line);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_DEVICES_CSV_LINE_H_
