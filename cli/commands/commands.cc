#include "cli/commands/commands.h"

#include <array>
#include <utility>

#include "analyzer/devices/gpus.h"
#include "cli/pasted_command.h"
#include "cli/present.h"

namespace onnx_mem {
namespace {

constexpr auto kCommandRows = std::to_array<CommandRow>({
    {"analyze", "MODEL...", 1, 16, "peak of training and inference, where it goes (the default)",
     "model.onnx --batch 64|training and inference\n"
     "model.onnx -b 16 -d seq=512|bind a symbolic dimension\n"
     "model.onnx -b 1,8,64 --gpu-memory 24GiB|which batches fit?\n"
     "model.onnx -b 64 --by layer -n 0|layer by layer\n"
     "old.onnx new.onnx --by layer|side by side\n"
     "model.onnx -b 64 -o report.json|the whole report\n"
     "model.onnx -b 64 --budget 8GiB -q|in CI: exit 1 if over\n",
     kAnalyzeCommand, "onnx json", nullptr, RunAnalyze},
    {"compare", "A B [C...]", 1, 16, "signed difference: models, or batches of one",
     "compare fp32.onnx fp16.onnx -b 64|what changed, signed\n"
     "compare old.json new.onnx --max-increase 2%|in CI: may a peak grow?\n",
     kCompareCommand, "onnx json pickle", nullptr, RunCompare},
    {"check", "MODEL", 1, 1, "what was understood of a file, what had to be assumed",
     "check model.onnx|what was assumed?\n", kCheckCommand, "onnx", nullptr, RunCheck},
    {"plan", "MODEL", 0, 1, "what to run again in training so that it fits a budget",
     "plan model.onnx -b 64 --budget 4GiB|checkpoints that fit it\n", kPlanCommand, "onnx", nullptr, RunPlan},
    {"fit", "MODEL", 1, 1, "the largest batch that fits a card; what makes a batch fit",
     "fit model.onnx -b 256 --gpu T4|largest batch; what helps\n", kFitCommand, "onnx", nullptr, RunFit},
    {"explain", "SNAPSHOT [MODEL]", 1, 2, "who holds the memory of a run that ended: a snapshot of PyTorch's allocator",
     "explain snapshot.pickle|out of memory: who holds it?\n", kExplainCommand, "pickle onnx", nullptr, RunExplain},
    {"gpus", "[NAME|local]", 0, 8, "the cards that --gpu knows, or those of a name; local: those in this machine", "",
     kGpusCommand, "", GpuWords, RunGpus},
    {"completion", "bash|zsh|fish", 1, 1, "print the completions for a shell", "", kCompletionCommand, "",
     CompletedShells, RunCompletion},
    {"man", "", 0, 0, "print the manual page: onnx-mem man | man -l -", "", kManCommand, "", nullptr, RunMan},
});

}  // namespace

CommandAnswer Shown(CommandAnswer answer, const Options& options) {
  // JSON and files keep options alone: they do not depend on how the command was written.
  if (options.format == "table" || options.format == "md") {
    for (Diagnostic& note : answer.report.notes) note = WithCommands(std::move(note), options);
  }
  answer.text = Present(answer.report, options);
  return answer;
}

absl::Span<const CommandRow> CommandRows() { return kCommandRows; }

const CommandRow* CommandNamed(std::string_view name) {
  for (const CommandRow& row : kCommandRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace onnx_mem
