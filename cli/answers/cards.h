// --gpu, --gpu-memory, --budget -> what a run is held against: each card with what it has, and a run as it is on each.
#ifndef ONNX_MEM_CLI_ANSWERS_CARDS_H_
#define ONNX_MEM_CLI_ANSWERS_CARDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/study/study.h"
#include "cli/answers/local_card.h"
#include "cli/options/options.h"
#include "report/analyze/report.h"

namespace onnx_mem {

struct Card {
  std::string name;                     // "" for a size
  std::optional<Gpu> gpu;               // unset where the table does not have it
  std::optional<LocalCard> local;       // that is in this machine
  std::optional<int64_t> memory_bytes;  // as nvidia-smi shows it
  int64_t usable_bytes = 0;
};

// Those of --gpu in their order, then --gpu-memory. Errors: those of FindGpu and ReadLocalGpus.
absl::StatusOr<std::vector<Card>> CardsOf(const Options& options);

Limit LimitOf(const Card& card, ByteUnit units);

// The version of the driver that has such a card among `here`, those of this machine; "" where none has.
std::string DriverOf(const Card& card, const std::vector<LocalGpu>& here);

// `workload` as it runs on `card`: what of a run depends on the card.
Workload OnCard(Workload workload, const Card& card);
// On the first of `cards`; as it is where there are none.
Workload OnFirstCard(Workload workload, const std::vector<Card>& cards);
// The options' own on the first of `cards`, at their first batch: what an answer about one run is about.
Workload FirstWorkload(const Options& options, const std::vector<Card>& cards);

// A run needs the same on both.
bool RunsAlike(const Card& a, const Card& b);

// The limits of `cards`, each with what `runs_on` measures there, once for those that run alike. `runs` are those on
// the first card. Errors: those of `runs_on`.
using RunsOn = absl::FunctionRef<absl::StatusOr<std::vector<RunSummary>>(const Card& card)>;
absl::StatusOr<std::vector<Limit>> LimitsOnCards(const std::vector<Card>& cards, const std::vector<RunSummary>& runs,
                                                 ByteUnit units, RunsOn runs_on);

// Those of one run of `study` with `workload`, and the budget.
absl::StatusOr<std::vector<Limit>> LimitsOfRun(Study& study, const RunSummary& run, const Workload& workload,
                                               const std::vector<Card>& cards, const Options& options);

// --budget, where it is a share of `present_bytes`: what `what` takes now ("without the plan"; "" for the run itself).
Limit BudgetLimit(const Options& options, int64_t present_bytes, std::string_view what);
bool HasBudget(const Options& options);
// A card or a budget: then the whole range of a run is read.
bool HasLimit(const Options& options);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ANSWERS_CARDS_H_
