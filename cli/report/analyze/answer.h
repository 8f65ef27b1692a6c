// The answer in words, the same in every format for people: how much, does it fit, under which assumptions.
#ifndef ONNX_MEM_CLI_REPORT_ANALYZE_ANSWER_H_
#define ONNX_MEM_CLI_REPORT_ANALYZE_ANSWER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/graph/bytes.h"
#include "cli/report/analyze/report.h"
#include "cli/report/parts/screen.h"

namespace onnx_mem {

// Whether what is needed has room: kTight where the figure has, and the upper end of its range has not.
enum class Verdict : uint8_t { kFits, kTight, kTooLarge };
Verdict VerdictOf(int64_t bytes, int64_t high_bytes, const Limit& limit);
std::string_view NameOf(Verdict verdict);  // "fits", "tight", "too_large"
Paint PaintOf(Verdict verdict);
// The worst of all limits; none without a limit.
std::optional<Verdict> VerdictOf(const PartSummary& part, const std::vector<Limit>& limits);

struct AnswerLine {
  std::string part;       // "training"
  bool at_least = false;  // the size is a lower bound
  std::string size;       // "5.98 GiB"
  std::string interval;   // "5.70 - 6.30 GiB" in the size's unit, or ""
  std::string verdict;    // "fits RTX 4090 (24.0 GiB), 25 %"; "" without a limit
  Verdict answer = Verdict::kFits;  // the worst of every limit
};
std::vector<AnswerLine> AnswerLines(const RunSummary& run, const std::vector<Limit>& limits, ByteUnit units);

// "fits 24.0 GiB, 25 %", "tight on 24.0 GiB, 98 %", "over the budget of 4.00 GiB by 1.98 GiB".
std::string VerdictText(int64_t bytes, int64_t high_bytes, const Limit& limit, ByteUnit units);

// The same in two parts, for a column of verdicts: its title "of RTX 4090 (23.6 GiB)" or "of a budget of 4.00 GiB",
// and "fits, 28 %", "tight, 98 %" or "too large by 1.98 GiB".
std::string LimitTitle(const Limit& limit, ByteUnit units);
std::string ShortVerdict(const PartSummary& part, const Limit& limit, ByteUnit units);

// "154", "at least 1024", "the file's batch alone".
std::string LargestText(const CardFit::Part& part);

// What LargestText stands on: "(14.7 GiB; one more 14.8 GiB)", or "".
std::string LargestProofText(const CardFit::Part& part, ByteUnit units);
// "0.2 of 44.6 M parameters" of a step that --freeze leaves in part; "" of any other.
std::string TrainsText(const Report& report);

// "Assumes optimizer adam, loss cross-entropy."
std::string AssumptionsText(const Report& report);

// The value of an assumption; "" where the report has none of this name.
std::string AssumptionNamed(const Report& report, std::string_view name);

// Rows of a table of savings: the largest for each price, cheapest price first, then what else saves most; never another
// task.
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

#endif  // ONNX_MEM_CLI_REPORT_ANALYZE_ANSWER_H_
