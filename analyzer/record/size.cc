#include "analyzer/record/size.h"

#include <limits>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace onnx_mem::record {
namespace {

std::optional<int64_t> Times(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t number = 0;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == text.npos;
  if (!digits || !absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &number)) return std::nullopt;
  return number;
}

// "3", "-1/2".
std::optional<Rational> ParseRational(std::string_view text) {
  const size_t slash = text.find('/');
  const std::optional<int64_t> numerator = ParseInteger(text.substr(0, slash));
  const std::optional<int64_t> denominator = slash == text.npos ? 1 : ParseInteger(text.substr(slash + 1));
  if (!numerator || !denominator || *denominator < 1 || *numerator == std::numeric_limits<int64_t>::min()) {
    return std::nullopt;
  }
  const int64_t divisor = std::gcd(*numerator, *denominator);
  return Rational{*numerator / divisor, *denominator / divisor};
}

std::string Text(const Rational& number) {
  return number.denominator == 1 ? absl::StrCat(number.numerator)
                                 : absl::StrCat(number.numerator, "/", number.denominator);
}

std::optional<Rational> Scaled(const Rational& a, int64_t factor) {
  const int64_t divisor = std::gcd(factor, a.denominator);
  const std::optional<int64_t> numerator = Times(a.numerator, factor / divisor);
  if (!numerator) return std::nullopt;
  return Rational{*numerator, a.denominator / divisor};
}

}  // namespace

std::optional<Size> ParseSize(std::string_view text) {
  const size_t b = text.find('B');
  if (b == text.npos) {
    const std::optional<int64_t> number = ParseInteger(text);
    return number ? std::optional<Size>(Size::Of(*number)) : std::nullopt;
  }
  Size size;
  const std::string_view m = text.substr(0, b);
  std::string_view c = text.substr(b + 1);
  const std::optional<Rational> per_sample = ParseRational(m.empty() ? "1" : (m == "-" ? "-1" : m));
  if (!per_sample) return std::nullopt;
  size.per_sample = *per_sample;
  if (c.empty()) return size;
  if (c[0] != '+' && c[0] != '-') return std::nullopt;
  if (c[0] == '+') c.remove_prefix(1);
  const std::optional<Rational> fixed = ParseRational(c);
  if (!fixed) return std::nullopt;
  size.fixed = *fixed;
  return size;
}

std::string ToText(const Size& size) {
  const Rational& m = size.per_sample;
  if (m.numerator == 0) return Text(size.fixed);
  std::string text;
  if (m == Rational{-1, 1}) {
    text = "-";
  } else if (m != Rational{1, 1}) {
    text = Text(m);
  }
  absl::StrAppend(&text, "B");
  if (size.fixed.numerator != 0) absl::StrAppend(&text, size.fixed.numerator > 0 ? "+" : "", Text(size.fixed));
  return text;
}

std::optional<int64_t> AtBatch(const Size& size, int64_t batch) {
  const std::optional<Rational> scaled = Scaled(size.per_sample, batch);
  if (!scaled) return std::nullopt;
  // Both over the product of the denominators, which divides where the sum is whole.
  const std::optional<int64_t> left = Times(scaled->numerator, size.fixed.denominator);
  const std::optional<int64_t> right = Times(size.fixed.numerator, scaled->denominator);
  const std::optional<int64_t> denominator = Times(scaled->denominator, size.fixed.denominator);
  int64_t sum = 0;
  if (!left || !right || !denominator || __builtin_add_overflow(*left, *right, &sum)) return std::nullopt;
  if (sum % *denominator != 0) return std::nullopt;
  return sum / *denominator;
}

std::optional<Size> Product(const Size& a, const Size& b) {
  if (b.per_sample.numerator != 0) {
    if (a.per_sample.numerator != 0) return std::nullopt;
    return Product(b, a);
  }
  if (b.fixed.denominator != 1) return std::nullopt;
  const std::optional<Rational> per_sample = Scaled(a.per_sample, b.fixed.numerator);
  const std::optional<Rational> fixed = Scaled(a.fixed, b.fixed.numerator);
  if (!per_sample || !fixed) return std::nullopt;
  return Size{*per_sample, *fixed};
}

}  // namespace onnx_mem::record
