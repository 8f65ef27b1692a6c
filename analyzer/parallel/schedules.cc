#include "analyzer/parallel/schedules.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

using Kind = StageAction::Kind;
using Actions = std::vector<StageAction>;

// A stage's forward: what an earlier one sent is waited for behind it, where the schedule does so.
void AddForward(int64_t stage, int64_t micro_batch, bool frees_earlier, Actions& actions) {
  actions.push_back({Kind::kReceiveInput, stage, micro_batch});
  actions.push_back({Kind::kForward, stage, micro_batch});
  if (frees_earlier && micro_batch > 0) actions.push_back({Kind::kOutputSent, stage, micro_batch - 1});
}

// All forwards, then all backwards. Sends are waited for between the two, and before the next backward.
Actions GpipeActions(const PipelineLayout& layout, int64_t rank) {
  const int64_t count = MicroBatchesOf(layout);
  Actions actions;
  for (int64_t m = 0; m < count; ++m) AddForward(rank, m, /*frees_earlier=*/false, actions);
  for (int64_t m = 0; m < count; ++m) actions.push_back({Kind::kOutputSent, rank, m});
  for (int64_t m = 0; m < count; ++m) {
    if (m > 0) actions.push_back({Kind::kInputGradientSent, rank, m - 1});
    actions.push_back({Kind::kReceiveGradient, rank, m});
    actions.push_back({Kind::kBackward, rank, m});
  }
  return actions;
}

// As many forwards as there are stages from here on; then a backward and a forward in turn.
Actions OneForwardOneBackward(const PipelineLayout& layout, int64_t rank) {
  const int64_t count = MicroBatchesOf(layout);
  const int64_t ahead = std::min(count, layout.ranks - rank);
  Actions actions;
  for (int64_t m = 0; m < ahead; ++m) AddForward(rank, m, /*frees_earlier=*/true, actions);
  for (int64_t m = 0; m < count; ++m) {
    actions.push_back({Kind::kOutputSent, rank, std::min(count, m + ahead) - 1});
    actions.push_back({Kind::kReceiveGradient, rank, m});
    actions.push_back({Kind::kBackward, rank, m});
    if (m > 0) actions.push_back({Kind::kInputGradientSent, rank, m - 1});
    if (m + ahead < count) AddForward(rank, m + ahead, /*frees_earlier=*/false, actions);
  }
  return actions;
}

// The order of what is computed on one rank that has several stages: _get_1f1b_rank_ops.
class InterleavedOrder {
 public:
  InterleavedOrder(const PipelineLayout& layout, int64_t rank, bool zero_bubble)
      : layout_(layout), rank_(rank), zero_bubble_(zero_bubble), stages_(layout.stages_per_rank) {
    const int64_t count = MicroBatchesOf(layout);
    per_round_ = count / std::max<int64_t>(1, count / layout.ranks);
    total_ = count * stages_;
    const int64_t factor = zero_bubble ? 1 : 2;
    ahead_ = std::min((stages_ - 1) * per_round_ + factor * (layout.ranks - 1 - rank), total_);
    for (std::vector<int64_t>* next : {&forwards_, &backwards_, &weights_})
      next->assign(static_cast<size_t>(stages_), 0);
  }

  Actions Computed() {
    for (int64_t i = 0; i < ahead_ + total_; ++i) {
      if (i < total_) Add(Kind::kForward, (i / per_round_) % stages_, forwards_);
      if (i < ahead_) continue;
      Add(zero_bubble_ ? Kind::kBackwardInput : Kind::kBackward, BackwardStage(i), backwards_);
      // What is computed later: as many as this rank is from the first.
      if (zero_bubble_ && i - ahead_ >= rank_) AddWeight();
    }
    while (zero_bubble_ && weight_count_ < total_) AddWeight();
    return std::move(actions_);
  }

