#include "report/parts/layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace onnx_mem {
namespace {

bool BeginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

// Byte position of the character number `count`.
size_t PositionOf(std::string_view text, size_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (BeginsCharacter(text[at]) && count-- == 0) break;
  }
  return at;
}

std::string Repeated(std::string_view glyph, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += glyph;
  return text;
}

constexpr auto kEighths = std::to_array<std::string_view>({"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"});
constexpr auto kSparks = std::to_array<std::string_view>({"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"});
constexpr auto kAsciiSparks = std::to_array<std::string_view>({"_", ".", ":", "-", "=", "+", "*", "#"});

}  // namespace

size_t DisplayWidth(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), BeginsCharacter));
}

std::string PadRight(std::string_view text, size_t width) {
  const size_t taken = DisplayWidth(text);
  return std::string(text) + std::string(width > taken ? width - taken : 0, ' ');
}

std::string PadLeft(std::string_view text, size_t width) {
  const size_t taken = DisplayWidth(text);
  return std::string(width > taken ? width - taken : 0, ' ') + std::string(text);
}

std::string Shortened(std::string_view text, size_t width, bool utf8) {
  std::string clean(text);
  for (char& byte : clean) {
    const auto value = static_cast<unsigned char>(byte);
    if (value < 0x20 || value == 0x7F || (value >= 0x80 && !utf8)) byte = '?';
  }
  const size_t taken = DisplayWidth(clean);
  if (taken <= width) return clean;
  const std::string_view mark = utf8 ? "…" : "...";
  const size_t mark_width = DisplayWidth(mark);
  if (width <= mark_width) return clean.substr(0, PositionOf(clean, width));
  // The end of a name tells more than its beginning: it gets the odd column.
  const size_t head = (width - mark_width) / 2, tail = width - mark_width - head;
  std::string shortened = clean.substr(0, PositionOf(clean, head));
  return shortened.append(mark).append(clean, PositionOf(clean, taken - tail), std::string::npos);
}

std::string FirstWords(std::string_view text, size_t width, bool utf8) {
  if (DisplayWidth(text) <= width) return std::string(text);
  const std::string_view mark = utf8 ? "…" : "...";
  const size_t last = text.rfind(' ', PositionOf(text, width - std::min(width, DisplayWidth(mark) + 1)));
  if (last == std::string_view::npos || last == 0) return Shortened(text, width, utf8);
  return std::string(text.substr(0, last)).append(1, ' ').append(mark);
}

std::string Bar(double fraction, size_t width, bool utf8) {
  const double columns = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(width);
  if (!utf8) return std::string(static_cast<size_t>(std::lround(columns)), '#');
  const auto eighths = static_cast<size_t>(std::lround(columns * 8));
  return Repeated("█", eighths / 8).append(kEighths[eighths % 8]);
}

SparkColumns ColumnsOf(const std::vector<int64_t>& live_bytes, const std::vector<PhaseSpan>& phases, size_t width) {
  SparkColumns columns;
  const size_t steps = live_bytes.size();
  if (steps == 0 || phases.size() > width) return columns;
  const size_t total = std::min(width, steps);
  for (const PhaseSpan& span : phases) {
    columns.widths.push_back(std::max<size_t>(1, total * static_cast<size_t>(span.steps) / steps));
  }
  // What rounding has left over is added to the widest span, or is taken from it.
  const auto widest = std::max_element(columns.widths.begin(), columns.widths.end());
  const size_t others = std::accumulate(columns.widths.begin(), columns.widths.end(), size_t{0}) - *widest;
  if (others >= total) return {};
  *widest = total - others;
  size_t begin = 0;
  for (size_t i = 0; i < phases.size(); ++i) {
    const auto span = static_cast<size_t>(phases[i].steps);
    for (size_t column = 0; column < columns.widths[i]; ++column) {
      const size_t first = begin + span * column / columns.widths[i];
      const size_t last = std::max(first + 1, begin + span * (column + 1) / columns.widths[i]);
      columns.bytes.push_back(*std::max_element(live_bytes.begin() + static_cast<ptrdiff_t>(first),
                                                live_bytes.begin() + static_cast<ptrdiff_t>(std::min(last, steps))));
    }
    begin += span;
  }
  return columns;
}

