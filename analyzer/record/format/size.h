// A size of a recorded program: m * B + c for the batch B. m and c are rational numbers; where the record has a second
// free size S (docs/reference/record-format.md), sums of multiples of 1, S, S * S, and R: S rounded up to a multiple
// of 32.
//
//   "64"  "B"  "3B"  "2B+1"  "1/2B"  "-B+4"  "4BSS+BS-S"  "4R"
#ifndef ONNX_MEM_ANALYZER_RECORD_FORMAT_SIZE_H_
#define ONNX_MEM_ANALYZER_RECORD_FORMAT_SIZE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace onnx_mem::record {

struct Rational {
  int64_t numerator = 0;
  int64_t denominator = 1;  // positive
  friend bool operator==(const Rational&, const Rational&) = default;
};

inline constexpr std::array<std::string_view, 4> kOfLength = {"", "S", "SS", "R"};
using Polynomial = std::array<Rational, kOfLength.size()>;  // the coefficient of each

struct Size {
  Polynomial per_sample = {};  // m
  Polynomial fixed = {};       // c
  friend bool operator==(const Size&, const Size&) = default;

  static Size Of(int64_t number) { return Size{.fixed = {Rational{number, 1}}}; }
};

// What sizes are functions of. Length: 0 where the record has no second free size.
struct Place {
  int64_t batch = 1;
  int64_t length = 0;
};

// nullopt where `text` has another form or a number has more than 63 bits.
std::optional<Size> ParseSize(std::string_view text);
std::string ToText(const Size& size);

// nullopt where that is no whole number of 64 bits.
std::optional<int64_t> At(const Size& size, const Place& place);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_FORMAT_SIZE_H_
