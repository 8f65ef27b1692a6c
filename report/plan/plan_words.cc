#include "report/plan/plan_words.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "planner/search/curve.h"
#include "report/analyze/answer.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

// "Try --granularity op: 3.10 GiB on GPU for +4.0 % compute", or how near that comes.
std::string FinerText(const PlanPart& part, const Screen& screen) {
  if (!part.answer.with_op) return "";
  const Measured& finer = part.answer.with_op->measured;
  const bool fits = (!part.request.budget_bytes || BytesOf(part, finer) <= *part.request.budget_bytes) &&
                    (!part.request.max_slowdown || finer.slowdown <= *part.request.max_slowdown);
  if (!fits && BytesOf(part, finer) >= BytesOf(part, LeastOf(part.answer.plans).measured)) return "";
  return absl::StrFormat("%s%s --granularity op: %s %s for %s\n", std::string(kIndent, ' '),
                         fits ? "Try" : "Not enough either:", FormatBytesIn(BytesOf(part, finer), screen.units),
                         LineName(part), MoreOf(part, finer.slowdown));
}

// Blocks alive, rounded, with workspaces and context: what the allocator hands out, and nothing that it keeps.
int64_t LeastOnDevice(const PlanPart& part, const Measured& measured) {
  return measured.allocated_peak_bytes + part.answer.context_bytes;
}

std::string Quoted(const ModulePlan& plan) {
  return plan.segments.empty() ? "the step as it is" : absl::StrFormat("\"%s\"", plan.label);
}

// " for +4.6 % compute", "" for nothing.
std::string ForMore(const PlanPart& part, const ModulePlan& plan) {
  return plan.segments.empty() ? "" : " for " + MoreOf(part, plan.measured.slowdown);
}

// The proof for all sets of segments, whether or not it is the answer's: what moves to the host is outside it.
bool NoneOfTheClass(const PlanPart& part) {
  return part.request.budget_bytes && part.answer.class_bound && !part.answer.class_bound->cost;
}

// What is certain fits, what the allocator makes of it does not.
std::string FragmentsText(const PlanPart& part, const Screen& screen) {
  if (!part.answer.fits_but_fragments) return "";
  const ModulePlan& plan = *part.answer.fits_but_fragments;
  const int64_t least = LeastOnDevice(part, plan.measured);
  const std::string needs = absl::StrFormat("%s with workspaces and context", FormatBytesIn(least, screen.units));
  const std::string fragments = absl::StrFormat("%s of fragments in the allocator's segments come on top",
                                                FormatBytesIn(plan.measured.device_bytes - least, screen.units));
  const std::string text =
      NoneOfTheClass(part)
          ? absl::StrFormat("But for fragments %s would fit: it needs %s; %s", Quoted(plan), needs, fragments)
          : absl::StrFormat("Not proven impossible: %s needs %s; %s and do not fit", Quoted(plan), needs, fragments);
  return Sentence(text, screen, kIndent);
}

// "2.00 GiB (3.1 MiB above the budget)" where both would read alike.
std::string Proven(const PlanPart& part, int64_t bytes, const Screen& screen) {
  const std::string text = FormatBytesIn(bytes, screen.units);
  const int64_t budget = part.request.budget_bytes.value_or(bytes);
  if (bytes <= budget || text != FormatBytesIn(budget, screen.units)) return text;
  return absl::StrFormat("%s (%s above the budget)", text, FormatBytesIn(bytes - budget, screen.units));
}

// "; proven: none below 2.00 GiB". Of plans that move to the host less is known.
std::string FloorText(const PlanPart& part, const Screen& screen) {
  const PlanAnswer& answer = part.answer;
  const int64_t floor = std::max(answer.minimum_bytes, answer.class_bound ? answer.class_bound->floor_bytes : 0);
  if (!part.request.offload || floor == answer.minimum_bytes)
    return absl::StrCat("; proven: none below ", Proven(part, floor, screen));
  return absl::StrFormat("; proven: none below %s, and without moves to the host none below %s",
                         Proven(part, answer.minimum_bytes, screen), Proven(part, floor, screen));
}

