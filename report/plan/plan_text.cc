// The screen of onnx-mem plan MODEL: what was chosen and why, what to checkpoint, the whole trade-off.
#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "planner/search/curve.h"
#include "report/analyze/answer.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/plan/plan_report.h"
#include "report/plan/plan_words.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kBar = 24;
constexpr size_t kSpark = 60;
constexpr size_t kRowsOfCurve = 12;  // of the curve, unless -n says otherwise
constexpr size_t kName = 36;

std::string Times(double slowdown) { return absl::StrFormat("x%.3f", 1 + slowdown); }

std::string ChosenText(const PlanPart& part, const Screen& screen) {
  const PlanAnswer& answer = part.answer;
  if (!answer.chosen) return NoPlanText(part, screen);
  const Measured& chosen = answer.plans[*answer.chosen].measured;
  const int64_t now = BytesOf(part, answer.baseline), then = BytesOf(part, chosen);
  const std::string limits = Limits(part, screen);
  const std::string indent(kIndent, ' ');
  if (answer.plans[*answer.chosen].segments.empty()) {
    const std::string why = !limits.empty() ? absl::StrFormat("no plan needed (%s)", limits)
                            : !answer.not_searched.empty()
                                ? "none of the plans that were looked at frees more than it costs"
                                : "nothing that checkpointing frees is worth its compute";
    return indent +
           Painted(absl::StrFormat("%s %s", FormatBytesIn(now, screen.units), LineName(part)), Paint::kBold, screen) +
           ": " + why + '\n';
  }
  const std::string name = "Chosen plan: ";
  const std::string size = absl::StrFormat("%s %s", FormatBytesIn(then, screen.units), LineName(part));
  const double change = now > 0 ? 100 * (1 - static_cast<double>(then) / static_cast<double>(now)) : 0;
  const std::string more =
      absl::StrFormat(" (now %s%s%s)", FormatBytesIn(now, screen.units), limits.empty() ? "" : ", ", limits);
  const std::string less = absl::StrFormat("-%.0f %%", change);
  const std::string price = absl::StrCat("for ", BothPrices(part, chosen));
  // What there is no room for has a second line.
  const size_t first = kIndent + name.size() + size.size() + more.size() + 3 + less.size();
  const std::string to_second = absl::StrCat("\n", indent, indent);
  const bool two_lines = first + 3 + price.size() > screen.width;
  return absl::StrCat(indent, name, Painted(size, Paint::kBold, screen), more, first > screen.width ? to_second : "   ",
                      less,
                      !two_lines             ? "   "
                      : first > screen.width ? " "
                                             : to_second,
                      price, "\n");
}

// "The CPU bounds the step: 41.0 ms of calls with the plan and 24.0 ms without, 12.0 ms and 11.0 ms on the GPU; by the
// longer of both +70.8 % time".
std::string CpuBoundText(const PlanPart& part, const Screen& screen) {
  const ModulePlan* plan = Chosen(part.answer);
  if (plan == nullptr || plan->segments.empty() || plan->measured.cpu_ns <= plan->measured.gpu_ns) return "";
  const Measured &with = plan->measured, &without = part.answer.baseline;
  return Sentence(absl::StrFormat("The CPU bounds the step: %s of calls with the plan and %s without, %s and %s on the "
                                  "GPU; by the longer of both %+.1f %% time",
                                  ShortTime(with.cpu_ns), ShortTime(without.cpu_ns), ShortTime(with.gpu_ns),
                                  ShortTime(without.gpu_ns), 100 * with.wall_slowdown),
                  screen);
}

// "With the plan the budget has room for seq up to 640, without it up to 512".
std::string LargestSizeText(const PlanPart& part, const Screen& screen) {
  if (!part.largest_size) return "";
  const LargestSize& largest = *part.largest_size;
  return Sentence(absl::StrFormat("With the plan the budget has room for %s up to %d, without it up to %d",
                                  largest.over, largest.size, largest.without_plan),
                  screen);
}

// The chosen plan, and below it what would be cheaper: with another setting, on a card of the budget's size.
std::string AnswerText(const PlanPart& part, const Screen& screen) {
  return ChosenText(part, screen) + LargestSizeText(part, screen) + CpuBoundText(part, screen) +
         RanksText(part, screen) + NeedsText(part, screen) + SettingText(part, screen) + CardText(part, screen);
}

// Rows of the curve to show: the first, the last, the chosen one, and the rest evenly; plans of custom that are beaten
// have a line of their own.
std::vector<size_t> ShownRows(const Report& report) {
  const PlanAnswer& answer = std::get<PlanPart>(report.part).answer;
  std::vector<size_t> curve;
  for (size_t i = 0; i < answer.plans.size(); ++i) {
    const ModulePlan& plan = answer.plans[i];
    if (!plan.dominated || answer.chosen == i || plan.method == "given" || plan.segments.empty()) curve.push_back(i);
  }
  const size_t most = report.top_given ? static_cast<size_t>(report.top) : kRowsOfCurve;
  if (most == 0 || curve.size() <= most || most < 2) return curve;
  std::set<size_t> shown;
  if (answer.chosen) shown.insert(*answer.chosen);
  for (size_t i : curve) {
    if (answer.plans[i].method == "given") shown.insert(i);
  }
  for (size_t i = 0; i < most; ++i) shown.insert(curve[i * (curve.size() - 1) / (most - 1)]);
  return {shown.begin(), shown.end()};
}

