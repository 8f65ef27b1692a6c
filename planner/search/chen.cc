// Chen's budgeted greedy over modules: a segment is closed when the bytes it frees reach a limit; the limit is swept.
// A prefix of such a cover frees less for less, so each cover gives a plan per prefix.
#include <algorithm>
#include <cmath>

#include "planner/search/proposals.h"

namespace onnx_mem {
namespace {

constexpr int kLimits = 12;
constexpr size_t kMostPrefixes = 256;  // of a cover; of a longer one evenly

}  // namespace

std::vector<Choice> ProposeChen(const Profile& profile) {
  std::vector<int64_t> bytes;
  for (const CandidateFigures& figures : profile.figures) bytes.push_back(figures.saves_bytes);
  if (bytes.empty()) return {};
  const auto least = static_cast<double>(std::max<int64_t>(*std::min_element(bytes.begin(), bytes.end()), 1));
  const auto most = static_cast<double>(*std::max_element(bytes.begin(), bytes.end()));
  std::vector<Choice> choices;
  for (int i = 0; i < kLimits; ++i) {
    const double limit = least * std::pow(most / least, static_cast<double>(i) / (kLimits - 1));
    Choice cover = CoverWithin(profile, bytes, static_cast<int64_t>(std::ceil(limit)));
    const size_t step = (cover.size() + kMostPrefixes - 1) / kMostPrefixes;
    while (!cover.empty()) {
      if (std::find(choices.begin(), choices.end(), cover) == choices.end()) choices.push_back(cover);
      cover.resize(cover.size() - std::min(step, cover.size()));
    }
  }
  return choices;
}

}  // namespace onnx_mem