std::string Sparkline(const std::vector<int64_t>& columns, bool utf8) {
  std::string line;
  if (columns.empty()) return line;
  const int64_t most = std::max<int64_t>(1, *std::max_element(columns.begin(), columns.end()));
  for (int64_t bytes : columns) {
    const double fraction = static_cast<double>(bytes) / static_cast<double>(most);
    // Only the peak itself reaches the top glyph.
    const auto level = bytes == most ? 7 : static_cast<size_t>(std::clamp(fraction * 7, 0.0, 6.0));
    line += utf8 ? kSparks[level] : kAsciiSparks[level];
  }
  return line;
}

std::string PhaseRuler(const std::vector<std::string>& names, const std::vector<size_t>& widths, bool utf8) {
  const std::string_view dash = utf8 ? "─" : "-";
  std::string ruler;
  for (size_t i = 0; i < widths.size(); ++i) {
    ruler += i == 0 ? (utf8 ? "├" : "|") : (utf8 ? "┼" : "|");
    const size_t room = widths[i] - 1;
    const std::string label = " " + names[i] + " ";
    if (label.size() > room) {
      ruler += Repeated(dash, room);
      continue;
    }
    const size_t before = (room - label.size()) / 2;
    ruler += Repeated(dash, before) + label + Repeated(dash, room - label.size() - before);
  }
  return ruler + (utf8 ? "┤" : "|");
}

std::string Wrapped(std::string_view text, size_t width, size_t indent, size_t hanging) {
  std::string wrapped(indent, ' ');
  size_t column = indent;
  bool line_is_empty = true;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const size_t taken = DisplayWidth(word);
    if (!line_is_empty && column + 1 + taken > width) {
      wrapped.append(1, '\n').append(hanging, ' ');
      column = hanging;
    } else if (!line_is_empty) {
      wrapped += ' ';
      ++column;
    }
    wrapped += word;
    column += taken;
    line_is_empty = false;
    begin = end + 1;
  }
  return wrapped;
}

namespace {

constexpr size_t kLeastName = 24;

std::vector<size_t> WidthsOf(const TextTable& table) {
  std::vector<size_t> widths(table.columns.size(), 0);
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  return widths;
}

void Fit(TextTable& table, size_t indent, size_t gap, const Screen& screen) {
  for (;;) {
    const std::vector<size_t> widths = WidthsOf(table);
    const size_t total =
        std::accumulate(widths.begin(), widths.end(), indent + gap * (std::max<size_t>(widths.size(), 1) - 1));
    if (total <= screen.width) return;
    const size_t excess = total - screen.width;
    // The widest name gives way as far as it stays readable, then the last optional column is left out.
    size_t name = widths.size(), last = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (table.columns[i].shrinks && (name == widths.size() || widths[i] > widths[name])) name = i;
      if (table.columns[i].optional) last = i;
    }
    const bool shrinks = name < widths.size() && widths[name] > kLeastName;
    if (shrinks && (widths[name] >= kLeastName + excess || last == widths.size())) {
      const size_t width = std::max(kLeastName, widths[name] - std::min(widths[name], excess));
      const auto shortened = table.columns[name].prose ? FirstWords : Shortened;
      for (auto& row : table.rows) row[name] = shortened(row[name], width, screen.utf8);
    } else if (last < widths.size()) {
      table.columns.erase(table.columns.begin() + static_cast<ptrdiff_t>(last));
      for (auto& row : table.rows) row.erase(row.begin() + static_cast<ptrdiff_t>(last));
    } else {
      return;
    }
  }
}

}  // namespace

std::vector<std::string> Aligned(TextTable table, size_t indent, size_t gap, const Screen& screen) {
  for (auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (table.columns[i].shrinks) row[i] = Shortened(row[i], DisplayWidth(row[i]), screen.utf8);
    }
  }
  Fit(table, indent, gap, screen);
  const std::vector<size_t> widths = WidthsOf(table);
  std::vector<std::string> lines;
  for (const auto& row : table.rows) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += std::string(gap, ' ');
      line += table.columns[i].right ? PadLeft(row[i], widths[i]) : PadRight(row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string Paragraphs(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += '\n';
    text += part;
  }
  return text;
}

std::string AlignedText(TextTable table, size_t indent, size_t gap, const Screen& screen) {
  std::string text;
  for (const std::string& line : Aligned(std::move(table), indent, gap, screen)) text += line + '\n';
  return text;
}

}  // namespace onnx_mem
