// Options -> the report that answers them: what the commands (cli/commands) and the library (library/) share. A command
// prints the report, the library hands it out.
#ifndef ONNX_MEM_CLI_ANSWERS_ANSWERS_H_
#define ONNX_MEM_CLI_ANSWERS_ANSWERS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/onnx/build/import.h"
#include "cli/options/options.h"
#include "planner/advice/fit.h"
#include "planner/code/emit_pytorch.h"
#include "report/analyze/report.h"

namespace onnx_mem {

// Models that are open: entry i stands for operand i of the options. What has none is opened by its path.
using OpenModels = std::vector<std::shared_ptr<const ModelFile>>;

// Errors: those of ModelFile::Open.
absl::StatusOr<std::shared_ptr<const ModelFile>> ModelOf(const Options& options, const OpenModels& open,
                                                         size_t operand);

// A model by its path; "-": what standard input holds.
absl::StatusOr<std::shared_ptr<const ModelFile>> OpenModel(const std::string& path);

// How much of the advice is to be shown: all, or what the first screen has room for, in half the time.
enum class Advice { kWhole, kFirstScreen };

struct CommandAnswer {
  std::string text = {};  // for standard output; of a report only once a command shows it
  Report report = {};
  std::vector<Diagnostic> warnings = {};               // for standard error
  bool yes = true;                                     // within every limit that was requested
  std::shared_ptr<const Analysis> analysis = nullptr;  // analyze: of the first batch, with all notes
  std::shared_ptr<Study> study = nullptr;              // analyze: of its model
  // analyze: what would save most, for AnalyzePart::savings. It takes longer than all the rest; empty: not to be
  // reported.
  std::function<Table(Advice)> savings = nullptr;
  std::vector<FitWay> ways = {};  // fit: those of the table "ways"
  // plan: the chosen one, as "pytorch", kSelfContained or "json"; empty without one.
  std::function<absl::StatusOr<EmittedCode>(std::string_view form)> emit = nullptr;
};

// As a form of CommandAnswer::emit: code that imports nothing of ours.
inline constexpr std::string_view kSelfContained = "self-contained";

// Each writes the files of options.exports. Errors: those of the options' values, of the model and of the analysis.

// One model, at one batch or several.
absl::StatusOr<CommandAnswer> AnswerAnalyze(const Options& options, const OpenModels& open = {});

// A report that was saved, shown again: its figures and what it assumed, held against the limits that are requested.
bool AsksForSaved(const Options& options);
absl::StatusOr<CommandAnswer> AnswerSaved(const Options& options);

// With options.emit, a plan to emit and no file to write, the report is not completed.
absl::StatusOr<CommandAnswer> AnswerPlan(const Options& options, const OpenModels& open = {});

absl::StatusOr<CommandAnswer> AnswerFit(const Options& options, const OpenModels& open = {});

absl::StatusOr<CommandAnswer> AnswerCompare(const Options& options, const OpenModels& open = {});

// Whether a comparison is with what a run took: --measured, or a snapshot of PyTorch's allocator as the second operand.
bool AsksForMeasured(const Options& options);
absl::StatusOr<CommandAnswer> AnswerMeasured(const Options& options, const OpenModels& open = {});

// What --gpu, --gpu-memory and --budget hold `run` against, whose figures are the same on every card.
absl::StatusOr<std::vector<Limit>> LimitsOf(const Options& options, const RunSummary& run);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ANSWERS_ANSWERS_H_
