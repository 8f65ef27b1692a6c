#include "analyzer/assume/table/margins.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"

namespace onnx_mem {
namespace {

std::string ReachText(const Margin& margin) {
  const std::string less = margin.less_percent == 0 ? std::string() : absl::StrCat("-", margin.less_percent, " to ");
  return absl::StrCat(less, "+", margin.more_percent, " %");
}

}  // namespace

FileListing ListingOf(const std::vector<std::string>& assumptions) {
  const auto has = [&](std::string_view mark) {
    return std::find(assumptions.begin(), assumptions.end(), mark) != assumptions.end();
  };
  if (!has(kTensorsListed)) return FileListing::kNone;
  return has(kParametersMissing) ? FileListing::kPartly : FileListing::kWhole;
}

Margin MarginBeside(FileListing listing, bool training) {
  if (training) return listing == FileListing::kPartly ? Margin{.less_percent = 4, .more_percent = 3} : Margin{};
  return listing == FileListing::kNone ? Margin{.more_percent = 3} : Margin{};
}

std::string MarginText(const Margin& least, const Margin& beside) {
  const std::string reach = absl::StrCat("at least ", ReachText(least));
  if (beside.less_percent == 0 && beside.more_percent == 0) return reach;
  return absl::StrCat(reach, ", and ", ReachText(beside), " on top");
}

}  // namespace onnx_mem
