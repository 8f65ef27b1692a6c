// The planning methods: one row and one file each. A method turns a profile into plans over the whole trade-off, from
// little memory freed to much; the accountant judges them all, and the search (search.h) continues from the best.
#ifndef ONNX_MEM_PLANNER_SEARCH_PROPOSALS_H_
#define ONNX_MEM_PLANNER_SEARCH_PROPOSALS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "planner/measure/profile.h"

namespace onnx_mem {

struct ProposalRow {
  std::string_view name;  // as --method takes it
  std::vector<Choice> (*propose)(const Profile& profile);
  int always;  // so many of them are measured whatever effort is left, the most promising first
};

absl::Span<const ProposalRow> ProposalRows();

// sqrt_n.cc: about sqrt(N) segments of equal count of operators, of equal bytes, of equal cost (Chen et al., 2016).
std::vector<Choice> ProposeSqrtN(const Profile& profile);

// chen.cc: segments closed at a byte limit, for a sweep of limits (Chen et al., 2016, budgeted form).
std::vector<Choice> ProposeChen(const Profile& profile);

// chain.cc: cheapest choice for each of a row of peaks, by dynamic programming over positions.
std::vector<Choice> ProposeChain(const Profile& profile);

// The candidates' disjoint cover that takes, from the first node on, the longest one whose weight is at most `limit`.
Choice CoverWithin(const Profile& profile, const std::vector<int64_t>& weights, int64_t limit);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_SEARCH_PROPOSALS_H_
