#include "analyzer/prepare/rewrites.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/suggest.h"

namespace onnx_mem {

#define ROW(function, name, description, reported, after) int64_t function(Lowering& lowering);
#include "analyzer/prepare/rewrite_table.inc"
#undef ROW

namespace {

#define ROW(function, name, description, reported, after) Rewrite{name, description, function, reported, after},
constexpr Rewrite kRewrites[] = {
#include "analyzer/prepare/rewrite_table.inc"
};
#undef ROW

// No rewrites, but what rewrites and lowering take for evidence, which is left out under these names: the order of two
// operands, and that names which tell nothing may be an exporter's.
constexpr auto kEvidence = std::to_array<std::string_view>({"operand-order", "opaque-names"});

}  // namespace

std::span<const Rewrite> AllRewrites() { return kRewrites; }

absl::Status CheckRewriteNames(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const Rewrite& rewrite : kRewrites) known.emplace_back(rewrite.name);
  known.insert(known.end(), kEvidence.begin(), kEvidence.end());
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::vector<std::string> details = {absl::StrCat("what: the rewrites are ", absl::StrJoin(known, ", "))};
    if (const std::string near = DidYouMean(name, known); !near.empty()) details.push_back(near);
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUnknownRewrite,
                       absl::StrCat("no rewrite '", name, "'"), std::move(details));
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
