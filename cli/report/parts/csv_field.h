// One field of a CSV file (RFC 4180).
#ifndef ONNX_MEM_CLI_REPORT_PARTS_CSV_FIELD_H_
#define ONNX_MEM_CLI_REPORT_PARTS_CSV_FIELD_H_

#include <string>
#include <string_view>

namespace onnx_mem {

// `field` in quotes where it has a comma, a quote or a line break.
inline std::string CsvField(std::string_view field) {
  if (field.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(field);
  std::string text = "\"";
  for (char byte : field) {
    if (byte == '"') text += '"';
    text += byte;
  }
  return text + '"';
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_REPORT_PARTS_CSV_FIELD_H_
