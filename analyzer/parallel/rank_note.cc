#include "analyzer/parallel/rank_note.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/parallel/fsdp_units.h"
#include "analyzer/parallel/step_facts.h"

namespace onnx_mem {
namespace {

std::string UnitsText(const std::vector<FsdpUnit>& units) {
  if (units.size() == 1) return "the root alone is a unit: all parameters are gathered at once";
  const std::string first = absl::StrCat("units: ", units[1].module);
  if (units.size() == 2) return absl::StrCat(first, " and the root");
  return absl::StrCat(first, " to ", units.back().module, " (", units.size() - 1, ") and the root");
}

std::string RankText(const RankLayout& layout) {
  const int64_t ranks = layout.ranks * layout.replicas;
  if (layout.rank) return absl::StrCat("rank ", *layout.rank, " of ", ranks);
  switch (layout.data) {
    case DataParallel::kFsdp: return absl::StrCat("rank 0 of ", ranks, ", which needs most");
    case DataParallel::kZero1: return absl::StrCat("the rank of ", ranks, " that needs most");
    case DataParallel::kNone:
    case DataParallel::kDdp: break;
  }
  return absl::StrCat("each of ", ranks, " ranks");
}

}  // namespace

absl::StatusOr<Diagnostic> RankNote(const Enacted& enacted, const RankLayout& layout) {
  Diagnostic note{.code = Code::kOneRank, .severity = Severity::kNote, .count = 1};
  note.message = absl::StrCat("figures are of ", RankText(layout),
                              "; the communication library's own buffers on the device are not in them");
  if (layout.data == DataParallel::kFsdp) {
    ASSIGN_OR_RETURN(const std::vector<FsdpUnit> units, UnitsOf(FactsOf(enacted), layout, /*rank=*/0));
    note.details.push_back(UnitsText(units));
  }
  note.details.push_back("why: they follow PyTorch's code on tensors without data; no card has confirmed them");
  return note;
}

}  // namespace onnx_mem
