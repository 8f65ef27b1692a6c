// Numbers that users write.
#ifndef ONNX_MEM_ANALYZER_RUN_DECIMAL_H_
#define ONNX_MEM_ANALYZER_RUN_DECIMAL_H_

#include <optional>
#include <string_view>
#include <system_error>

#include "absl/strings/charconv.h"

namespace onnx_mem {

// "4.5", "-1e3": nothing hexadecimal, infinite or beside the number. std::from_chars reads doubles in few libraries.
inline std::optional<double> DecimalNumber(std::string_view text) {
  if (text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return std::nullopt;
  double number = 0;
  const auto [end, error] = absl::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUN_DECIMAL_H_