std::string CurveText(const Report& report, const Screen& screen) {
  const PlanPart& part = std::get<PlanPart>(report.part);
  const PlanAnswer& answer = part.answer;
  TextTable table;
  table.columns = {{},
                   {.shrinks = true},
                   {.right = true},
                   {.right = true, .optional = true},
                   {.right = true},
                   {.right = true, .optional = true},
                   {.optional = true},
                   {}};
  table.rows = {{"", "", "on the GPU", "alive", "compute", "time", "", ""}};
  const std::vector<size_t> rows = ShownRows(report);
  for (size_t i : rows) {
    const ModulePlan& plan = answer.plans[i];
    const int64_t whole = BytesOf(part, answer.baseline);
    const double bytes = whole > 0 ? static_cast<double>(BytesOf(part, plan.measured)) / static_cast<double>(whole) : 0;
    const std::string mark = answer.chosen == i                ? "<- chosen"
                             : &plan == &LeastOf(answer.plans) ? "<- least"
                             : plan.method == "given"          ? "<- given"
                                                               : "";
    table.rows.push_back({answer.chosen == i ? ">" : "", Shortened(plan.label, kName, screen.utf8),
                          FormatBytesIn(plan.measured.device_bytes, screen.units),
                          FormatBytesIn(plan.measured.peak_bytes, screen.units), Times(plan.measured.flops_slowdown),
                          Times(plan.measured.time_slowdown), Bar(bytes, kBar, screen.utf8), mark});
  }
  std::string text = TitleLine("Trade-off", screen);
  text += AlignedText(std::move(table), kIndent, kGap, screen);
  size_t left_out = 0;
  for (const ModulePlan& plan : answer.plans) left_out += !plan.dominated;
  if (left_out > rows.size()) {
    absl::StrAppendFormat(&text, "%s(%d more: -n 0)\n", std::string(2 * kIndent, ' '), left_out - rows.size());
  }
  return text;
}

// "all stages: 3.76 GiB at x1.327, beaten by "layer1, layer2.0" (3.70 GiB at x1.104)".
std::string BeatenText(const PlanPart& part, const Screen& screen) {
  std::string text;
  for (const ModulePlan& custom : part.answer.plans) {
    if (!custom.dominated || custom.method != "hand") continue;
    const ModulePlan* better = nullptr;
    for (const ModulePlan& plan : part.answer.plans) {
      if (plan.dominated || BytesOf(part, plan.measured) > BytesOf(part, custom.measured)) continue;
      if (better == nullptr ||
          CostOn(part.request.cost_line, plan.measured) < CostOn(part.request.cost_line, better->measured))
        better = &plan;
    }
    if (better == nullptr) continue;
    text += Sentence(
        absl::StrFormat("Not worth it: %s: %s at x%.3f; \"%s\" takes %s at x%.3f", custom.label,
                        FormatBytesIn(BytesOf(part, custom.measured), screen.units), 1 + custom.measured.slowdown,
                        better->label, FormatBytesIn(BytesOf(part, better->measured), screen.units),
                        1 + better->measured.slowdown),
        screen);
  }
  return text;
}

std::string CourseText(const Report& report, const Screen& screen) {
  const PartSummary& without = *report.runs.front().training;
  const std::vector<int64_t>& with = std::get<PlanPart>(report.part).live_bytes;
  if (with.empty() || without.live_bytes.empty()) return "";
  const size_t width = std::min(kSpark, screen.width - 4 * kIndent);
  const auto columns = [&](const std::vector<int64_t>& live) {
    const PhaseSpan whole{Phase::kForward, static_cast<int64_t>(live.size())};
    return ColumnsOf(live, {whole}, width).bytes;
  };
  // Both on one scale: a last glyph sets it and is cut off again.
  const int64_t top = without.peak_bytes;
  const auto drawn = [&](const std::vector<int64_t>& live) {
    std::vector<int64_t> bytes = columns(live);
    bytes.push_back(top);
    const std::string line = Sparkline(bytes, screen.utf8);
    return line.substr(0, line.size() - (screen.utf8 ? 3 : 1));
  };
  return absl::StrFormat("%swithout  %s\n%splan     %s\n", std::string(kIndent, ' '), drawn(without.live_bytes),
                         std::string(kIndent, ' '), drawn(with));
}

}  // namespace

std::vector<std::string> PlanAnswerLines(const Report& report, const Screen& screen) {
  Screen plain = screen;
  plain.color = false;
  plain.width = std::numeric_limits<size_t>::max() / 2;  // a sentence is a line
  std::vector<std::string> lines;
  for (const std::string& line : std::vector<std::string>(
           absl::StrSplit(AnswerText(std::get<PlanPart>(report.part), plain), '\n', absl::SkipWhitespace()))) {
    lines.emplace_back(absl::StripAsciiWhitespace(line));
  }
  return lines;
}

std::string PlanText(const Report& report, const Screen& screen) {
  const PlanPart& part = std::get<PlanPart>(report.part);
  std::string text;
  for (const std::string& piece :
       {LargestBatchText(part, screen), AnswerText(part, screen) + PlanHeldText(part, screen),
        SegmentsText(report, screen), CurveText(report, screen) + BeatenText(part, screen),
        ProofText(part, screen) + NotSearchedText(part, screen), CourseText(report, screen)}) {
    if (piece.empty()) continue;
    if (!text.empty()) text += '\n';
    text += piece;
  }
  return text;
}

}  // namespace onnx_mem
