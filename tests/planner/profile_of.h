// A profile by hand, for tests of what works on profiles: a chain of nodes of which ranges can be wrapped.
#ifndef ONNX_MEM_TESTS_PLANNER_PLANS_PROFILE_OF_H_
#define ONNX_MEM_TESTS_PLANNER_PLANS_PROFILE_OF_H_

#include <random>
#include <string>
#include <vector>

#include "planner/measure/profile.h"

namespace onnx_mem {

// Every range of up to `longest` neighbouring nodes out of `count`, with random sizes and costs; what a longer range
// frees and costs is about the sum of its parts.
inline Profile RandomProfile(int seed, int32_t count, int32_t longest) {
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto up_to = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<unsigned>(most + 1)); };
  std::vector<int64_t> saves, costs;
  Profile profile;
  int64_t all = 100;
  for (int32_t i = 0; i < count; ++i) {
    saves.push_back(10 + up_to(90));
    costs.push_back(1 + up_to(50));
    all += saves.back();
  }
  profile.loss_live = all;
  for (int32_t i = 0, held = 100; i < count; ++i) {
    held += static_cast<int32_t>(saves[static_cast<size_t>(i)]);
    profile.forward_live.push_back(held + up_to(20));
    profile.backward_live.push_back(held + up_to(60));
    profile.baseline_peak = std::max({profile.baseline_peak, profile.backward_live.back(), profile.loss_live});
  }
  profile.constant_peak = 50;
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t j = std::min(count, i + longest) - 1; j >= i; --j) {
      Candidate candidate;
      candidate.first = i;
      candidate.last = j;
      candidate.label = std::to_string(i) + "-" + std::to_string(j);
      CandidateFigures figures;
      for (int32_t k = i; k <= j; ++k) {
        figures.saves_bytes += saves[static_cast<size_t>(k)];
        figures.cost += costs[static_cast<size_t>(k)];
      }
      figures.saves_bytes -= up_to(9);
      figures.rerun_peak_bytes = profile.backward_live[static_cast<size_t>(j)] + up_to(30);
      profile.candidates.push_back(candidate);
      profile.figures.push_back(figures);
    }
  }
  return profile;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_PLANNER_PLANS_PROFILE_OF_H_
