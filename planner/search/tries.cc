#include "planner/search/tries.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "planner/code/describe.h"
#include "planner/search/search.h"

namespace onnx_mem {
namespace {

// Until when, in shares of the effort, the best sets by the other price are tried.
constexpr double kOtherPrice = 1.3;
// Of the effort, for plans over the whole trade-off.
constexpr double kRowShare = 0.6;

}  // namespace

// Over the whole trade-off first, which is the same for every budget, then for the budget. Square roots and Chen's
// sweep are ways for whole modules.
absl::Status Tries::TryCalls(Exact& exact, Front& front) {
  Record("none", front);
  if (!Uses("chain") && request_.method != "dag") return absl::OkStatus();
  const int64_t most = accountant_.baseline_figures().peak_bytes;
  RETURN_IF_ERROR(exact.TryNearRow(most, [this] { return effort_.Left(kRowShare); }, front));
  if (request_.budget_bytes) {
    const int64_t overhead = request_.budget_line == BudgetLine::kDevice ? accountant_.LeastDeviceBytes(0) : 0;
    RETURN_IF_ERROR(exact.TryNear(
        *request_.budget_bytes, request_.budget_line, overhead, most, [this] { return effort_.Left(1.0); }, front));
  }
  Record("exact", front);
  return absl::OkStatus();
}

// On live bytes the limits of segments tell nearly all. What is tried does not depend on the budget but for the set
// that they prove to be the best: so more budget never costs more.
absl::Status Tries::TryProposals(Exact& exact, Front& front) {
  Record("none", front);
  const auto until = [&](double share) { return [this, share] { return effort_.Left(share); }; };
  if (Uses("chain")) {
    const int64_t most = accountant_.baseline_figures().peak_bytes;
    RETURN_IF_ERROR(exact.TryRow(most, effort_.IsSmall(), until(0.6), front));
    const bool live = request_.budget_line == BudgetLine::kLive;
    if (live && request_.budget_bytes) RETURN_IF_ERROR(exact.TryFor(*request_.budget_bytes, front));
    if (exact.left() > 0) NoteCut(absl::StrCat("the best sets for ", exact.left(), " of a row of limits"));
    Record("exact", front);
  }
  for (const ProposalRow& row : ProposalRows()) {
    if (!Uses(row.name) && request_.method != "dag") continue;
    RETURN_IF_ERROR(TryRow(row, front));
    Record(row.name, front);
  }
  if (!Uses("dag")) return absl::OkStatus();
  for (const auto kind : {&Candidate::is_stage, &Candidate::is_block}) {
    RETURN_IF_ERROR(front.Try(Convention(profile_, kind), "dag"));
  }
  if (!effort_.Left(1.0)) NoteCut("local search");
  RETURN_IF_ERROR(SearchFromFront(profile_, until(1.0), front));
  if (Uses("chain")) RETURN_IF_ERROR(TryOtherPrice(until(kOtherPrice), front));
  Record("search", front);
  return absl::OkStatus();
}

// What the limits of segments do not tell of a plan, the device's fragments and inputs held for several, may favour
// the best sets by the other price: they and their neighbours are candidates too, measured by the request's. Where
// plans of a finer class are known, this is for the answer alone.
absl::Status Tries::TryOtherPrice(const std::function<bool()>& may_go_on, Front& front) {
  if (request_.plans_alone || effort_.IsSmall()) return absl::OkStatus();
  const CostLine other = request_.cost_line == CostLine::kTime ? CostLine::kFlops : CostLine::kTime;
  front.AnswerOnly(request_.budget_bytes);
  Exact exact(prover_, profile_, other);
  RETURN_IF_ERROR(exact.TryRow(accountant_.baseline_figures().peak_bytes, /*spread=*/false, may_go_on, front));
  return SearchFromFront(profile_, may_go_on, front);
}

void Tries::Record(std::string_view method, const Front& front) {
  if (!request_.budget_bytes) return;
  PlanAnswer::MethodResult method_result{
      .method = std::string(method), .work = accountant_.work() - done_before_, .cost = std::nullopt};
  for (const JudgedPlan& plan : front.plans(request_.budget_line)) {  // cheapest first
    if (method_result.cost || BytesOn(request_.budget_line, plan.score) > *request_.budget_bytes) continue;
    method_result.cost = plan.score.cost;
  }
  method_results_.push_back(std::move(method_result));
}

absl::Status Tries::TryRow(const ProposalRow& row, Front& front) {
  const double share = row.name == "chain" ? 0.8 : 0.7;
  if (row.always == 0 && !effort_.Left(share)) {  // to propose takes time too
    NoteCut(absl::StrCat("plans by \"", std::string(row.name), "\""));
    return absl::OkStatus();
  }
  std::vector<Choice> choices = row.propose(profile_);
  if (choices.empty()) return absl::OkStatus();
  const std::vector<Score> estimates = MostPromisingFirst(front, choices);
  const std::optional<size_t> within = CheapestWithin(estimates);
  size_t left_out = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    const bool first = i < static_cast<size_t>(row.always) || (row.always > 0 && i == within);
    const bool must = first && !request_.plans_alone;  // advice beside other figures has its effort and no more
    const bool may = effort_.Left(share);
    if (!front.IsPromising(estimates[i])) continue;
    if (!may && !must) {
      ++left_out;
      continue;
    }
    const int64_t before = accountant_.work();
    RETURN_IF_ERROR(front.Try(choices[i], row.name));
    if (!may && !effort_.IsSmall()) effort_.Forgive(accountant_.work() - before);
  }
  if (left_out == 0) return absl::OkStatus();
  NoteCut(absl::StrCat(left_out, " of ", choices.size(), " plans by \"", std::string(row.name), "\""));
  return absl::OkStatus();
}

// Should the effort end before the proposals do, those tried are spread over all of them. Their estimates.
std::vector<Score> Tries::MostPromisingFirst(const Front& front, std::vector<Choice>& choices) const {
  std::vector<std::pair<int64_t, size_t>> order;
  std::vector<Score> estimates;
  for (size_t i = 0; i < choices.size(); ++i) {
    estimates.push_back(Estimate(profile_, choices[i]));
    order.emplace_back(-front.GainOf(BudgetLine::kLive, estimates.back()), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Choice> sorted;
  std::vector<Score> scores;
  for (const auto& [gain, i] : order) {
    sorted.push_back(std::move(choices[i]));
    scores.push_back(estimates[i]);
  }
  choices = std::move(sorted);
  return scores;
}

std::optional<size_t> Tries::CheapestWithin(const std::vector<Score>& estimates) const {
  if (!request_.budget_bytes) return std::nullopt;
  const bool device = request_.budget_line == BudgetLine::kDevice;
  std::optional<size_t> best;
  for (size_t i = 0; i < estimates.size(); ++i) {
    const int64_t bytes = estimates[i].peak_bytes;
    if ((device ? accountant_.LeastDeviceBytes(bytes) : bytes) > *request_.budget_bytes) continue;
    if (!best || estimates[i].cost < estimates[*best].cost) best = i;
  }
  return best;
}

}  // namespace onnx_mem
