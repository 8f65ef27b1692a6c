#include "planner/plans/search/curve.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onnx_mem {
namespace {

ModulePlan Plan(std::string label, int64_t live, int64_t device, int64_t flops, std::string method = "chain") {
  ModulePlan plan;
  plan.method = std::move(method);
  plan.label = std::move(label);
  plan.measured.peak_bytes = live;
  plan.measured.device_bytes = device;
  plan.measured.recompute_flops = flops;
  plan.measured.slowdown = static_cast<double>(flops) / 100;
  if (plan.label != "none") plan.segments.emplace_back();
  return plan;
}

std::vector<std::string> LabelsOf(const std::vector<ModulePlan>& curve) {
  std::vector<std::string> labels;
  for (const ModulePlan& plan : curve) labels.push_back(plan.label + (plan.dominated ? "!" : ""));
  return labels;
}

using Names = std::vector<std::string>;

TEST(MakeCurve, KeepsWhatNothingBeats) {
  const auto curve = MakeCurve({Plan("b", 60, 160, 20), Plan("none", 100, 200, 0), Plan("worse", 70, 170, 25),
                                Plan("a", 80, 180, 10)}, BudgetLine::kLive, CostLine::kFlops);
  EXPECT_EQ(LabelsOf(curve), (Names{"none", "a", "b"}));
  EXPECT_EQ(curve[2].id, 2);
}

TEST(MakeCurve, KeepsHabitsAndMarksThem) {
  const auto curve = MakeCurve({Plan("none", 100, 200, 0), Plan("all stages", 90, 190, 30, "habit"),
                                Plan("a", 80, 180, 10)}, BudgetLine::kLive, CostLine::kFlops);
  EXPECT_EQ(LabelsOf(curve), (Names{"none", "all stages!", "a"}));
}

TEST(MakeCurve, NoneStaysWhenAPlanWithoutFlopsBeatsIt) {
  const auto curve =
      MakeCurve({Plan("none", 100, 200, 0), Plan("pool", 90, 190, 0)}, BudgetLine::kDevice, CostLine::kFlops);
  EXPECT_EQ(LabelsOf(curve), (Names{"none!", "pool"}));
}

TEST(Choose, TheCheapestWithinTheBudget) {
  const auto curve = MakeCurve({Plan("none", 100, 200, 0), Plan("a", 80, 180, 10), Plan("b", 60, 160, 20)},
                               BudgetLine::kDevice, CostLine::kFlops);
  PlanRequest request;
  request.budget_bytes = 185;
  EXPECT_EQ(Choose(curve, request), 1);
  request.budget_bytes = 160;
  EXPECT_EQ(Choose(curve, request), 2);
  request.budget_bytes = 159;
  EXPECT_EQ(Choose(curve, request), std::nullopt);
  request.budget_bytes = 400;
  EXPECT_EQ(Choose(curve, request), 0);
  request.budget_line = BudgetLine::kLive;
  request.budget_bytes = 85;
  EXPECT_EQ(Choose(curve, request), 1);
}

TEST(Choose, TheLeastWithinTheSlowdown) {
  const auto curve = MakeCurve({Plan("none", 100, 200, 0), Plan("a", 80, 180, 10), Plan("b", 60, 160, 20)},
                               BudgetLine::kDevice, CostLine::kFlops);
  PlanRequest request;
  request.max_slowdown = 0.15;
  EXPECT_EQ(Choose(curve, request), 1);
  request.budget_bytes = 170;
  EXPECT_EQ(Choose(curve, request), std::nullopt);
}

TEST(Choose, TheKneeWithoutALimit) {
  const auto curve = MakeCurve({Plan("none", 100, 200, 0), Plan("knee", 45, 145, 5), Plan("c", 40, 140, 40)},
                               BudgetLine::kDevice, CostLine::kFlops);
  PlanRequest request;
  request.cost_line = CostLine::kFlops;
  EXPECT_EQ(Choose(curve, request), 1);
}

}  // namespace
}  // namespace onnx_mem
