#include "report/parts/screen.h"

namespace onnx_mem {

std::string Painted(std::string_view text, Paint paint, const Screen& screen) {
  if (!screen.color || paint == Paint::kNone || text.empty()) return std::string(text);
  std::string_view code;
  switch (paint) {
    case Paint::kNone: break;
    case Paint::kBold: code = "1"; break;
    case Paint::kDim: code = "2"; break;
    case Paint::kRed: code = "1;31"; break;
    case Paint::kGreen: code = "32"; break;
    case Paint::kYellow: code = "33"; break;
    case Paint::kCyan: code = "36"; break;
  }
  std::string painted = "\x1b[";
  painted.append(code).append("m").append(text).append("\x1b[0m");
  return painted;
}

}  // namespace onnx_mem
