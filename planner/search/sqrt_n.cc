// sqrt(N) over modules: the cover whose segments weigh at most an sqrt(N)-th of all, in operators, bytes or FLOPs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/search/proposals.h"

namespace onnx_mem {
namespace {

// Weight of everything that can be wrapped at all, and how many smallest parts it has.
Choice Whole(const Profile& profile) {
  return CoverWithin(profile, std::vector<int64_t>(profile.candidates.size(), 0), 0);
}

// Candidates that no other one lies within. They stand by first node, longest first.
size_t SmallestParts(const Profile& profile) {
  const std::vector<Candidate>& all = profile.candidates;
  size_t parts = 0;
  int32_t least_last = std::numeric_limits<int32_t>::max();  // of those behind
  for (size_t i = all.size(); i-- > 0;) {
    const bool has_twin = i > 0 && all[i - 1].first == all[i].first && all[i - 1].last == all[i].last;
    parts += least_last > all[i].last && !has_twin;
    least_last = std::min(least_last, all[i].last);
  }
  return parts;
}

}  // namespace

std::vector<Choice> ProposeSqrtN(const Profile& profile) {
  const size_t n = profile.candidates.size();
  std::vector<int64_t> operators(n), bytes(n), costs(n);
  for (size_t i = 0; i < n; ++i) {
    operators[i] = profile.candidates[i].last - profile.candidates[i].first + 1;
    bytes[i] = profile.figures[i].saves_bytes;
    costs[i] = profile.figures[i].cost;
  }
  const auto segments = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(SmallestParts(profile)))));
  std::vector<Choice> choices;
  for (const std::vector<int64_t>* weights : {&operators, &bytes, &costs}) {
    int64_t total = 0;
    for (int32_t c : Whole(profile)) total += (*weights)[static_cast<size_t>(c)];
    choices.push_back(CoverWithin(profile, *weights, total / std::max<int64_t>(segments, 1)));
  }
  return choices;
}

}  // namespace onnx_mem
