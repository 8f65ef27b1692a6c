// What fit measures for its cards, over one number of ranks or the fewest of a range.
#ifndef ONNX_MEM_CLI_ANSWERS_FIT_RANKS_H_
#define ONNX_MEM_CLI_ANSWERS_FIT_RANKS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/devices/verdict.h"
#include "analyzer/run/layout.h"
#include "analyzer/study/axis.h"
#include "analyzer/study/study.h"
#include "cli/answers/cards.h"
#include "cli/options/options.h"
#include "planner/advice/fewest_ranks.h"
#include "planner/advice/fit.h"
#include "report/analyze/report.h"

namespace onnx_mem {

// The runs that `mode` stands for, each by itself.
inline std::vector<Mode> PartsOf(Mode mode) {
  if (mode == Mode::kBoth) return {Mode::kTraining, Mode::kInference};
  return {mode};
}

// What was measured of one mode and one layout, for all cards on which a run needs the same.
struct MeasuredCard {
  Card card;
  Mode mode;
  RankLayout layout;
  Need requested;
  std::optional<BatchNeeds> batches;  // unset: the file's batch is fixed
};

class CardNeeds {
 public:
  // `study` outlives it.
  CardNeeds(Study& study, Axis axis) : study_(study), axis_(std::move(axis)) {}

  absl::StatusOr<MeasuredCard*> Of(const Card& card, const Workload& workload);

  // Of the range that is requested, or of ranks that share what each would hold whole.
  absl::StatusOr<FewestRanks> RanksOn(const Card& card, const Workload& workload, const Options& options);

 private:
  Study& study_;
  Axis axis_;
  std::deque<MeasuredCard> measured_;
  std::deque<std::pair<Card, RankNeeds>> ranks_;
};

// Of several numbers of ranks the fewest with which it fits, or all of them.
int64_t RanksOf(const FewestRanks& ranks, bool strict);

// Where a range is requested, `workload` over the fewest of it that fit.
absl::StatusOr<Workload> OverFewestRanks(CardNeeds& needs, const Options& options, Workload workload, const Card& card);

// What ways are wanted for.
struct TooSmall {
  size_t card = 0;
  RankLayout layout;
  std::optional<std::vector<Proposal>> plans = {};  // the ways that are checkpoint plans, where they are known
};

// The first card that is too small; where fit chose the number of ranks, the first one that wants more than the fewest,
// with the fewest that have a plan.
std::optional<TooSmall> FirstTooSmall(Study& study, const Workload& workload, const Options& options,
                                      const std::vector<Card>& targets, const std::vector<CardFit>& cards);

// The option that says the ranks of `layout` which the range is of, and its value.
std::pair<std::string, std::string> RanksOption(const Options& options, const RankLayout& layout);

// The command that prints the plan of a way.
std::string PlanCommandOf(const Options& options, const Card& target, size_t targets, const RankLayout& layout);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ANSWERS_FIT_RANKS_H_
