// Over how many ranks a training step must be spread to fit each card.
#ifndef ONNX_MEM_PLANNER_ADVICE_FEWEST_RANKS_H_
#define ONNX_MEM_PLANNER_ADVICE_FEWEST_RANKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/devices/verdict.h"
#include "analyzer/study/study.h"
#include "planner/advice/way.h"

namespace onnx_mem {

inline constexpr int64_t kMostRanksTried = 4096;

// Numbers of ranks, both ends included.
struct RankRange {
  int64_t fewest = 1;
  int64_t most = kMostRanksTried;
};

struct FewestRanks {
  RankRange among = {};                  // `most`: the largest that the model takes, where not all are safe
  std::optional<int64_t> safe = {};      // with which the high end fits; unset: with none that was tried
  std::optional<int64_t> expected = {};  // with which the expected figure fits
  std::vector<int64_t> tried = {};       // growing
  bool each_tried = false;               // until one fitted; else there may be fewer between those that were tried
};

// What a step needs over one number of ranks after another: of the rank that needs most. What was measured is not
// measured again.
class RankNeeds {
 public:
  // `study` outlives it. The workload's own number of ranks along `axis` does not count, nor its rank.
  RankNeeds(Study& study, const Workload& workload, RankAxis axis) : study_(&study), workload_(workload), axis_(axis) {
    workload_.layout.rank.reset();
  }

  RankAxis axis() const { return axis_; }

  // nullopt: the model takes no such number, as of more stages than it has blocks, or of ranks that do not share its
  // heads evenly.
  absl::StatusOr<std::optional<Need>> At(int64_t ranks);

  // Why the last number that was no such number is none.
  const absl::Status& refusal() const { return refusal_; }

  // Of so many numbers each is tried: of stages, and of ranks that split tensors, all, as not every one is possible;
  // else fewer of a larger model.
  absl::StatusOr<int64_t> Few();

 private:
  Study* study_;
  Workload workload_;
  RankAxis axis_;
  absl::Status refusal_;
  std::map<int64_t, std::optional<Need>> known_;
};

// The fewest of `among` that `fits_over` says yes to; nullopt: none. Mostly more ranks need less, but not always:
// buffers of an all-gather are of padded shards. So each of a few numbers is tried; of many, doubled until it fits,
// then halved.
using FitsOver = absl::FunctionRef<absl::StatusOr<bool>(int64_t ranks)>;
absl::StatusOr<std::optional<int64_t>> FewestThatFit(RankRange among, int64_t few, FitsOver fits_over);

// Each is a measured step beside one of a rank less, which does not fit or is not possible, or the fewest of `among`.
// Error: that of a range of which no number is possible.
absl::StatusOr<FewestRanks> FindFewestRanks(RankNeeds& needs, int64_t limit_bytes, RankRange among = {});

// Over `ranks` of a range the checkpoint plans that a way can say (ProposeCheckpoints): of the fewest that has one,
// else of the most, which has none.
struct PlannedRanks {
  int64_t ranks = 1;
  std::vector<Proposal> plans;
};
// nullopt: no work is left to look.
std::optional<PlannedRanks> FewestRanksWithPlan(Study& study, const Workload& workload, RankAxis axis, const Gpu* card,
                                                int64_t limit_bytes, RankRange among);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_FEWEST_RANKS_H_
