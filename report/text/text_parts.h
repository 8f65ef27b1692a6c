// The parts of the text report; text.cc puts them in order. Each returns whole lines, or "" when it has nothing.
#ifndef ONNX_MEM_REPORT_TEXT_TEXT_PARTS_H_
#define ONNX_MEM_REPORT_TEXT_TEXT_PARTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "report/analyze/report.h"
#include "report/parts/screen.h"

namespace onnx_mem {

inline constexpr size_t kIndent = 2;
inline constexpr size_t kGap = 2;  // between the columns of a table

// A sentence with its line break; lines behind the first begin with `hanging` spaces.
std::string Sentence(std::string_view text, const Screen& screen, size_t hanging = 2 * kIndent);

// "resnet50.onnx   pytorch 2.15.0, opset 20, 122 nodes, 25.6 M parameters (float32)   batch 64"
std::string HeadingText(const Report& report, const Screen& screen);

// "TRAINING needs   5.98 GiB   fits RTX 4090 (24.0 GiB), 25 %", a line for each part.
std::string AnswerText(const RunSummary& run, const std::vector<Limit>& limits, const Screen& screen);

// What a run needs on each card, a row each: its verdicts, and of several batches which have them.
std::string CardsText(const RunSummary& run, const std::vector<Limit>& limits, const Screen& screen);
std::string SweepCardsText(const std::vector<RunSummary>& runs, const std::vector<Limit>& limits, const Screen& screen);

// What a plan, or the sides of a comparison, were held against.
std::string PlanHeldText(const PlanPart& plan, const Screen& screen);
std::string HeldText(const ComparedReports& comparison, const Screen& screen);

// `text` with the verdict again as its last line, where a terminal would have scrolled it away.
std::string WithVerdictLast(std::string text, const Report& report, const Screen& screen);

// The first screen, at most 23 lines: a terminal opens with 24, of which the prompt takes one.
std::string FirstScreenText(const Report& report, const AnalyzePart& analyzed, const Screen& screen);

// The step at which a part peaks and the course of memory over its steps.
std::string PeakText(const PartSummary& part, const Screen& screen);

// Bytes by category, then what the framework, the allocator and nvidia-smi show.
std::string BreakdownText(const Report& report, const Screen& screen);

// The range of a run: low, expected and high, and what moves each end.
std::string RangeText(const Report& report, const Screen& screen);

// PeakText, then FLOPs and times.
std::string WhenText(const RunSummary& run, const AnalyzePart& part, const Screen& screen);

// "Time (estimate) on RTX 4090: forward 21.0 ms, backward 41.5 ms, optimizer 1.2 ms, step 63.9 ms; bound by bandwidth".
std::string TimeText(const RunSummary& run, const AnalyzePart& part, const Screen& screen);

// Layers and tensors that hold most at the peak.
std::string WhoText(const Report& report, const AnalyzePart& part, const Screen& screen);

// A row per batch and the law between batch and bytes.
std::string SweepText(const std::vector<RunSummary>& runs, const AnalyzePart& part, const Screen& screen);

// One table as a list: the largest rows, what is left over, and the sum.
std::string ListText(const Table& table, const Report& report, const Screen& screen);

// The table of shapes as a memory reporter prints it: "+ 7 * (512,512,3,3) fp32 66.06 MB parameter".
std::string ShapesText(const Table& table, const Report& report, const Screen& screen);

// What would save most, the first few.
std::string SavingsText(const Table& savings, bool verbose, const Screen& screen);

// Ways to make a batch fit, the first few; with -v all, each with what to append to the command line.
std::string WaysText(const Table& table, bool verbose, const Screen& screen);

// What was chosen together, the fastest few of each kind; with -v all.
std::string TogetherText(const Table& table, const Report& report, const Screen& screen);

// Models side by side, and with --by layer where each has its parameters, its FLOPs and what backward needs.
std::string ModelsText(const Report& report, const Screen& screen);

// Does it fit, and which batches do: a few lines for one card, a row each for several.
std::string FitText(const FitPart& fit, const Screen& screen);

// What was assumed, and notes.
std::string AssumedText(const Report& report, const Screen& screen);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_TEXT_TEXT_PARTS_H_
