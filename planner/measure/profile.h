// What each candidate frees and costs, from one enactment with that candidate alone; and from these a quick estimate
// of a plan's peak. Planning methods search on the estimate, the accountant judges what they find.
//
// Backward runs against the forward's order. While it is at node p, what the nodes before p saved is alive; a
// checkpointed range before p has freed what it saves. So with S(p) = sum of saves of chosen ranges before p
//   at an ordinary node p:                 live(p) = baseline_live(p) - S(p)
//   while range c is re-run and unwound:   live(c) = peak_alone(c) - S(first of c)
// Ranges that look alike (same operators and sizes) are enacted once.
#ifndef ONNX_MEM_PLANNER_MEASURE_PROFILE_H_
#define ONNX_MEM_PLANNER_MEASURE_PROFILE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/measure/accountant.h"
#include "planner/measure/candidates.h"

namespace onnx_mem {

struct CandidateFigures {
  int64_t saves_bytes = 0;  // alive at the end of the forward: without it minus with it
  int64_t recompute_flops = 0;
  int64_t cost = 0;              // of its re-run, as Score::cost
  int64_t rerun_peak_bytes = 0;  // most alive from its re-run to the end of its backward, alone
  bool enacted = false;          // false: taken from a range that looks alike, or added up from its parts
};

struct Profile {
  std::vector<Candidate> candidates;      // by first node, longest first
  std::vector<CandidateFigures> figures;  // one per candidate
  std::vector<int64_t> forward_live;      // per lowered node: most alive while it runs, baseline
  std::vector<int64_t> backward_live;
  std::vector<int64_t> block_live;  // most of either in each block of nodes; empty: nobody has worked it out
  int64_t loss_live = 0;            // between the model's forward and its backward
  int64_t constant_peak = 0;        // of the steps that no plan changes
  int64_t baseline_peak = 0;
  int64_t added_up = 0;          // candidates that there was no effort for: estimated from their parts
  bool left_negligible = false;  // candidates that free next to nothing were left out
};

// Enacts at most as often as `may_go_on` allows; the rest is estimated from parts. Without `negligible`, candidates
// that free less than 0.1 % of the peak are left out.
absl::StatusOr<Profile> MakeProfile(Accountant& accountant, const CandidateSet& candidates,
                                    const std::function<bool()>& may_go_on, bool negligible = false);

// Estimate for `choice` (sorted, disjoint).
Score Estimate(const Profile& profile, const Choice& choice);

std::vector<Segment> SegmentsOf(const Profile& profile, const Choice& choice);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_PROFILE_H_
