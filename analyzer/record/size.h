// A size of a recorded program: m * B + c for the batch B, with rational m and c.
//
//   "64"  "B"  "3B"  "2B+1"  "1/2B"  "-B+4"
#ifndef ONNX_MEM_ANALYZER_RECORD_SIZE_H_
#define ONNX_MEM_ANALYZER_RECORD_SIZE_H_

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

struct Size {
  Rational per_sample;  // m
  Rational fixed;       // c
  friend bool operator==(const Size&, const Size&) = default;

  static Size Of(int64_t number) { return Size{{}, {number, 1}}; }
  bool is_zero() const { return per_sample.numerator == 0 && fixed.numerator == 0; }
};

// nullopt where `text` has another form or a number has more than 63 bits.
std::optional<Size> ParseSize(std::string_view text);
std::string ToText(const Size& size);

// m * batch + c; nullopt where that is no whole number of 64 bits.
std::optional<int64_t> AtBatch(const Size& size, int64_t batch);

// nullopt where the product is not of the form m * B + c, or overflows.
std::optional<Size> Product(const Size& a, const Size& b);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_SIZE_H_
