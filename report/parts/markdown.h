// Text from files and options as Markdown shows it: nothing in it is markup.
#ifndef ONNX_MEM_REPORT_PARTS_MARKDOWN_H_
#define ONNX_MEM_REPORT_PARTS_MARKDOWN_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace onnx_mem {

inline constexpr size_t kMostRowsOfMarkdown = 50;  // of a table, in a comment that people read

inline std::string MarkdownText(std::string_view text) {
  std::string escaped;
  for (char byte : text) {
    if (std::string_view("|\\`*_<[").find(byte) != std::string_view::npos) escaped += '\\';
    escaped += byte == '\n' || byte == '\r' ? ' ' : byte;
  }
  return escaped;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_MARKDOWN_H_