std::string SmallerBatchText(const PlanPart& part, const Screen& screen) {
  if (!part.smaller_batch) return "";
  const auto& [batch, plan] = *part.smaller_batch;
  return Sentence(
      absl::StrFormat("Try --batch %d: %s takes %s %s%s", batch, Quoted(plan),
                      FormatBytesIn(BytesOf(part, plan.measured), screen.units), LineName(part), ForMore(part, plan)),
      screen, kIndent);
}

// A proven least cost as a share of the step, from that of the chosen plan.
std::string AtLeast(const PlanPart& part, int64_t bound) {
  const bool time = part.request.cost_line == CostLine::kTime;
  const Measured& chosen = part.answer.plans[*part.answer.chosen].measured;
  const int64_t cost = time ? chosen.recompute_ns + chosen.offload_ns : chosen.recompute_flops;
  return MoreOf(part, cost > 0 ? chosen.slowdown * static_cast<double>(bound) / static_cast<double>(cost) : 0);
}

}  // namespace

int64_t BytesOf(const PlanPart& part, const Measured& measured) {
  return part.request.budget_line == BudgetLine::kDevice ? measured.device_bytes : measured.peak_bytes;
}

std::string LineName(const PlanPart& part) {
  return part.request.budget_line == BudgetLine::kDevice ? "on the GPU" : "alive";
}

// What a plan costs, as the request counts it.
std::string MoreOf(const PlanPart& part, double slowdown) {
  return absl::StrFormat("+%.1f %%", 100 * slowdown) +
         (part.request.cost_line == CostLine::kTime ? " time" : " compute");
}

std::string BothPrices(const PlanPart& part, const Measured& measured) {
  const bool time = part.request.cost_line == CostLine::kTime;
  return absl::StrFormat("%s (+%.1f %% %s)", MoreOf(part, measured.slowdown),
                         100 * (time ? measured.flops_slowdown : measured.time_slowdown), time ? "compute" : "time");
}

std::string Limits(const PlanPart& part, const Screen& screen) {
  std::vector<std::string> limits;
  if (part.request.budget_bytes) {
    limits.push_back(absl::StrFormat("budget %s", FormatBytesIn(*part.request.budget_bytes, screen.units)));
  }
  if (part.request.max_slowdown)
    limits.push_back(absl::StrFormat("at most %s", MoreOf(part, *part.request.max_slowdown)));
  return absl::StrJoin(limits, ", ");
}

// Why no plan answers, and how near the best one comes.
std::string NoPlanText(const PlanPart& part, const Screen& screen) {
  const PlanAnswer& answer = part.answer;
  const Measured& floor = LeastOf(answer.plans).measured;
  const bool by_class = answer.class_bound && answer.infeasible_class == answer.class_bound->name;
  const std::string limits = Limits(part, screen);
  std::string which, why;
  if (answer.status != PlanStatus::kInfeasible) {
    which = absl::StrCat(" found for ", limits);
  } else if (part.request.max_slowdown) {
    which = absl::StrFormat(" can have %s: proven for %s", limits, answer.infeasible_class);
  } else if (by_class) {
    which = absl::StrFormat(" of %s can fit %s: proven for all sets of %d candidates", answer.infeasible_class, limits,
                            answer.class_bound->candidates);
  } else {
    which = absl::StrFormat(" can fit %s: no checkpointing %sneeds less than %s", limits,
                            part.request.offload ? "and no move to the host " : "",
                            Proven(part, answer.minimum_bytes, screen));
    why = Sentence(absl::StrFormat("because of %s", answer.minimum_why), screen, kIndent);
  }
  constexpr std::string_view kNoPlan = "No plan";
  std::string text = Sentence(absl::StrCat("No plan", which), screen, kIndent) + why;
  text.replace(kIndent, kNoPlan.size(), Painted(kNoPlan, Paint::kRed, screen));
  std::string least = absl::StrFormat("Least found: %s %s for %s", FormatBytesIn(BytesOf(part, floor), screen.units),
                                      LineName(part), MoreOf(part, floor.slowdown));
  if (part.request.budget_bytes && (answer.infeasible_class.empty() || by_class)) least += FloorText(part, screen);
  text += Wrapped(least, screen.width, kIndent, kIndent);
  return text + '\n' + FragmentsText(part, screen) + FinerText(part, screen) + SmallerBatchText(part, screen);
}

