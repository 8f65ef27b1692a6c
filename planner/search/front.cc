#include "planner/search/front.h"

#include <algorithm>
#include <limits>

#include "analyzer/graph/status_macros.h"

namespace onnx_mem {

int64_t BytesOn(BudgetLine line, const Score& score) {
  return line == BudgetLine::kDevice ? score.device_bytes : score.peak_bytes;
}

int64_t Front::GainOf(BudgetLine line, const Score& score) const {
  int64_t bytes = std::numeric_limits<int64_t>::max();
  for (const JudgedPlan& plan : plans(line)) {
    if (plan.score.cost > score.cost) break;
    bytes = BytesOn(line, plan.score);
  }
  return bytes - BytesOn(line, score);
}

bool Front::IsPromising(const Score& estimate) const {
  if (GainOf(BudgetLine::kLive, estimate) > 0) return true;
  if (line_ == BudgetLine::kLive) return false;
  Score least = estimate;
  least.device_bytes = accountant_.LeastDeviceBytes(estimate.peak_bytes);
  return GainOf(BudgetLine::kDevice, least) > 0;
}

absl::Status Front::Try(const Choice& choice, std::string_view method) {
  const auto [known, is_new] = tried_.try_emplace(choice);
  if (!is_new) return absl::OkStatus();
  if (const std::optional<Score> least = BeatenScore(choice)) {
    known->second = {.score = *least, .beaten = true};
    AddBeaten({.choice = choice, .score = *least, .method = std::string(method), .beaten = true});
    return absl::OkStatus();
  }
  const std::vector<Segment> segments = SegmentsOf(profile_, choice);
  ASSIGN_OR_RETURN(Accountant::Judged judged, accountant_.Judge(segments));
  JudgedPlan plan{choice, judged.score, std::string(method)};
  known->second.score = plan.score;
  const bool gains = GainOf(BudgetLine::kLive, plan.score) > 0;
  Insert(BudgetLine::kLive, plan);
  if (line_ == BudgetLine::kLive) {  // a point of the curve, maybe
    return gains ? accountant_.MeasureAhead(segments, std::move(judged)) : absl::OkStatus();
  }
  known->second.score.device_bytes = plan.score.device_bytes = accountant_.LeastDeviceBytes(plan.score.peak_bytes);
  if (GainOf(BudgetLine::kDevice, plan.score) <= 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(plan.measured, accountant_.MeasureJudged(segments, std::move(judged)));
  known->second.measured = plan.measured;
  known->second.score.device_bytes = plan.score.device_bytes = plan.measured->device_bytes;
  Insert(BudgetLine::kDevice, plan);
  return absl::OkStatus();
}

std::optional<Score> Front::BeatenScore(const Choice& choice) const {
  if (finer_ == nullptr || choice.empty()) return std::nullopt;
  Score least = least_of_(choice);
  if (line_ == BudgetLine::kDevice) least.device_bytes = accountant_.LeastDeviceBytes(least.peak_bytes);
  if (!MayAnswer(least)) return least;
  const int64_t bytes = BytesOn(line_, least);
  for (const JudgedPlan& plan : finer_->plans(line_)) {
    const int64_t has = BytesOn(line_, plan.score);
    if (plan.score.cost > least.cost) break;
    if (!plan.beaten && has <= bytes && (has < bytes || plan.score.cost < least.cost)) return least;
  }
  return std::nullopt;
}

bool Front::MayAnswer(const Score& least) const {
  if (!budget_bytes_) return true;
  const std::vector<JudgedPlan>& known = finer_->plans(line_);
  const auto answer = std::find_if(known.begin(), known.end(), [&](const JudgedPlan& plan) {  // the cheapest
    return BytesOn(line_, plan.score) <= *budget_bytes_;
  });
  if (answer == known.end()) return BytesOn(line_, least) <= BytesOn(line_, known.back().score);
  return BytesOn(line_, least) <= *budget_bytes_ && least.cost <= answer->score.cost;
}

void Front::AddBeaten(JudgedPlan plan) {
  accountant_.CountEnactment();
  if (!MayAnswer(plan.score)) return;  // the curve keeps what is there
  Insert(BudgetLine::kLive, plan);
  if (line_ == BudgetLine::kLive || GainOf(BudgetLine::kDevice, plan.score) <= 0) return;
  accountant_.CountReplay();
  Insert(BudgetLine::kDevice, plan);
}

void Front::Insert(BudgetLine line, const JudgedPlan& plan) {
  // At equal figures the first one found stays.
  if (GainOf(line, plan.score) <= 0) return;
  std::vector<JudgedPlan>& on_line = plans(line);
  std::erase_if(on_line, [&](const JudgedPlan& other) {
    return other.score.cost >= plan.score.cost && BytesOn(line, other.score) >= BytesOn(line, plan.score);
  });
  const auto place = std::find_if(on_line.begin(), on_line.end(),
                                  [&](const JudgedPlan& other) { return other.score.cost > plan.score.cost; });
  on_line.insert(place, plan);
}

}  // namespace onnx_mem
