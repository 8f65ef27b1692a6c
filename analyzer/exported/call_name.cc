#include "analyzer/exported/call_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace onnx_mem {

std::pair<std::string_view, std::string_view> SplitCallNumber(std::string_view name) {
  const size_t digits = name.find_last_not_of("0123456789");
  if (digits == std::string_view::npos || digits + 1 == name.size() || name[digits] != '_') return {name, ""};
  return {name.substr(0, digits), name.substr(digits)};
}

std::string_view WithoutCallNumber(std::string_view name) { return SplitCallNumber(name).first; }

std::string WithoutDigits(std::string_view name) {
  std::string plain;
  plain.reserve(name.size());
  for (char c : name) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) plain.push_back(c);
  }
  return plain;
}

std::string WithoutElementNumbers(std::string_view name) {
  std::string plain;
  plain.reserve(name.size() + 1);
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.find_first_not_of("0123456789") != std::string_view::npos) plain.append(part);
    plain.push_back('.');
    begin = end + 1;
  }
  return plain;
}

}  // namespace onnx_mem
