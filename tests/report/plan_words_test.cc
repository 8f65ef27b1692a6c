// What the screen of a plan says in sentences agrees with itself.
#include "report/plan/plan_words.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace onnx_mem {
namespace {

bool Says(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

constexpr int64_t kMebibyte = int64_t{1} << 20;

ModulePlan PlanOf(std::string label, int64_t device_mib, int64_t allocated_mib, double slowdown) {
  ModulePlan plan;
  plan.label = std::move(label);
  plan.measured.device_bytes = device_mib * kMebibyte;
  plan.measured.allocated_peak_bytes = allocated_mib * kMebibyte;
  plan.measured.slowdown = slowdown;
  if (slowdown > 0) plan.segments.emplace_back();
  return plan;
}

// Of 2 GiB: the least plan would fit but for the allocator's fragments. `class_cost`: of the cheapest set within the
// budget that the proof leaves possible.
PlanPart NothingFits(std::optional<int64_t> class_cost) {
  PlanPart part;
  part.request.budget_bytes = 2048 * kMebibyte;
  part.answer.plans = {PlanOf("none", 3600, 3500, 0), PlanOf("nine", 2370, 2040, 0.29),
                       PlanOf("each", 2370, 2040, 0.6)};
  part.answer.plans.back().dominated = true;
  part.answer.status = class_cost ? PlanStatus::kNotFound : PlanStatus::kInfeasible;
  ClassBound& bound = part.answer.class_bound.emplace();
  bound.name = "module-level segments";
  bound.candidates = 108;
  bound.floor_bytes = (class_cost ? 1900 : 2050) * kMebibyte;
  bound.cost = class_cost;
  part.answer.infeasible_class = class_cost ? "" : "module-level segments";
  part.answer.minimum_bytes = 1024 * kMebibyte;
  part.answer.fits_but_fragments = part.answer.plans[1];
  return part;
}

TEST(NoPlanText, WhatIsProvenImpossibleIsNotCalledPossible) {
  const std::string text = NoPlanText(NothingFits(std::nullopt), Screen{});
  EXPECT_TRUE(Says(text, "proven for all sets of 108 candidates")) << text;
  EXPECT_TRUE(Says(text, "But for fragments \"nine\" would fit: it needs 1.99 GiB")) << text;
  EXPECT_FALSE(Says(text, "Not proven impossible")) << text;
}

TEST(SettingText, OffersWhatAnOptionChooses) {
  PlanPart part = NothingFits(1);
  part.answer.chosen = 1;
  EXPECT_EQ(SettingText(part, Screen{}), "");
  part.answer.with_expandable_segments = PlanOf("six", 1900, 1800, 0.05);
  part.answer.with_expandable_segments->settings = SettingsOf("pytorch-expandable");
  Screen wide;
  wide.width = 1000;
  EXPECT_EQ(SettingText(part, wide),
            "  Try --allocator pytorch-expandable: 1.86 GiB on the GPU for +5.0 % time, by \"six\", with "
            "PYTORCH_ALLOC_CONF=expandable_segments:True in the environment\n");
  EXPECT_EQ(NeedsText(part, wide), "") << "the offer's settings are not those of the chosen plan";
  part.answer.plans[1].settings = SettingsOf("pytorch-expandable");
  EXPECT_EQ(NeedsText(part, wide), "  Needs PYTORCH_ALLOC_CONF=expandable_segments:True in the environment\n");
}

TEST(NoPlanText, WhatIsOpenIsCalledSo) {
  const std::string text = NoPlanText(NothingFits(1), Screen{});
  EXPECT_TRUE(Says(text, "No plan found")) << text;
  EXPECT_TRUE(Says(text, "Not proven impossible: \"nine\" needs 1.99 GiB")) << text;
  EXPECT_FALSE(Says(text, "But for fragments")) << text;
}

// Moves to the host are outside the proof of sets of segments: both floors are reported, each with what it is of.
TEST(NoPlanText, TheProofOfSegmentsIsNoProofOfMoves) {
  PlanPart part = NothingFits(std::nullopt);
  part.request.offload = true;
  part.answer.status = PlanStatus::kNotFound;
  part.answer.infeasible_class.clear();
  const std::string text = NoPlanText(part, Screen{});
  EXPECT_TRUE(Says(text, "No plan found")) << text;
  EXPECT_TRUE(Says(text, "proven: none below 1.00 GiB, and without moves\n  to the host none below 2.00 GiB")) << text;
  EXPECT_FALSE(Says(text, "Not proven impossible")) << text;
}

// 2050 MiB and 2048 MiB read alike in GiB.
TEST(NoPlanText, AFloorThatReadsAsTheBudgetTellsByHowMuchItIsAbove) {
  const std::string text = NoPlanText(NothingFits(std::nullopt), Screen{});
  EXPECT_TRUE(Says(text, "none below 2.00 GiB (2.00 MiB above the")) << text;
}

TEST(NoPlanText, TheLeastFoundIsTheCheapestOfItsBytes) {
  const std::string text = NoPlanText(NothingFits(1), Screen{});
  EXPECT_TRUE(Says(text, "Least found: 2.31 GiB on the GPU for +29.0 % time")) << text;
  EXPECT_FALSE(Says(text, "+60.0 %")) << text;
}

TEST(NoPlanText, KeepsToTheWidth) {
  Screen screen;
  screen.width = 80;
  const std::string text = NoPlanText(NothingFits(std::nullopt), screen);
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(end - begin, screen.width) << text.substr(begin, end - begin);
  }
}

}  // namespace
}  // namespace onnx_mem
