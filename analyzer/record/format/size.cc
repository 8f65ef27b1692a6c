#include "analyzer/record/format/size.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace onnx_mem::record {
namespace {

std::optional<int64_t> Times(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

std::optional<Rational> Times(const Rational& a, int64_t factor) {
  const int64_t divisor = std::gcd(factor, a.denominator);
  const std::optional<int64_t> numerator = Times(a.numerator, factor / divisor);
  if (!numerator) return std::nullopt;
  return Rational{*numerator, a.denominator / divisor};
}

std::optional<Rational> Sum(const Rational& a, const Rational& b) {
  const std::optional<int64_t> left = Times(a.numerator, b.denominator);
  const std::optional<int64_t> right = Times(b.numerator, a.denominator);
  const std::optional<int64_t> denominator = Times(a.denominator, b.denominator);
  int64_t numerator = 0;
  if (!left || !right || !denominator || __builtin_add_overflow(*left, *right, &numerator)) return std::nullopt;
  const int64_t divisor = std::max<int64_t>(std::gcd(numerator, *denominator), 1);
  return Rational{numerator / divisor, *denominator / divisor};
}

// The digits at the front; "" where there are none.
std::string_view TakeDigits(std::string_view& text) {
  const std::string_view digits = text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
  text.remove_prefix(digits.size());
  return digits;
}

bool Take(std::string_view& text, char letter) {
  if (text.empty() || text[0] != letter) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<int64_t> NumberOf(std::string_view digits) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &number)) return std::nullopt;
  return number;
}

// "3", "1/2", and "" for 1 where letters follow.
std::optional<Rational> TakeCoefficient(std::string_view& text) {
  const bool letter = !text.empty() && (text[0] == 'B' || text[0] == 'S' || text[0] == 'R');
  if (letter) return Rational{1, 1};
  const std::optional<int64_t> numerator = NumberOf(TakeDigits(text));
  if (!numerator) return std::nullopt;
  if (!Take(text, '/')) return Rational{*numerator, 1};
  const std::optional<int64_t> denominator = NumberOf(TakeDigits(text));
  if (!denominator || *denominator < 1) return std::nullopt;
  const int64_t divisor = std::max<int64_t>(std::gcd(*numerator, *denominator), 1);
  return Rational{*numerator / divisor, *denominator / divisor};
}

std::string TermText(Rational factor, const std::string& letters, bool first) {
  const bool negative = factor.numerator < 0;
  if (negative) factor.numerator = -factor.numerator;
  std::string text = negative ? "-" : first ? "" : "+";
  if (letters.empty() || factor != Rational{1, 1}) absl::StrAppend(&text, factor.numerator);
  if (factor.denominator != 1) absl::StrAppend(&text, "/", factor.denominator);
  return absl::StrCat(text, letters);
}

// What memory-efficient attention pads its log-sum-exp to (aten/src/ATen/native/transformers/cuda/mem_eff_attention/
// kernel_forward.h, kAlignLSE).
constexpr int64_t kRounding = 32;

std::optional<Rational> ValueAt(const Polynomial& polynomial, int64_t length) {
  const int64_t padding = (kRounding - length % kRounding) % kRounding;
  int64_t rounded = 0;
  const std::optional<int64_t> square = Times(length, length);
  if (!square || __builtin_add_overflow(length, padding, &rounded)) return std::nullopt;
  const std::array<int64_t, kOfLength.size()> values = {1, length, *square, rounded};
  Rational sum;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::optional<Rational> term = Times(polynomial[i], values[i]);
    const std::optional<Rational> next = term ? Sum(sum, *term) : std::nullopt;
    if (!next) return std::nullopt;
    sum = *next;
  }
  return sum;
}

// Which of kOfLength stands at the front.
size_t TakeOfLength(std::string_view& text) {
  if (Take(text, 'R')) return 3;
  if (!Take(text, 'S')) return 0;
  return Take(text, 'S') ? 2 : 1;
}

}  // namespace

std::optional<Size> ParseSize(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Size size;
  std::array<bool, 2 * kOfLength.size()> seen = {};
  for (bool first = true; !text.empty(); first = false) {
    const bool negative = Take(text, '-');
    if (!negative && !Take(text, '+') && !first) return std::nullopt;
    std::optional<Rational> factor = TakeCoefficient(text);
    if (!factor) return std::nullopt;
    if (negative) factor->numerator = -factor->numerator;
    const bool of_batch = Take(text, 'B');
    const size_t i = TakeOfLength(text);
    if (std::exchange(seen[i + (of_batch ? kOfLength.size() : 0)], true)) return std::nullopt;
    (of_batch ? size.per_sample : size.fixed)[i] = *factor;
  }
  return size;
}

std::string ToText(const Size& size) {
  std::string text;
  for (const bool of_batch : {true, false}) {
    for (const size_t i : {2, 1, 3, 0}) {
      const Rational& factor = (of_batch ? size.per_sample : size.fixed)[i];
      if (factor.numerator == 0) continue;
      const std::string letters =
          absl::StrCat(of_batch ? "B" : "", absl::string_view(kOfLength[i].data(), kOfLength[i].size()));
      absl::StrAppend(&text, TermText(factor, letters, text.empty()));
    }
  }
  return text.empty() ? "0" : text;
}

std::optional<int64_t> At(const Size& size, const Place& place) {
  const std::optional<Rational> m = ValueAt(size.per_sample, place.length);
  const std::optional<Rational> c = ValueAt(size.fixed, place.length);
  const std::optional<Rational> scaled = m ? Times(*m, place.batch) : std::nullopt;
  const std::optional<Rational> sum = scaled && c ? Sum(*scaled, *c) : std::nullopt;
  if (!sum || sum->denominator != 1) return std::nullopt;
  return sum->numerator;
}

}  // namespace onnx_mem::record
