#include "analyzer/assume/table/margins.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"

namespace onnx_mem {
namespace {

struct MarginRow {
  FileListing listing;
  Margin training;
  Margin inference;
};

constexpr auto kMargins = std::to_array<MarginRow>({
    {FileListing::kWhole, {.less_percent = 1, .more_percent = 1}, {.less_percent = 1, .more_percent = 1}},
    {FileListing::kAllButBuffers, {.less_percent = 3, .more_percent = 2}, {.less_percent = 1, .more_percent = 6}},
    {FileListing::kPartly, {.less_percent = 4, .more_percent = 3}, {.less_percent = 3, .more_percent = 3}},
    {FileListing::kNone, {.less_percent = 1, .more_percent = 3}, {.less_percent = 1, .more_percent = 3}},
});

}  // namespace

FileListing ListingOf(const std::vector<std::string>& assumptions) {
  const auto has = [&](std::string_view mark) {
    return std::find(assumptions.begin(), assumptions.end(), mark) != assumptions.end();
  };
  if (!has(kTensorsListed)) return FileListing::kNone;
  if (has(kParametersMissing)) return FileListing::kPartly;
  return has(kTensorsMissing) ? FileListing::kAllButBuffers : FileListing::kWhole;
}

Margin MarginOf(FileListing listing, bool training) {
  const auto* row =
      std::find_if(kMargins.begin(), kMargins.end(), [&](const MarginRow& r) { return r.listing == listing; });
  return training ? row->training : row->inference;
}

std::string MarginText(const Margin& margin) {
  return absl::StrCat("-", margin.less_percent, " to +", margin.more_percent, " %");
}

}  // namespace onnx_mem
