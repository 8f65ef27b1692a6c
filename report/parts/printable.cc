#include "report/parts/printable.h"

#include <array>
#include <cstdint>

namespace onnx_mem {
namespace {

constexpr size_t kLongestWord = 1024;

// What Painted (screen.cc) writes.
constexpr auto kPaints = std::to_array<std::string_view>(
    {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"});

size_t PaintLength(std::string_view rest) {
  for (std::string_view paint : kPaints) {
    if (rest.substr(0, paint.size()) == paint) return paint.size();
  }
  return 0;
}

bool IsPlainByte(char byte) { return (byte >= 0x20 && byte < 0x7F) || byte == '\n'; }

void CutLastWord(std::string& text, size_t word, std::string& kept) {
  const size_t length = text.size() - word;
  if (length <= kLongestWord) return;
  // Both ends tell names apart; a cut within a character leaves no half of it.
  size_t head = kLongestWord / 2, tail = length - kLongestWord / 2;
  while (head > 0 && (text[word + head] & 0xC0) == 0x80) --head;
  while (tail < length && (text[word + tail] & 0xC0) == 0x80) ++tail;
  kept.assign(text, word + tail);
  text.resize(word + head);
  text += "...";
  text += kept;
}

}  // namespace

size_t CharacterLength(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  if (length < 3) return length;
  const unsigned char second = byte(at + 1);
  // Longer forms of shorter characters, surrogates, and what lies beyond U+10FFFF.
  const bool invalid = (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
                       (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
  return invalid ? 0 : length;
}

bool IsControl(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) {
    const uint32_t code = (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    return code < 0xA0 || code == 0x061C;
  }
  if (character.size() != 3) return false;
  const uint32_t code = (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  return code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::string Printable(std::string_view text, Filter filter) {
  if (filter == Filter::kBinary) return std::string(text);
  std::string printable, kept;
  printable.reserve(text.size());
  size_t word = 0;  // where the last one begins in `printable`
  for (size_t at = 0; at < text.size();) {
    if (IsPlainByte(text[at])) {
      const char byte = text[at++];
      if (byte == ' ' || byte == '\n') {
        if (filter != Filter::kData) CutLastWord(printable, word, kept);
        word = printable.size() + 1;
      }
      printable += byte;
      continue;
    }
    if (const size_t paint = filter == Filter::kColored ? PaintLength(text.substr(at)) : 0; paint > 0) {
      printable += text.substr(at, paint);
      at += paint;
      continue;
    }
    const size_t length = CharacterLength(text, at);
    if (length == 0 || IsControl(text.substr(at, length))) {
      printable += '?';
    } else {
      printable += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  if (filter != Filter::kData) CutLastWord(printable, word, kept);
  return printable;
}

}  // namespace onnx_mem
