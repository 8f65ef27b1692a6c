// The one filter between the program and what reads it: names come from strangers' files.
#ifndef ONNX_MEM_REPORT_PARTS_PRINTABLE_H_
#define ONNX_MEM_REPORT_PARTS_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace onnx_mem {

// Bytes of the UTF-8 character that starts at text[at]; 0 when there is no valid one.
size_t CharacterLength(std::string_view text, size_t at);

// Whether a character commands a terminal or turns the text around: C0 and C1 controls (a new line too), DEL, marks of
// direction (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069) and separators of lines (U+2028, U+2029).
bool IsControl(std::string_view character);

enum class Filter {
  kText,     // words beyond 1,024 bytes are cut: nobody reads them
  kColored,  // the same, and the sequences that Painted writes stay
  kData,     // for programs: nothing is cut
  kBinary,   // no text: whoever made it has cleaned the words in it
};

// `text` with "?" for controls but line feeds, and for bytes that are not UTF-8.
std::string Printable(std::string_view text, Filter filter = Filter::kText);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_PRINTABLE_H_
