// What the place where the report is shown can do: width, colours, glyphs; and the user's choice of units.
#ifndef ONNX_MEM_REPORT_PARTS_SCREEN_H_
#define ONNX_MEM_REPORT_PARTS_SCREEN_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/graph/bytes.h"

namespace onnx_mem {

struct Screen {
  size_t width = 100;
  bool color = false;
  bool utf8 = false;
  ByteUnit units = ByteUnit::kAuto;
  size_t rows = 0;  // of a terminal; 0: none, nothing scrolls away
};

inline constexpr size_t kWidest = 100;  // a screen of figures is not read across more columns than this
inline constexpr size_t kNarrowest = 60;

// Sixteen-colour codes, which follow the terminal's theme. Information is never in the colour alone.
enum class Paint : uint8_t { kNone, kBold, kDim, kRed, kGreen, kYellow, kCyan };
std::string Painted(std::string_view text, Paint paint, const Screen& screen);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_SCREEN_H_
