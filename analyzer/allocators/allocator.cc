#include "analyzer/allocators/allocator.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

#define ROW(make, name, description, asked_by, also) AllocatorRow{name, description, make, asked_by, also},
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

}  // namespace

std::span<const AllocatorRow> Allocators() { return kAllocators; }

bool RunsSessions(std::string_view allocator) {
  const auto* row = std::find_if(std::begin(kAllocators), std::end(kAllocators),
                                 [&](const AllocatorRow& r) { return r.name == allocator; });
  return row != std::end(kAllocators) && row->asked_by == AskedBy::kSession;
}

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