// "Not searched, for lack of effort: local search (--iterations N looks further)".
std::string NotSearchedText(const PlanPart& part, const Screen& screen) {
  const PlanAnswer& answer = part.answer;
  // To keep everything costs nothing: that is no proof that a plan would not be worth its price.
  const bool kept = answer.chosen && answer.plans[*answer.chosen].segments.empty() && !part.request.budget_bytes;
  const bool proven = answer.optimal || answer.status == PlanStatus::kInfeasible;
  if (answer.not_searched.empty() || (proven && !kept)) return "";
  return Sentence(absl::StrFormat("Not searched, for lack of effort: %s (--iterations N looks further)",
                                  absl::StrJoin(answer.not_searched, "; ")),
                  screen);
}

std::string RanksText(const PlanPart& part, const Screen& screen) {
  if (!part.answer.spread) return "";
  const SpreadPlan& spread = *part.answer.spread;
  return Sentence(absl::StrCat("Per rank: bytes are those of ", spread.whose,
                               spread.units.empty() ? "" : "; segments lie inside FSDP's units",
                               spread.split.empty() ? "" : "; layers that --tp splits lie inside segments",
                               StagesWords(spread), "; times are without communication",
                               spread.received ? MoreTrafficWords(*spread.received, screen.units) : ""),
                  screen);
}

std::string NeedsText(const PlanPart& part, const Screen& screen) {
  const ModulePlan* plan = Chosen(part.answer);
  if (plan == nullptr || plan->settings.empty()) return "";
  return Sentence(absl::StrFormat("Needs %s in the environment", TextOf(plan->settings)), screen);
}

// "Try --allocator pytorch-expandable: 3.90 GiB on the GPU for +5.5 % time, by "layer1", with
// PYTORCH_ALLOC_CONF=expandable_segments:True in the environment".
std::string SettingText(const PlanPart& part, const Screen& screen) {
  const std::optional<ModulePlan>& plan = part.answer.with_expandable_segments;
  if (!plan) return "";
  const std::string allocator = AllocatorWith(plan->settings).value_or("");
  return Sentence(absl::StrFormat("Try --allocator %s: %s on the GPU%s, %s, with %s in the environment", allocator,
                                  FormatBytesIn(plan->measured.device_bytes, screen.units), ForMore(part, *plan),
                                  plan->segments.empty() ? Quoted(*plan) : absl::StrCat("by ", Quoted(*plan)),
                                  TextOf(plan->settings)),
                  screen);
}

std::string CardText(const PlanPart& part, const Screen& screen) {
  if (!part.answer.on_such_a_card) return "";
  const auto& [plan, run] = *part.answer.on_such_a_card;
  const std::string often = run.retries_per_step == 0 ? "in the first steps only"
                            : run.retries_per_step == 1
                                ? "once a step, which takes time"
                                : absl::StrFormat("%d times a step, which takes time", run.retries_per_step);
  return Sentence(absl::StrFormat("A card of only %s runs %s%s: PyTorch gives its cache back when memory is full, %s "
                                  "(-f json has its segments)",
                                  FormatBytesIn(*part.request.budget_bytes, screen.units), Quoted(plan),
                                  ForMore(part, plan), often),
                  screen, kIndent);
}

