#include "planner/search/curve.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/code/describe.h"

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
  const auto curve =
      MakeCurve({Plan("b", 60, 160, 20), Plan("none", 100, 200, 0), Plan("worse", 70, 170, 25), Plan("a", 80, 180, 10)},
                BudgetLine::kLive, CostLine::kFlops);
  EXPECT_EQ(LabelsOf(curve), (Names{"none", "a", "b"}));
  EXPECT_EQ(curve[2].id, 2);
}

TEST(MakeCurve, KeepsConventionsAndMarksThem) {
  const auto curve =
      MakeCurve({Plan("none", 100, 200, 0), Plan("all stages", 90, 190, 30, "hand"), Plan("a", 80, 180, 10)},
                BudgetLine::kLive, CostLine::kFlops);
  EXPECT_EQ(LabelsOf(curve), (Names{"none", "all stages!", "a"}));
}

TEST(MakeCurve, NoneStaysWhenAPlanWithoutFlopsBeatsIt) {
  const auto curve =
      MakeCurve({Plan("none", 100, 200, 0), Plan("pool", 90, 190, 0)}, BudgetLine::kDevice, CostLine::kFlops);
  EXPECT_EQ(LabelsOf(curve), (Names{"none!", "pool"}));
}

TEST(LeastOf, IsNoConventionThatAnotherBeats) {
  const auto curve = MakeCurve({Plan("none", 100, 200, 0), Plan("a", 80, 180, 10), Plan("all", 80, 180, 30, "hand")},
                               BudgetLine::kLive, CostLine::kFlops);
  EXPECT_EQ(LabelsOf(curve), (Names{"none", "a", "all!"}));
  EXPECT_EQ(LeastOf(curve).label, "a");
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

TEST(Choose, TheGivenPlanWhereItKeepsTheLimits) {
  const auto curve = MakeCurve(
      {Plan("none", 100, 200, 0), Plan("a", 80, 180, 10), Plan("mine", 85, 185, 30, "given"), Plan("b", 60, 160, 20)},
      BudgetLine::kDevice, CostLine::kFlops);
  ASSERT_EQ(LabelsOf(curve), (Names{"none", "mine!", "a", "b"}));
  PlanRequest request;
  EXPECT_EQ(Choose(curve, request), 1);
  request.budget_bytes = 185;
  EXPECT_EQ(Choose(curve, request), 1);
  request.budget_bytes = 184;
  EXPECT_EQ(Choose(curve, request), 2);
  request.budget_bytes = 185;
  request.max_slowdown = 0.2;
  EXPECT_EQ(Choose(curve, request), 2);
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

// Whatever is requested and whatever was found, unless the user named a plan: of all plans that take no more memory
// none costs less than the chosen.
TEST(Choose, NothingOfNoMoreBytesCostsLess) {
  std::minstd_rand random(7);
  const auto below = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint32_t>(most)); };
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<ModulePlan> found = {Plan("none", 100, 120, 0)};
    for (int64_t i = below(12); i >= 0; --i) {
      const char* const method = below(4) == 0 ? "hand" : below(6) == 0 ? "given" : "chain";
      found.push_back(Plan(absl::StrCat("p", i), 40 + below(60), 50 + below(80), below(50), method));
      Measured& m = found.back().measured;
      m.recompute_ns = below(50);
      m.offload_ns = below(3) == 0 ? below(20) : 0;
      m.slowdown = static_cast<double>(m.recompute_ns + m.offload_ns) / 100;
    }
    PlanRequest request;  // by the time, as is the default
    request.budget_line = below(2) == 0 ? BudgetLine::kLive : BudgetLine::kDevice;
    if (below(3) > 0) request.budget_bytes = 40 + below(90);
    if (below(3) == 0) request.max_slowdown = static_cast<double>(below(60)) / 100;
    const std::vector<ModulePlan> curve = MakeCurve(found, request.budget_line, request.cost_line);
    const std::optional<size_t> chosen = Choose(curve, request);
    bool some = false;
    const bool named = chosen && curve[*chosen].method == "given";  // by the user, whatever it costs
    for (const ModulePlan& plan : found) {
      const int64_t bytes = BytesOn(request.budget_line, plan.measured);
      const bool fits = (!request.budget_bytes || bytes <= *request.budget_bytes) &&
                        (!request.max_slowdown || plan.measured.slowdown <= *request.max_slowdown);
      some = some || fits;
      if (!chosen || named || bytes > BytesOn(request.budget_line, curve[*chosen].measured)) continue;
      EXPECT_GE(CostOn(request.cost_line, plan.measured), CostOn(request.cost_line, curve[*chosen].measured))
          << plan.label << " beats " << curve[*chosen].label << " in trial " << trial;
    }
    EXPECT_EQ(chosen.has_value(), some) << trial;
  }
}

ModulePlan Keeping(std::string label, size_t calls) {
  ModulePlan plan;
  plan.label = std::move(label);
  plan.segments.resize(1);
  plan.segments.front().segment.keep_calls.resize(calls);
  return plan;
}

TEST(Curve, EqualLabelsAreToldApart) {
  std::vector<ModulePlan> plans = {Keeping("none", 0),       Keeping("h.0", 0),        Keeping("h.0", 1),
                                   Keeping("3 segments", 4), Keeping("3 segments", 4), Keeping("h.1", 2)};
  TellApart(plans);
  std::vector<std::string> labels;
  for (const ModulePlan& plan : plans) labels.push_back(plan.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"none", "h.0", "h.0 keeping 1 call", "3 segments keeping 4 calls",
                                              "3 segments keeping 4 calls (2)", "h.1"}));
}

}  // namespace
}  // namespace onnx_mem
