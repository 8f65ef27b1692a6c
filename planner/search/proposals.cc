#include "planner/search/proposals.h"

#include <array>

namespace onnx_mem {
namespace {

constexpr auto kRows = std::to_array<ProposalRow>({
    {"sqrt", ProposeSqrtN, 3},
    {"chen", ProposeChen, 4},
    {"chain", ProposeChain, 0},
});

}  // namespace

absl::Span<const ProposalRow> ProposalRows() { return kRows; }

Choice CoverWithin(const Profile& profile, const std::vector<int64_t>& weights, int64_t limit) {
  Choice choice;
  int32_t next = 0;
  for (size_t i = 0; i < profile.candidates.size(); ++i) {  // by first node, longest first
    const Candidate& candidate = profile.candidates[i];
    if (candidate.first < next || weights[i] > limit) continue;
    choice.push_back(static_cast<int32_t>(i));
    next = candidate.last + 1;
  }
  return choice;
}

}  // namespace onnx_mem
