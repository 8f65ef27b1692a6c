#include "report/text/part_columns.h"

#include <algorithm>

#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kShareWidth = 6;

std::string WithoutTrailingSpaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

PartColumns::PartColumns(const RunSummary& run, size_t label_width, size_t size_width, const Screen& screen)
    : run_(run), label_width_(label_width), size_width_(size_width), screen_(screen) {
  int64_t largest = 0;
  for (const auto* part : {&run.training, &run.inference}) {
    if (*part) largest = std::max(largest, (*part)->device_bytes);
  }
  unit_ = ColumnUnit(largest, screen.units);
}

std::string PartColumns::Header() const {
  std::string line(kIndent + label_width_, ' ');
  if (run_.training) line += PadLeft("training", size_width_) + std::string(kShareWidth, ' ');
  if (run_.inference) line += PadLeft("inference", size_width_);
  return WithoutTrailingSpaces(std::move(line));
}

std::string PartColumns::Text(const PartLine& line) const {
  std::string text = std::string(kIndent, ' ') + PadRight(line.label, label_width_);
  if (run_.training) {
    text += PadLeft(Size(line.training), size_width_);
    text += PadLeft(line.whole ? Percent(line.training.value_or(0), *line.whole) : "", kShareWidth);
  }
  if (run_.inference) text += PadLeft(Size(line.inference), size_width_);
  const size_t taken = DisplayWidth(text) + 3;
  if (!line.rest.empty() && taken + DisplayWidth(line.rest) <= screen_.width) {
    text += "   " + Painted(line.rest, line.paint, screen_);
  }
  return WithoutTrailingSpaces(std::move(text));
}

std::string PartColumns::Rule() const {
  size_t width = label_width_ + (run_.training ? size_width_ + kShareWidth : 0) + (run_.inference ? size_width_ : 0);
  std::string rule(kIndent, ' ');
  for (; width > 0; --width) rule += screen_.utf8 ? "─" : "-";
  return rule + "\n";
}

std::string PartColumns::Size(std::optional<int64_t> bytes) const {
  return bytes && *bytes != 0 ? SizeIn(*bytes, unit_) : "-";
}

}  // namespace onnx_mem
