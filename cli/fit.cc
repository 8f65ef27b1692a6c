// onnx-mem fit MODEL: the largest batch that fits a card, and what makes a batch fit that does not.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/graph/status_macros.h"
#include "cli/advice_tables.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "cli/report/present.h"
#include "cli/report/report.h"
#include "cli/unmatched.h"
#include "planner/advice/fit.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kPlanIterations = 60;

struct Target {
  std::optional<Gpu> gpu;  // unset for a size
  int64_t usable_bytes = 0;
};

absl::StatusOr<std::vector<Target>> TargetsOf(const Options& options) {
  std::vector<Target> targets;
  for (const std::string& name : options.gpus) {
    ASSIGN_OR_RETURN(Gpu gpu, FindGpu(name));
    const int64_t usable_bytes = UsableBytes(gpu);
    targets.push_back({std::move(gpu), usable_bytes});
  }
  if (options.gpu_memory_bytes) targets.push_back({std::nullopt, *options.gpu_memory_bytes});
  if (!targets.empty()) return targets;
  return UsageError("fit needs a card", {"try: --gpu \"RTX 4090\", or --gpu-memory 24GiB   (list: onnx-mem gpus)"});
}

std::vector<Mode> PartsOf(Mode mode) {
  if (mode == Mode::kBoth) return {Mode::kTraining, Mode::kInference};
  return {mode};
}

absl::StatusOr<CardFit::Part> FitPart(Meter& meter, const Workload& workload, int64_t usable_bytes) {
  CardFit::Part part;
  part.name = workload.mode == Mode::kInference ? "inference" : "training";
  ASSIGN_OR_RETURN(const Footprint asked, meter.Measure(workload));
  part.device_bytes = asked.device_bytes;
  part.fits = asked.device_bytes <= usable_bytes;
  const absl::StatusOr<FittingBatch> largest = FindLargestBatch(meter, workload, usable_bytes);
  if (!largest.ok()) return part;  // the file's batch is fixed
  part.batch_known = true;
  part.largest_batch = largest->batch;
  part.at_least = largest->at_least;
  part.largest_bytes = largest->device_bytes;
  part.beyond_bytes = largest->device_bytes_beyond;
  return part;
}

absl::StatusOr<CardFit> FitCard(Meter& meter, Workload workload, const Target& target) {
  CardFit card;
  if (target.gpu) {
    card.name = target.gpu->name;
    card.memory_bytes = target.gpu->memory_mib * kMiB;
  }
  card.usable_bytes = target.usable_bytes;
  for (Mode mode : PartsOf(workload.mode)) {
    workload.mode = mode;
    ASSIGN_OR_RETURN(CardFit::Part part, FitPart(meter, workload, target.usable_bytes));
    card.parts.push_back(std::move(part));
  }
  return card;
}

absl::StatusOr<Report> StartReport(const ModelFile& file, const Options& options, Workload workload) {
  workload.mode = PartsOf(workload.mode).front();
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(file, workload));
  RETURN_IF_ERROR(CheckNames(options.workload.run, analysis.graph));
  Report report;
  report.command = options.command;
  report.model = SummarizeModel(analysis);
  report.bound_dims = analysis.info.bound_dims;
  report.assumptions = analysis.assumptions;
  report.notes = analysis.diagnostics;
  report.asked_batch = analysis.batch;
  return report;
}

}  // namespace

absl::StatusOr<Answer> RunFit(const Options& options) {
  if (options.batches.size() > 1) return UsageError("fit takes one --batch: it looks for the largest by itself");
  ASSIGN_OR_RETURN(const std::vector<Target> targets, TargetsOf(options));
  ASSIGN_OR_RETURN(const ModelFile file, ModelFile::Open(options.operands.front()));
  Workload workload = options.workload;
  if (!options.batches.empty()) workload.bindings.batch = options.batches.front();
  ASSIGN_OR_RETURN(Report report, StartReport(file, options, workload));
  Meter meter(file);
  bool fits = true;
  for (const Target& target : targets) {
    ASSIGN_OR_RETURN(CardFit card, FitCard(meter, workload, target));
    fits = fits && card.parts.front().fits;
    report.cards.push_back(std::move(card));
  }
  if (!report.cards.front().parts.front().fits) {
    workload.mode = PartsOf(workload.mode).front();
    const Target& target = targets.front();
    const AdviceRequest request{target.gpu ? &*target.gpu : nullptr, kPlanIterations};
    ASSIGN_OR_RETURN(const std::vector<FitWay> ways, WaysToFit(meter, workload, target.usable_bytes, request));
    report.tables.push_back(WaysTable(ways));
  } else {
    report.tables.push_back(WaysTable({}));
  }
  RETURN_IF_ERROR(WriteExports(report, options));
  std::vector<Diagnostic> warnings;
  for (const Diagnostic& note : report.notes) {
    if (note.severity == Severity::kWarning) warnings.push_back(note);
  }
  Report shown = report;
  if (options.format == "table") shown.notes.clear();  // warnings go to stderr
  return Answer{Present(shown, options), std::move(warnings), fits ? ExitCode::kYes : ExitCode::kNo};
}

}  // namespace onnx_mem
