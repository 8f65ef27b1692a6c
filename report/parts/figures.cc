#include "report/parts/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "absl/strings/str_format.h"

namespace onnx_mem {
namespace {

struct UnitDecimals {
  ByteUnit unit;
  std::string_view name;
  double bytes;
  int decimals;
};

// What a size below one of a unit is shown in: decimal ones stay decimal, as 0.59 MB is 589.8 KB and not 576 KiB.
constexpr ByteUnit SmallerUnit(ByteUnit unit) {
  switch (unit) {
    case ByteUnit::kTB: return ByteUnit::kGB;
    case ByteUnit::kGB: return ByteUnit::kMB;
    case ByteUnit::kMB: return ByteUnit::kKB;
    case ByteUnit::kKB: return ByteUnit::kB;
    default: return ByteUnit::kAuto;
  }
}

constexpr auto kUnits = std::to_array<UnitDecimals>({
    {ByteUnit::kKiB, "KiB", 1024.0, 1},
    {ByteUnit::kMiB, "MiB", 1024.0 * 1024, 1},
    {ByteUnit::kGiB, "GiB", 1024.0 * 1024 * 1024, 2},
    {ByteUnit::kTiB, "TiB", 1024.0 * 1024 * 1024 * 1024, 2},
    {ByteUnit::kKB, "KB", 1e3, 1},
    {ByteUnit::kMB, "MB", 1e6, 2},
    {ByteUnit::kGB, "GB", 1e9, 3},
    {ByteUnit::kTB, "TB", 1e12, 3},
});

// Words of a command line as a shell takes them: "--freeze '^(?!fc\.)'".
std::string CommandText(const CommandWords& words) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.,:/=+%@";
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace

ByteUnit ColumnUnit(int64_t largest, ByteUnit chosen) {
  if (chosen != ByteUnit::kAuto) return chosen;
  if (largest >= int64_t{100} << 30) return ByteUnit::kGiB;
  if (largest >= int64_t{10} << 20) return ByteUnit::kMiB;
  return largest >= 10 << 10 ? ByteUnit::kKiB : ByteUnit::kB;
}

std::string SizeIn(int64_t bytes, ByteUnit unit) {
  for (const UnitDecimals& row : kUnits) {
    if (row.unit != unit) continue;
    const double value = static_cast<double>(bytes) / row.bytes;
    if (bytes != 0 && std::abs(value) < 1) return SizeIn(bytes, SmallerUnit(unit));
    return absl::StrFormat("%.*f %s", row.decimals, value, row.name);
  }
  return FormatBytesIn(bytes, unit);
}

std::string ShortCount(int64_t count) {
  constexpr std::array<std::string_view, 6> kSuffixes = {"", " K", " M", " G", " T", " P"};
  double value = static_cast<double>(count);
  size_t suffix = 0;
  for (; value >= 999.5 && suffix + 1 < kSuffixes.size(); ++suffix) value /= 1000;
  if (suffix == 0) return absl::StrFormat("%d", count);
  return absl::StrFormat("%.*f%s", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, kSuffixes[suffix]);
}

std::string ShortTime(int64_t nanoseconds) {
  constexpr std::array<std::string_view, 4> kUnitNames = {" ns", " us", " ms", " s"};
  double value = static_cast<double>(nanoseconds);
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < kUnitNames.size(); ++unit) value /= 1000;
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f%s", decimals, value, kUnitNames[unit]);
}

std::string Percent(int64_t part, int64_t whole) {
  if (part == 0 || whole == 0) return "";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 0.5 ? "<1 %" : absl::StrFormat("%.0f %%", percent);
}

std::string Words(std::string_view name) {
  std::string words(name);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string Others(int64_t count) { return absl::StrFormat("%d other%s", count, count == 1 ? "" : "s"); }

std::string CellText(const Cell& cell, ColumnKind kind, ByteUnit unit) {
  if (const auto* words = std::get_if<CommandWords>(&cell)) return CommandText(*words);
  if (const auto* text = std::get_if<std::string>(&cell)) return kind == ColumnKind::kWord ? Words(*text) : *text;
  if (const auto* number = std::get_if<int64_t>(&cell)) {
    if (kind == ColumnKind::kIndex) return WithThousands(*number + 1);
    if (*number == 0 && kind != ColumnKind::kStep) return "-";
    if (kind == ColumnKind::kBytes) return SizeIn(*number, unit);
    if (kind == ColumnKind::kTime) return ShortTime(*number);
    return kind == ColumnKind::kWork ? ShortCount(*number) : WithThousands(*number);
  }
  if (const auto* decimal = std::get_if<double>(&cell)) {
    return kind == ColumnKind::kShare ? absl::StrFormat("%+.1f %%", 100 * *decimal) : absl::StrFormat("%.4g", *decimal);
  }
  if (const auto* shape = std::get_if<Shape>(&cell)) return ToString(*shape);
  return "-";
}

std::string CellRaw(const Cell& cell) {
  if (const auto* words = std::get_if<CommandWords>(&cell)) return CommandText(*words);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<int64_t>(&cell)) return absl::StrFormat("%d", *number);
  if (const auto* decimal = std::get_if<double>(&cell)) return absl::StrFormat("%.6g", *decimal);
  if (const auto* shape = std::get_if<Shape>(&cell)) return ToString(*shape);
  return "";
}

}  // namespace onnx_mem
