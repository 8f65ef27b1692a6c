#include "analyzer/graph/bytes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/shape.h"

namespace onnx_mem {
namespace {

struct UnitRow {
  ByteUnit unit;
  std::string_view name;
  int64_t bytes;
};

constexpr auto kUnits = std::to_array<UnitRow>({
    {ByteUnit::kB, "B", 1},
    {ByteUnit::kKiB, "KiB", int64_t{1} << 10},
    {ByteUnit::kMiB, "MiB", int64_t{1} << 20},
    {ByteUnit::kGiB, "GiB", int64_t{1} << 30},
    {ByteUnit::kTiB, "TiB", int64_t{1} << 40},
    {ByteUnit::kKB, "KB", 1'000},
    {ByteUnit::kMB, "MB", 1'000'000},
    {ByteUnit::kGB, "GB", 1'000'000'000},
    {ByteUnit::kTB, "TB", 1'000'000'000'000},
});
constexpr size_t kNumBinaryUnits = 5;  // B to TiB, the first rows
constexpr int kMostDecimals = 6;

bool SameLetters(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(absl::string_view(a.data(), a.size()), absl::string_view(b.data(), b.size()));
}

// Bytes of one `unit`; "" is a byte, "G" and "Gi" are a GiB.
std::optional<int64_t> BytesOfUnit(std::string_view unit) {
  if (unit.empty()) return 1;
  for (const UnitRow& row : kUnits) {
    if (SameLetters(unit, row.name)) return row.bytes;
  }
  for (const UnitRow& row : kUnits) {
    if (row.name.size() == 3 &&
        (SameLetters(unit, row.name.substr(0, 1)) || SameLetters(unit, row.name.substr(0, 2)))) {
      return row.bytes;
    }
  }
  return std::nullopt;
}

absl::Status NotASize(std::string_view text, std::string_view why) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                     absl::StrCat("'", std::string(text), "' is not a size: ", std::string(why)),
                     {"for example: 24GiB, 8GB, 1.5GiB, 512MiB or 8589934592B"});
}

std::string_view Trimmed(std::string_view text) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  return {trimmed.data(), trimmed.size()};
}

// Digits of `text` from `position` on, which moves behind them.
std::string_view TakeDigits(std::string_view text, size_t& position) {
  const size_t begin = position;
  while (position < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[position]))) ++position;
  return text.substr(begin, position - begin);
}

std::optional<int64_t> WholeNumber(std::string_view digits) {
  int64_t number = 0;
  for (char digit : digits) {
    const std::optional<int64_t> tens = CheckedMul(number, 10);
    const std::optional<int64_t> sum = tens ? CheckedAdd(*tens, digit - '0') : std::nullopt;
    if (!sum) return std::nullopt;
    number = *sum;
  }
  return number;
}

double Fraction(std::string_view digits) {
  double value = 0;
  double place = 0.1;
  for (char digit : digits.substr(0, 17)) {  // more digits than a double has change nothing
    value += (digit - '0') * place;
    place /= 10;
  }
  return value;
}

// `value` with three significant digits, whole numbers with separators: "5.98", "97.5", "6,124".
std::string ThreeDigits(double value) {
  if (value == 0) return "0";
  // The exponent after rounding to three digits: 9.996 is 1.00e+01 and so prints as 10.0.
  const std::string scientific = absl::StrFormat("%.2e", value);
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  if (exponent >= 2) return WithThousands(std::llround(value));
  return absl::StrFormat("%.*f", std::min(2 - exponent, kMostDecimals), value);
}

}  // namespace

absl::StatusOr<int64_t> ParseBytes(std::string_view text) {
  const std::string_view body = Trimmed(text);
  if (!body.empty() && body.front() == '-') return NotASize(text, "it is negative");
  size_t position = 0;
  const std::string_view whole_digits = TakeDigits(body, position);
  std::string_view fraction_digits;
  if (position < body.size() && body[position] == '.') {
    ++position;
    fraction_digits = TakeDigits(body, position);
  }
  if (whole_digits.empty() && fraction_digits.empty()) return NotASize(text, "it has no number");
  const std::optional<int64_t> unit_bytes = BytesOfUnit(Trimmed(body.substr(position)));
  if (!unit_bytes)
    return NotASize(text, absl::StrCat("unknown unit '", std::string(Trimmed(body.substr(position))), "'"));
  const std::optional<int64_t> whole = WholeNumber(whole_digits);
  const std::optional<int64_t> whole_bytes = whole ? CheckedMul(*whole, *unit_bytes) : std::nullopt;
  const int64_t fraction_bytes = std::llround(Fraction(fraction_digits) * static_cast<double>(*unit_bytes));
  const std::optional<int64_t> bytes = whole_bytes ? CheckedAdd(*whole_bytes, fraction_bytes) : std::nullopt;
  if (!bytes) return NotASize(text, "it is larger than 64 bits hold");
  return *bytes;
}

absl::StatusOr<ByteUnit> ParseByteUnit(std::string_view text) {
  if (SameLetters(text, "auto")) return ByteUnit::kAuto;
  std::string known = "auto";
  for (const UnitRow& row : kUnits) {
    if (SameLetters(text, row.name)) return row.unit;
    absl::StrAppend(&known, ", ", std::string(row.name));
  }
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                     absl::StrCat("'", std::string(text), "' is not a unit of memory"),
                     {absl::StrCat("it is one of: ", known)});
}

std::string FormatBytes(int64_t bytes) {
  const double size = std::abs(static_cast<double>(bytes));
  size_t row = 0;
  // 1,023.6 MiB would round to 1,024 MiB, so it is 1.00 GiB.
  while (row + 1 < kNumBinaryUnits && size >= 1023.5 * static_cast<double>(kUnits[row].bytes)) ++row;
  return FormatBytesIn(bytes, kUnits[row].unit);
}

std::string FormatBytesIn(int64_t bytes, ByteUnit unit) {
  if (unit == ByteUnit::kAuto) return FormatBytes(bytes);
  if (unit == ByteUnit::kB) return absl::StrCat(WithThousands(bytes), " B");
  const auto row = std::find_if(kUnits.begin(), kUnits.end(), [&](const UnitRow& r) { return r.unit == unit; });
  return absl::StrCat(ThreeDigits(static_cast<double>(bytes) / static_cast<double>(row->bytes)), " ",
                      std::string(row->name));
}

std::string FormatSignedBytes(int64_t bytes, ByteUnit unit) {
  return absl::StrCat(bytes > 0 ? "+" : "", FormatBytesIn(bytes, unit));
}

std::string WithThousands(int64_t number) {
  const uint64_t magnitude = number < 0 ? ~static_cast<uint64_t>(number) + 1 : static_cast<uint64_t>(number);
  std::string digits = absl::StrCat(magnitude);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return number < 0 ? absl::StrCat("-", digits) : digits;
}

}  // namespace onnx_mem
