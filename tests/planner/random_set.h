// Sets of segments drawn at random, for tests of what is proven of all sets.
#ifndef ONNX_MEM_TESTS_PLANNER_RANDOM_SET_H_
#define ONNX_MEM_TESTS_PLANNER_RANDOM_SET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "planner/measure/candidates.h"

namespace onnx_mem {

// Random disjoint candidates, in order of their nodes. `share`: of those that overlap none before, in percent.
inline std::vector<int32_t> RandomSet(std::mt19937& random, const std::vector<Candidate>& candidates, unsigned share) {
  std::vector<int32_t> order(candidates.size()), set;
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::shuffle(order.begin(), order.end(), random);
  for (int32_t c : order) {
    const Candidate& candidate = candidates[static_cast<size_t>(c)];
    const bool free = std::none_of(set.begin(), set.end(), [&](int32_t other) {
      return candidates[static_cast<size_t>(other)].Overlaps(candidate);
    });
    if (free && random() % 100 < share) set.push_back(c);
  }
  std::sort(set.begin(), set.end(), [&](int32_t a, int32_t b) {
    return candidates[static_cast<size_t>(a)].first < candidates[static_cast<size_t>(b)].first;
  });
  return set;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_PLANNER_RANDOM_SET_H_
