// Over how many ranks a training step must be sharded to fit each card.
#ifndef ONNX_MEM_PLANNER_ADVICE_FEWEST_RANKS_H_
#define ONNX_MEM_PLANNER_ADVICE_FEWEST_RANKS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "analyzer/devices/verdict.h"
#include "analyzer/study/study.h"

namespace onnx_mem {

inline constexpr int64_t kMostRanksTried = 4096;

struct FewestRanks {
  std::optional<int64_t> safe;      // with which the high end fits; unset: not with kMostRanksTried
  std::optional<int64_t> expected;  // with which the expected figure fits
};

// `workload` is sharded (ZeRO-1, FSDP2); its own number of ranks does not count, nor its rank: the one that needs most
// has to fit. Each is a measured step beside one of a rank less, which does not fit.
absl::StatusOr<FewestRanks> FindFewestRanks(Study& study, const Workload& workload, int64_t limit_bytes);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_FEWEST_RANKS_H_
