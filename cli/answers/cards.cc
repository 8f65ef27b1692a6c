#include "cli/answers/cards.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"

namespace onnx_mem {
namespace {

// `status` of the card `name` of several: what it proposes in place of the name stands among the others.
absl::Status AmongCards(const absl::Status& status, const std::vector<std::string>& names, const std::string& name) {
  constexpr std::string_view kTry = "try: ... --gpu ", kRemark = "   # ";
  Diagnostic diagnostic = DiagnosticOf(status);
  for (std::string& line : diagnostic.details) {
    if (!line.starts_with(kTry) || names.size() < 2) continue;
    const size_t remark = std::min(line.find(kRemark), line.size());
    std::string meant = line.substr(kTry.size(), remark - kTry.size());
    meant.erase(std::remove(meant.begin(), meant.end(), '\''), meant.end());
    std::vector<std::string> all = names;
    std::replace(all.begin(), all.end(), name, meant);
    line = absl::StrCat(std::string(kTry), ShellWord(absl::StrJoin(all, ",")), line.substr(remark));
  }
  return ErrorStatus(status.code(), diagnostic.code, "--gpu: " + diagnostic.message, diagnostic.details);
}

absl::StatusOr<Card> CardNamed(const std::string& name) {
  ASSIGN_OR_RETURN(const std::optional<LocalCard> local, LocalCardOf(name));
  const absl::StatusOr<Gpu> gpu = FindGpu(local ? local->gpu.name : name);
  if (local) {
    return Card{local->gpu.name, gpu.ok() ? std::optional(*gpu) : std::nullopt, local, local->gpu.total_bytes,
                local->gpu.free_bytes};
  }
  RETURN_IF_ERROR(gpu.status());
  return Card{gpu->name, *gpu, std::nullopt, gpu->memory_bytes(), UsableBytes(*gpu)};
}

// Rounded down: a budget of a share is no larger than that share.
int64_t ShareOf(int64_t bytes, double percent) {
  const long double share = std::floor(static_cast<long double>(bytes) * static_cast<long double>(percent) / 100);
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  return share >= static_cast<long double>(kMost) ? kMost : static_cast<int64_t>(share);
}

}  // namespace

absl::StatusOr<std::vector<Card>> CardsOf(const Options& options) {
  std::vector<Card> cards;
  for (const std::string& name : options.gpus) {
    absl::StatusOr<Card> card = CardNamed(name);
    if (!card.ok()) return AmongCards(card.status(), options.gpus, name);
    cards.push_back(*std::move(card));
  }
  if (options.gpu_memory_bytes) {
    cards.push_back({"", std::nullopt, std::nullopt, std::nullopt, *options.gpu_memory_bytes});
  }
  return cards;
}

Limit LimitOf(const Card& card, ByteUnit units) {
  Limit limit{Limit::Kind::kGpu, card.name, card.usable_bytes};
  if (card.local) limit.state = StateText(*card.local, units);
  limit.memory_bytes = card.memory_bytes;
  return limit;
}

std::string DriverOf(const Card& card, const std::vector<LocalGpu>& here) {
  if (card.local) return card.local->gpu.driver;
  for (const LocalGpu& gpu : here) {
    const absl::StatusOr<Gpu> known = FindGpu(gpu.name);
    if (known.ok() && known->name == card.name) return gpu.driver;
  }
  return "";
}

Workload OnCard(Workload workload, const Card& card) {
  workload.platform.card = card.gpu ? std::optional(KindOf(*card.gpu)) : std::nullopt;
  return workload;
}

Workload OnFirstCard(Workload workload, const std::vector<Card>& cards) {
  return cards.empty() ? std::move(workload) : OnCard(std::move(workload), cards.front());
}

Workload FirstWorkload(const Options& options, const std::vector<Card>& cards) {
  Workload workload = OnFirstCard(options.workload, cards);
  if (!options.batches.empty()) workload.bindings.batch = options.batches.front();
  return workload;
}

// The context and the libraries' workspaces go with the generation of the card.
bool RunsAlike(const Card& a, const Card& b) {
  const auto kind = [](const Card& card) { return card.gpu ? std::optional(KindOf(*card.gpu)) : std::nullopt; };
  return kind(a) == kind(b);
}

absl::StatusOr<std::vector<Limit>> LimitsOnCards(const std::vector<Card>& cards, const std::vector<RunSummary>& runs,
                                                 ByteUnit units, RunsOn runs_on) {
  std::vector<Limit> limits;
  for (size_t i = 0; i < cards.size(); ++i) {
    limits.push_back(LimitOf(cards[i], units));
    if (RunsAlike(cards[i], cards.front())) {
      if (i > 0) limits[i].runs = std::make_shared<const std::vector<RunSummary>>(runs);
      continue;
    }
    for (size_t j = 1; j < i && limits[i].runs == nullptr; ++j) {
      if (RunsAlike(cards[i], cards[j])) limits[i].runs = limits[j].runs;
    }
    if (limits[i].runs != nullptr) continue;
    ASSIGN_OR_RETURN(std::vector<RunSummary> there, runs_on(cards[i]));
    limits[i].runs = std::make_shared<const std::vector<RunSummary>>(std::move(there));
  }
  return limits;
}

absl::StatusOr<std::vector<Limit>> LimitsOfRun(Study& study, const RunSummary& run, const Workload& workload,
                                               const std::vector<Card>& cards, const Options& options) {
  const auto runs_on = [&](const Card& card) -> absl::StatusOr<std::vector<RunSummary>> {
    ASSIGN_OR_RETURN(const Analysis there, study.AskWithRange(OnCard(workload, card)));
    return std::vector<RunSummary>{Summarize(there)};
  };
  ASSIGN_OR_RETURN(std::vector<Limit> limits, LimitsOnCards(cards, {run}, options.units, runs_on));
  if (HasBudget(options)) limits.push_back(BudgetLimit(options, 0, ""));
  return limits;
}

Limit BudgetLimit(const Options& options, int64_t present_bytes, std::string_view what) {
  Limit limit{Limit::Kind::kBudget, "", options.budget_bytes.value_or(0)};
  if (!options.budget_percent) return limit;
  limit.bytes = ShareOf(present_bytes, *options.budget_percent);
  limit.percent = options.budget_percent;
  limit.of_bytes = present_bytes;
  limit.of_what = what;
  return limit;
}

bool HasBudget(const Options& options) { return options.budget_bytes || options.budget_percent; }

bool HasLimit(const Options& options) {
  return HasBudget(options) || !options.gpus.empty() || options.gpu_memory_bytes;
}

}  // namespace onnx_mem
