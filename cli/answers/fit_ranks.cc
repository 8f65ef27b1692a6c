#include "cli/answers/fit_ranks.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/parallel/rank_note.h"
#include "cli/pasted_command.h"

namespace onnx_mem {

absl::StatusOr<MeasuredCard*> CardNeeds::Of(const Card& card, const Workload& workload) {
  for (MeasuredCard& measured : measured_) {
    const bool same = measured.mode == workload.mode && measured.layout == workload.layout;
    if (same && RunsAlike(measured.card, card)) return &measured;
  }
  MeasuredCard measured{card, workload.mode, workload.layout, {}, std::nullopt};
  ASSIGN_OR_RETURN(BatchNeeds batches, BatchNeeds::Create(study_, workload, axis_));
  if (const absl::StatusOr<Need> requested = batches.At(batches.start()); requested.ok()) {
    measured.requested = *requested;
    measured.batches = std::move(batches);
  } else {
    ASSIGN_OR_RETURN(measured.requested, study_.NeedOf(workload));
  }
  measured_.push_back(std::move(measured));
  return &measured_.back();
}

absl::StatusOr<FewestRanks> CardNeeds::RanksOn(const Card& card, const Workload& workload, const Options& options) {
  const RankRange among = options.ranks_among.value_or(RankRange());
  const RankAxis axis = options.ranks_among ? options.ranks_axis : RankAxis::kData;
  for (auto& [known, needs] : ranks_) {
    if (RunsAlike(known, card)) return FindFewestRanks(needs, card.usable_bytes, among);
  }
  RankNeeds& needs = ranks_.emplace_back(card, RankNeeds(study_, workload, axis)).second;
  return FindFewestRanks(needs, card.usable_bytes, among);
}

int64_t RanksOf(const FewestRanks& ranks, bool strict) {
  return (strict ? ranks.safe : ranks.expected).value_or(ranks.among.most);
}

absl::StatusOr<Workload> OverFewestRanks(CardNeeds& needs, const Options& options, Workload workload,
                                         const Card& card) {
  if (!options.ranks_among) return workload;
  Workload there = OnCard(workload, card);
  there.mode = PartsOf(workload.mode).front();
  ASSIGN_OR_RETURN(const FewestRanks ranks, needs.RanksOn(card, there, options));
  SetRanksAlong(options.ranks_axis, RanksOf(ranks, options.strict), workload.layout);
  return workload;
}

std::optional<TooSmall> FirstTooSmall(Study& study, const Workload& workload, const Options& options,
                                      const std::vector<Card>& targets, const std::vector<CardFit>& cards) {
  for (size_t i = 0; i < targets.size(); ++i) {
    const CardFit::Part& part = cards[i].parts.front();
    const bool fits = part.verdict != Verdict::kDoesNotFit;
    TooSmall small{i, workload.layout};
    if (!options.ranks_among) {
      if (fits) continue;
      return small;
    }
    const RankRange below = {part.ranks->among.fewest, fits ? *part.over_ranks - 1 : part.ranks->among.most};
    if (below.most < below.fewest) continue;
    std::optional<PlannedRanks> planned =
        FewestRanksWithPlan(study, OnCard(workload, targets[i]), options.ranks_axis,
                            targets[i].gpu ? &*targets[i].gpu : nullptr, targets[i].usable_bytes, below);
    const bool any = planned && !planned->plans.empty();
    if (!any && fits) continue;
    SetRanksAlong(options.ranks_axis, planned ? planned->ranks : below.most, small.layout);
    if (planned) small.plans = std::move(planned->plans);
    return small;
  }
  return std::nullopt;
}

std::pair<std::string, std::string> RanksOption(const Options& options, const RankLayout& layout) {
  const RankAxis axis = options.ranks_among ? options.ranks_axis : RankAxis::kData;
  std::pair<std::string, std::string> option = RanksFlag(axis, layout);
  if (axis == RankAxis::kTensor && !options.tensor_plan.empty())
    absl::StrAppend(&option.second, ":", options.tensor_plan);
  return option;
}

std::string PlanCommandOf(const Options& options, const Card& target, size_t targets, const RankLayout& layout) {
  std::vector<std::string> more;
  if (options.ranks_among || layout.data != DataParallel::kNone) {
    const auto [option, ranks] = RanksOption(options, layout);
    more.push_back(absl::StrCat(option, " ", ShellWord(ranks)));
  }
  if (layout.data != DataParallel::kFsdp) more.emplace_back("--granularity module");  // calls have no flags
  if (targets > 1 && target.gpu) more.push_back("--gpu " + ShellWord(target.name));
  if (targets > 1 && !target.gpu) more.push_back(absl::StrCat("--budget ", target.usable_bytes, "B"));
  return CommandOf("plan", options, absl::StrJoin(more, " "));
}

}  // namespace onnx_mem
