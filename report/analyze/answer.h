// The answer in words, the same in every format for people: how much, does it fit, under which assumptions.
#ifndef ONNX_MEM_REPORT_ANALYZE_ANSWER_H_
#define ONNX_MEM_REPORT_ANALYZE_ANSWER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/graph/bytes.h"
#include "report/analyze/report.h"
#include "report/parts/screen.h"

namespace onnx_mem {

Paint PaintOf(Verdict verdict);

// "25.6 M parameters (float32)".
std::string ParameterWords(const ReportedModel& model);

struct AnswerLine {
  std::string part;                 // "training"
  bool at_least = false;            // the size is a lower bound
  std::string size;                 // "5.98 GiB"
  std::string interval;             // "5.70 - 6.30 GiB" in the size's unit, or ""
  std::string verdict;              // "fits RTX 4090 (24.0 GiB), 25 %"; "" without a limit
  Verdict answer = Verdict::kFits;  // the worst of every limit
};
std::vector<AnswerLine> AnswerLines(const RunSummary& run, const std::vector<Limit>& limits, ByteUnit units);

// What a part of `run` needs on the card of `limit`.
Need NeedOn(const Limit& limit, const RunSummary& run, RunPart part);

// "5.70 - 6.30 GiB": both ends in the unit of `size`, beside which they stand; "" where they are one.
std::string IntervalText(const Need& need, std::string_view size);

// "fits RTX 4090 (23.6 GiB), 25 %", "may fit 24.0 GiB, 98 %", "does not fit the budget of 4.00 GiB, 1.98 GiB over".
std::string VerdictText(const Need& need, const Limit& limit, ByteUnit units);

// Of a budget that is a share what it is of, "50 % of 6.53 GiB without the plan"; "" of any other limit.
std::string ShareText(const Limit& limit, ByteUnit units);

// What a limit is called in a row or a title: "RTX 4090 (23.6 GiB)", "24.0 GiB", "the budget of 4.00 GiB".
std::string LimitText(const Limit& limit, ByteUnit units);

// The verdict alone, for a column: "fits, 28 %", "may fit, 98 %" or "does not fit, 1.98 GiB over".
std::string ShortVerdict(const Need& need, const Limit& limit, ByteUnit units);

// The three batches of a part in words, a line each: "safe up to batch 148: even its high end fits (14.7 GiB; of 149
// 14.8 GiB)". One line where the file's batch is fixed. `over`: FitPart::over.
std::vector<std::string> BatchLines(const CardFit::Part& part, std::string_view over, ByteUnit units);

// "training", "training over 3 ranks".
std::string PartName(const CardFit::Part& part);

// "Expected to fit from 3 ranks on, safe from 4", of a part with ranks.
std::string RanksLine(const CardFit::Part& part);

// "receives 1.26 GiB a step (all-gather 980 MiB, reduce-scatter 310 MiB): 5.6 ms over NVLink 3 of A100 SXM4 40GB".
std::string TrafficWords(const TrafficCost& cost, ByteUnit units);

// Of a plan: ", of which the plan adds none", "; the plan's second runs receive 24.0 MiB more a step: 105 us over
// NVLink 3 of A100 SXM4 40GB".
// "; stages begin at layer1, layer3; segments lie inside a stage, and free that of one micro-batch"; "" without stages.
std::string StagesWords(const SpreadPlan& spread);
std::string MoreTrafficWords(const ReceivedBytes& received, ByteUnit units);

// "batch 64", "seq 512": where the question stands. `begins`: a sentence.
std::string SizeText(const FitPart& fit, bool begins = false);

// "154", "at least 1073741824", "-" where none is known.
std::string EdgeText(const std::optional<BatchEdges>& batches, FittingBatch BatchEdges::*edge);
std::string ImpossibleText(const std::optional<BatchEdges>& batches);

// "0.2 of 44.6 M parameters" of a step that --freeze leaves in part; "" of any other.
std::string TrainsText(const Report& report);

// "Assumes optimizer adam, loss cross-entropy."
std::string AssumptionsText(const Report& report);

// The value of an assumption; "" where the report has none of this name.
std::string AssumptionNamed(const Report& report, std::string_view name);

// Rows of a table of savings: the largest for each price, cheapest price first, then what else saves most; never
// another task.
std::vector<size_t> CheapestWays(const Table& savings);
inline constexpr size_t kShownWays = 3;  // of them, on the first screen

// What the figures of a device are called: a GPU's, or the machine's memory where onnxruntime runs on the CPU.
struct DeviceWords {
  std::string_view whole;     // "on the GPU", "resident"
  std::string_view shown_by;  // "as nvidia-smi shows it"
  std::string_view rest;      // behind all categories: "allocator, CUDA context"
  int64_t sessions = 1;
};
DeviceWords WordsOfDevice(const Report& report);

// "resnet50.onnx" of a path.
std::string BaseName(std::string_view path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_ANALYZE_ANSWER_H_
