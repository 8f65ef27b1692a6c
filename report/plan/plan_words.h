// What the screen of a plan says in sentences: costs, limits, why there is no plan, what is proven.
#ifndef ONNX_MEM_REPORT_PLAN_PLAN_WORDS_H_
#define ONNX_MEM_REPORT_PLAN_PLAN_WORDS_H_

#include <string>
#include <string_view>

#include "report/parts/screen.h"
#include "report/plan/plan_part.h"
#include "report/plan/plan_report.h"

namespace onnx_mem {

int64_t BytesOf(const PlanPart& part, const Measured& measured);         // what the budget limits
std::string LineName(const PlanPart& part);                              // "on the GPU"
std::string MoreOf(const PlanPart& part, double slowdown);               // "+5.5 % time", as the request counts it
std::string BothPrices(const PlanPart& part, const Measured& measured);  // "+5.5 % time (+4.0 % compute)"
std::string Limits(const PlanPart& part, const Screen& screen);          // "budget 4.00 GiB, at most +10.0 % compute"

// A line in bold.
std::string TitleLine(std::string_view text, const Screen& screen);

// Paragraphs, each with its last newline; "" where there is nothing to say.
std::string NoPlanText(const PlanPart& part, const Screen& screen);
// Whose bytes those of a step over several cards are.
std::string RanksText(const PlanPart& part, const Screen& screen);
// What the chosen plan needs of the environment.
std::string NeedsText(const PlanPart& part, const Screen& screen);
// The plan that the caching allocator's other setting allows, and the option that chooses it.
std::string SettingText(const PlanPart& part, const Screen& screen);
// The plan for a card with no more than the budget.
std::string CardText(const PlanPart& part, const Screen& screen);
// What the chosen plan checkpoints, of at most so many rows as `report` says.
std::string SegmentsText(const Report& report, const Screen& screen);
std::string ProofText(const PlanPart& part, const Screen& screen);
// What there was no effort for, where that may matter: the plan is not proven to be the best.
std::string NotSearchedText(const PlanPart& part, const Screen& screen);
std::string LargestBatchText(const PlanPart& part, const Screen& screen);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PLAN_PLAN_WORDS_H_
