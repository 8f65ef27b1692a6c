// Text in columns: display width, truncation, bars, sparklines and tables, for screens that show UTF-8 and for those
// that do not.
#ifndef ONNX_MEM_REPORT_PARTS_LAYOUT_H_
#define ONNX_MEM_REPORT_PARTS_LAYOUT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/analyze/report.h"
#include "report/parts/screen.h"

namespace onnx_mem {

// Columns that `text` takes: one per character of UTF-8. No colour codes, which are added after layout.
size_t DisplayWidth(std::string_view text);

// `text` with spaces up to `width`; as it is when it is wider.
std::string PadRight(std::string_view text, size_t width);
std::string PadLeft(std::string_view text, size_t width);

// `text` cut in its middle to at most `width` columns: "layer4.…conv3", or "layer4...conv3" without UTF-8. Control
// characters, which a name from a file may hold, become '?'.
std::string Shortened(std::string_view text, size_t width, bool utf8);

// The words of `text` that have room in `width` columns, and a mark where some had none: "check accuracy, …".
std::string FirstWords(std::string_view text, size_t width, bool utf8);

// A bar of `fraction` of `width` columns, in eighths of a column where the screen can: "██████▋", "######".
std::string Bar(double fraction, size_t width, bool utf8);

// Bytes over the steps as one glyph per column, each the largest of its steps: "▁▂▄▆█▇▅▃▁", ".:-=#=-:.".
// Steps that are fewer than `width` get a column each.
struct SparkColumns {
  std::vector<int64_t> bytes;  // per column
  std::vector<size_t> widths;  // columns per span of phases
};
SparkColumns ColumnsOf(const std::vector<int64_t>& live_bytes, const std::vector<PhaseSpan>& phases, size_t width);
std::string Sparkline(const std::vector<int64_t>& columns, bool utf8);

// The phases under a sparkline: "├─ forward ─┼─ backward ─┼ adam ┤". A name that has no room is left out.
std::string PhaseRuler(const std::vector<std::string>& names, const std::vector<size_t>& widths, bool utf8);

// Lines of at most `width` columns, broken between words. The first begins with `indent` spaces, the others with
// `hanging`.
std::string Wrapped(std::string_view text, size_t width, size_t indent, size_t hanging);

// The parts that are not empty, with an empty line between them; each ends with a line break.
std::string Paragraphs(const std::vector<std::string>& parts);

// Rows of cells as columns of text side by side.
struct TextColumn {
  bool right = false;     // aligned to the right
  bool shrinks = false;   // names, which are shortened where there is no room
  bool prose = false;     // where it shrinks, its last words go, not its middle
  bool optional = false;  // left out where there is no room, the last one first
};

// Lines of at most `width` columns, where shortening names and leaving out optional columns can bring that about;
// `gap` spaces between columns, no trailing spaces.
struct TextTable {
  std::vector<TextColumn> columns;
  std::vector<std::vector<std::string>> rows;  // a cell per column
};
std::vector<std::string> Aligned(TextTable table, size_t indent, size_t gap, const Screen& screen);
// The same as one text, each line with its line break.
std::string AlignedText(TextTable table, size_t indent, size_t gap, const Screen& screen);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_LAYOUT_H_