 private:
  int64_t BackwardStage(int64_t i) const { return stages_ - 1 - ((i - ahead_) / per_round_) % stages_; }
  void AddWeight() { Add(Kind::kBackwardWeight, BackwardStage(ahead_ + weight_count_++), weights_); }
  void Add(Kind kind, int64_t local, std::vector<int64_t>& next) {
    actions_.push_back({kind, local * layout_.ranks + rank_, next[static_cast<size_t>(local)]++});
  }

  const PipelineLayout& layout_;
  int64_t rank_;
  bool zero_bubble_;
  int64_t stages_;
  int64_t per_round_ = 1;
  int64_t total_ = 0;  // forwards of this rank
  int64_t ahead_ = 0;  // of them before the first backward
  int64_t weight_count_ = 0;
  std::vector<int64_t> forwards_, backwards_, weights_;  // the next micro-batch of each stage
  Actions actions_;
};

bool GivesInputGradient(Kind kind) { return kind == Kind::kBackward || kind == Kind::kBackwardInput; }

// With the turns that torch's schedule takes for parameters that fully_shard spreads, and for their reduction.
Actions WithTurns(const Actions& computed, const PipelineLayout& layout) {
  Actions actions(static_cast<size_t>(layout.stages_per_rank));
  std::vector<int64_t> done(static_cast<size_t>(StagesOf(layout)), 0);
  for (const StageAction& action : computed) {
    actions.push_back(action);
    if (action.kind != Kind::kBackward && action.kind != Kind::kBackwardWeight) continue;
    if (++done[static_cast<size_t>(action.stage)] == MicroBatchesOf(layout)) actions.resize(actions.size() + 2);
  }
  return actions;
}

// The ranks take turns, and who sends has the other's buffer made: _add_send_recv. What was sent forward is waited for
// behind its own backward, what was sent back at the end: _add_wait_send.
class Exchange {
 public:
  Exchange(const PipelineLayout& layout, bool zero_bubble) : layout_(layout), done_(static_cast<size_t>(layout.ranks)) {
    for (int64_t rank = 0; rank < layout.ranks; ++rank) {
      const Actions actions = WithTurns(InterleavedOrder(layout, rank, zero_bubble).Computed(), layout);
      left_.emplace_back(actions.begin(), actions.end());
    }
    with_receives_.resize(left_.size());
  }

  // False: some rank waits for ever.
  bool Run() {
    while (std::any_of(left_.begin(), left_.end(), [](const auto& left) { return !left.empty(); })) {
      bool any = false;
      for (size_t rank = 0; rank < left_.size(); ++rank) any = Turn(rank) || any;
      if (!any) return false;
    }
    return true;
  }

  Actions Of(int64_t rank) const {
    Actions actions, at_end;
    for (const StageAction& action : with_receives_[static_cast<size_t>(rank)]) {
      actions.push_back(action);
      if (!GivesInputGradient(action.kind)) continue;
      if (action.stage + 1 < StagesOf(layout_)) {
        actions.push_back({Kind::kOutputSent, action.stage, action.micro_batch});
      }
      if (action.stage > 0) at_end.push_back({Kind::kInputGradientSent, action.stage, action.micro_batch});
    }
    actions.insert(actions.end(), at_end.begin(), at_end.end());
    return actions;
  }

 private:
  using Key = std::tuple<Kind, int64_t, int64_t>;

  bool Turn(size_t rank) {
    if (left_[rank].empty() || !IsReady(left_[rank].front(), done_[rank])) return false;
    const StageAction action = left_[rank].front();
    left_[rank].pop_front();
    with_receives_[rank].push_back(action);
    if (action.kind == Kind::kForward && action.stage + 1 < StagesOf(layout_)) {
      Receive({Kind::kReceiveInput, action.stage + 1, action.micro_batch});
    }
    if (GivesInputGradient(action.kind) && action.stage > 0) {
      Receive({Kind::kReceiveGradient, action.stage - 1, action.micro_batch});
    }
    return true;
  }

  bool IsReady(const StageAction& action, const std::set<Key>& done) const {
    if (action.kind == Kind::kForward && action.stage > 0) {
      return done.contains({Kind::kReceiveInput, action.stage, action.micro_batch});
    }
    if (GivesInputGradient(action.kind) && action.stage + 1 < StagesOf(layout_)) {
      return done.contains({Kind::kReceiveGradient, action.stage, action.micro_batch});
    }
    return true;
  }