namespace {

// What each method of the ladder brought the plan down to: "sqrt +18.8 % (gap 9.7 %), search +17.6 % (8.7 %)".
std::string LadderText(const PlanPart& part, const Screen& screen) {
  std::vector<std::string> steps;
  std::optional<int64_t> best;
  for (const PlanAnswer::MethodResult& method_result : part.answer.method_results) {
    if (!method_result.cost || (best && *method_result.cost >= *best)) continue;
    best = method_result.cost;
    std::string step = absl::StrCat(method_result.method, " ", AtLeast(part, *method_result.cost));
    if (part.answer.class_bound) absl::StrAppendFormat(&step, ", gap %.1f %%", 100 * method_result.gap);
    steps.push_back(std::move(step));
  }
  if (steps.size() < 2) return "";
  return Sentence(absl::StrCat("Found by method: ", absl::StrJoin(steps, "; "), "."), screen);
}

}  // namespace

// How far the chosen plan is from what cannot be beaten, and what could be had if anything could run at any time.
std::string ProofText(const PlanPart& part, const Screen& screen) {
  const PlanAnswer& answer = part.answer;
  if (!answer.chosen || answer.plans[*answer.chosen].segments.empty()) return "";
  if (answer.spread) {  // the bounds are of a step on one card
    return Sentence("The cheapest plan found. That none is cheaper is not proven for a step over several cards.",
                    screen);
  }
  const std::string within = part.request.budget_bytes ? "the budget" : "its memory";
  const bool time = part.request.cost_line == CostLine::kTime;
  std::string text;
  if (answer.optimal) {
    text = absl::StrFormat("Proven optimal among %s", answer.optimal_class);
    const bool in_class = answer.class_bound && answer.optimal_class == answer.class_bound->name;
    text += in_class ? absl::StrFormat(" (all sets of %d candidates).", answer.class_bound->candidates) : ".";
  } else if (answer.class_bound && answer.class_bound->cost) {
    const bool moves = answer.plans[*answer.chosen].measured.host_bytes > 0;  // which no bound is of
    text = absl::StrFormat("Proven%s: within %s no set of %s takes less than %s", moves ? " of second runs alone" : "",
                           within, answer.class_bound->name, AtLeast(part, *answer.class_bound->cost));
    text += moves ? "." : absl::StrFormat("; gap %.1f %%.", 100 * answer.class_bound->gap);
  }
  if (!answer.optimal || (answer.class_bound && answer.optimal_class == answer.class_bound->name)) {
    const int64_t bound = time ? answer.lower_bound_recompute_ns : answer.lower_bound_recompute_flops;
    absl::StrAppendFormat(&text, "%sIf any operator could run again at any time, which no framework does: at least %s",
                          text.empty() ? "" : " ", AtLeast(part, bound));
    if (!answer.any_schedule) {
      text += '.';
    } else if (answer.any_schedule->optimal) {
      text += ", and that is enough.";
    } else {
      absl::StrAppendFormat(&text, ", found %s.", MoreOf(part, answer.any_schedule->slowdown));
    }
  }
  return LadderText(part, screen) + Sentence(text, screen);
}

std::string LargestBatchText(const PlanPart& part, const Screen& screen) {
  if (!part.largest_batch) return "";
  const LargestBatch& largest = *part.largest_batch;
  std::string text = absl::StrFormat("Largest batch within the budget: %d with a plan, %d without", largest.batch,
                                     largest.without_plan);
  const std::string what = absl::StrCat(std::string(NameOf(part.request.granularity)), "-level");
  if (largest.class_bound)
    absl::StrAppendFormat(&text, "; proven: no set of %s segments exceeds %d", what, *largest.class_bound);
  if (largest.bound) {
    absl::StrAppendFormat(&text, "%s %d", largest.class_bound ? ", no schedule" : "; proven: no checkpointing exceeds",
                          *largest.bound);
  }
  return Sentence(text, screen);
}

}  // namespace onnx_mem
