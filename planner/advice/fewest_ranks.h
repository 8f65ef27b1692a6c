// Over how many ranks a training step must be sharded to fit each card.
#ifndef ONNX_MEM_PLANNER_ADVICE_FEWEST_RANKS_H_
#define ONNX_MEM_PLANNER_ADVICE_FEWEST_RANKS_H_

#include <cstdint>
#include <map>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/devices/verdict.h"
#include "analyzer/study/study.h"

namespace onnx_mem {

inline constexpr int64_t kMostRanksTried = 4096;

// Numbers of ranks, both ends included.
struct RankRange {
  int64_t fewest = 1;
  int64_t most = kMostRanksTried;
};

struct FewestRanks {
  RankRange among = {};
  std::optional<int64_t> safe = {};      // with which the high end fits; unset: not with the most
  std::optional<int64_t> expected = {};  // with which the expected figure fits
};

// What a sharded step (ZeRO-1, FSDP2) needs over one number of ranks after another: of the rank that needs most. What
// was measured is not measured again.
class RankNeeds {
 public:
  // `study` outlives it. The workload's own number of ranks does not count, nor its rank.
  RankNeeds(Study& study, const Workload& workload) : study_(&study), workload_(workload) {
    workload_.layout.rank.reset();
  }

  absl::StatusOr<Need> At(int64_t ranks);

 private:
  Study* study_;
  Workload workload_;
  std::map<int64_t, Need> known_;
};

// The fewest of `among` that `fits_over` says yes to; nullopt: none. Mostly more ranks need less, but not always:
// buffers of an all-gather are of padded shards. So each of a few numbers is tried; of many, doubled until it fits,
// then halved.
using FitsOver = absl::FunctionRef<absl::StatusOr<bool>(int64_t ranks)>;
inline constexpr int64_t kFewNumbers = 16;
absl::StatusOr<std::optional<int64_t>> FewestThatFit(RankRange among, int64_t few, FitsOver fits_over);

// Each is a measured step beside one of a rank less, which does not fit, or the fewest of `among`.
absl::StatusOr<FewestRanks> FindFewestRanks(RankNeeds& needs, int64_t limit_bytes, RankRange among = {});

// The fewest of `among` with which a checkpoint plan fits that a way can say (ProposeCheckpoints); nullopt: none does,
// or no work is left to look.
std::optional<int64_t> FewestRanksWithPlan(Study& study, const Workload& workload, const Gpu* card, int64_t limit_bytes,
                                           RankRange among);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_FEWEST_RANKS_H_
