#include "analyzer/onnx/read/short_name.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "analyzer/run/limits.h"

namespace onnx_mem {

std::string ShortName(const std::string& name) {
  constexpr size_t kShort = 64;  // bytes that are kept
  if (!limits::IsBeyondNames(name, "/.")) return name;
  std::string kept = name.substr(0, kShort);
  std::replace_if(kept.begin(), kept.end(), [](char c) { return c == '/' || c == '.'; }, '_');
  return absl::StrCat(kept, "...", absl::Hex(std::hash<std::string>()(name)));
}

}  // namespace onnx_mem