  void Receive(const StageAction& action) {
    const auto rank = static_cast<size_t>(action.stage % layout_.ranks);
    with_receives_[rank].push_back(action);
    done_[rank].emplace(action.kind, action.stage, action.micro_batch);
  }

  const PipelineLayout& layout_;
  std::vector<std::deque<StageAction>> left_;
  std::vector<Actions> with_receives_;
  std::vector<std::set<Key>> done_;  // what was received
};

absl::StatusOr<Actions> Interleaved(const PipelineLayout& layout, int64_t rank, bool zero_bubble) {
  Exchange exchange(layout, zero_bubble);
  if (exchange.Run()) return exchange.Of(rank);
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                     absl::StrCat("--schedule ", View(NameOf(layout.schedule)), " does not end with ",
                                  MicroBatchesOf(layout), " micro-batches"));
}

absl::StatusOr<Actions> InterleavedActions(const PipelineLayout& layout, int64_t rank) {
  return Interleaved(layout, rank, /*zero_bubble=*/false);
}
absl::StatusOr<Actions> ZeroBubbleActions(const PipelineLayout& layout, int64_t rank) {
  return Interleaved(layout, rank, /*zero_bubble=*/true);
}

struct ScheduleRow {
  PipelineSchedule schedule;
  std::string_view name;
  bool several_stages;  // per rank
  absl::StatusOr<Actions> (*actions)(const PipelineLayout&, int64_t rank);
};
constexpr auto kSchedules = std::to_array<ScheduleRow>({
    {PipelineSchedule::kGpipe, "gpipe", false,
     [](const PipelineLayout& layout, int64_t rank) -> absl::StatusOr<Actions> { return GpipeActions(layout, rank); }},
    {PipelineSchedule::k1F1B, "1f1b", false,
     [](const PipelineLayout& layout, int64_t rank) -> absl::StatusOr<Actions> {
       return OneForwardOneBackward(layout, rank);
     }},
    {PipelineSchedule::kInterleaved1F1B, "interleaved-1f1b", true, InterleavedActions},
    {PipelineSchedule::kInterleavedZeroBubble, "interleaved-zb", true, ZeroBubbleActions},
});

const ScheduleRow& ScheduleOf(PipelineSchedule schedule) {
  return *std::find_if(kSchedules.begin(), kSchedules.end(),
                       [&](const ScheduleRow& row) { return row.schedule == schedule; });
}

absl::Status UsageOf(std::string message, std::string hint) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage, std::move(message), {std::move(hint)});
}

}  // namespace

std::string_view NameOf(PipelineSchedule schedule) { return ScheduleOf(schedule).name; }

absl::StatusOr<std::vector<StageAction>> ActionsOf(const PipelineLayout& layout, int64_t rank) {
  const ScheduleRow& row = ScheduleOf(layout.schedule);
  const int64_t count = MicroBatchesOf(layout);
  if (!row.several_stages && layout.stages_per_rank > 1) {
    return UsageOf(absl::StrCat("--schedule ", View(row.name), " has one stage per rank"),
                   "try: ... --schedule interleaved-1f1b");
  }
  if (count < layout.ranks && !row.several_stages && layout.schedule == PipelineSchedule::k1F1B) {
    return UsageOf(absl::StrCat("--schedule 1f1b wants at least as many micro-batches as stages, ", layout.ranks),
                   absl::StrCat("try: ... --micro-batches ", layout.ranks));
  }
  if (row.several_stages && count % std::max<int64_t>(1, count / layout.ranks) != 0) {
    return UsageOf(absl::StrCat("--schedule ", View(row.name), ": ", count,
                                " micro-batches are no multiple of its rounds, ", count / layout.ranks),
                   absl::StrCat("try: ... --micro-batches ", layout.ranks * (count / layout.ranks)));
  }
  return row.actions(layout, rank);
}

}  // namespace onnx_mem
