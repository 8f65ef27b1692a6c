#include <algorithm>
#include <cstdint>

#include "report/page/page.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct CodePoint {
  uint32_t value = 0;
  size_t length = 0;  // 0: no UTF-8
};

CodePoint CodePointAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : byte(0) >= 0xC2 ? 2 : 0;
  if (length == 0 || byte(0) > 0xF4 || at + length > text.size()) return {};
  uint32_t value = byte(0) & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return {};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, length};
}

// C0 and C1 controls but for the line's end, and the marks of Unicode's bidirectional algorithm.
bool IsHarmful(uint32_t value) {
  if (value < 0x20) return value != '\n';
  if (value >= 0x7F && value <= 0x9F) return true;
  return value == 0x061C || value == 0x200E || value == 0x200F || (value >= 0x2028 && value <= 0x202E) ||
         (value >= 0x2066 && value <= 0x2069) || value == 0xFEFF;
}

}  // namespace

std::string CleanText(std::string_view text, size_t longest) {
  std::string clean;
  clean.reserve(std::min(text.size(), 2 * kLongestName));
  const bool cut = text.size() > longest;
  for (size_t at = 0; at < text.size();) {
    if (cut && at >= longest / 2 && at + longest / 2 < text.size()) {
      clean += "…";
      at = text.size() - longest / 2;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u) ++at;
      continue;
    }
    const CodePoint point = CodePointAt(text, at);
    clean += point.length == 0 || IsHarmful(point.value) ? kReplacement : text.substr(at, point.length);
    at += std::max<size_t>(point.length, 1);
  }
  return clean;
}

std::string HtmlText(std::string_view text, size_t longest) {
  std::string html;
  for (char byte : CleanText(text, longest)) {
    switch (byte) {
      case '&': html += "&amp;"; break;
      case '<': html += "&lt;"; break;
      case '>': html += "&gt;"; break;
      case '"': html += "&quot;"; break;
      case '\'': html += "&#39;"; break;
      default: html += byte;
    }
  }
  return html;
}

}  // namespace onnx_mem
