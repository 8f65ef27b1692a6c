#include "analyzer/allocators/allocator.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/allocators/cuda_allocator.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

#define ROW(make, name, description, client, also, setting, uncut) \
  AllocatorRow{name, description, make, client, also, setting, uncut},
constexpr AllocatorRow kAllocators[] = {
#include "analyzer/allocators/allocator_table.inc"
};
#undef ROW

constexpr bool RowsAreSorted() {
  for (size_t i = 1; i < std::size(kAllocators); ++i) {
    if (!(kAllocators[i - 1].name < kAllocators[i].name)) return false;
  }
  return true;
}
static_assert(RowsAreSorted());

const AllocatorRow* RowOf(std::string_view name) {
  const auto* row = std::find_if(std::begin(kAllocators), std::end(kAllocators),
                                 [&](const AllocatorRow& r) { return r.name == name; });
  return row == std::end(kAllocators) ? nullptr : row;
}

}  // namespace

std::span<const AllocatorRow> Allocators() { return kAllocators; }

Settings SettingsOf(std::string_view allocator, std::string_view variable) {
  const AllocatorRow* row = RowOf(allocator);
  if (row == nullptr || row->setting.empty()) return {};
  return {{std::string(variable), std::string(row->setting)}};
}

std::optional<std::string> AllocatorWith(const Settings& settings) {
  for (const AllocatorRow& row : kAllocators) {
    if (row.setting.empty()) continue;
    for (std::string_view variable : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
      if (SettingsOf(row.name, variable) == settings) return std::string(row.name);
    }
  }
  return std::nullopt;
}

std::string TextOf(const Settings& settings) { return absl::StrJoin(settings, " ", absl::PairFormatter("=")); }

absl::StatusOr<const AllocatorRow*> FindAllocator(std::string_view name) {
  std::string known;
  for (const AllocatorRow& row : kAllocators) {
    if (row.name == name) return &row;
    absl::StrAppend(&known, known.empty() ? "" : ", ", std::string(row.name));
  }
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                     absl::StrCat("unknown allocator '", std::string(name), "'"), {absl::StrCat("known: ", known)});
}

}  // namespace onnx_mem
