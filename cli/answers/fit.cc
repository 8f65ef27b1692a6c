// The largest batch that fits a card, and what makes a batch fit that does not.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/run/work.h"
#include "cli/answers/advice_tables.h"
#include "cli/answers/answers.h"
#include "cli/answers/batch_dim.h"
#include "cli/answers/local_card.h"
#include "cli/answers/unmatched.h"
#include "cli/options/option_values.h"
#include "cli/report/analyze/present.h"
#include "cli/report/analyze/report.h"
#include "planner/plans/advice/fit.h"

namespace onnx_mem {
namespace {

constexpr int64_t kPlanIterations = 120;

struct Target {
  std::string name;            // "" for a size
  std::optional<Gpu> gpu;      // unset where the table does not have it
  std::optional<int64_t> memory_bytes;
  int64_t usable_bytes = 0;
};

absl::StatusOr<Target> TargetNamed(const std::string& name) {
  ASSIGN_OR_RETURN(const std::optional<LocalCard> local, LocalCardOf(name));
  const absl::StatusOr<Gpu> gpu = FindGpu(local ? local->gpu.name : name);
  if (local) {
    return Target{local->gpu.name, gpu.ok() ? std::optional(*gpu) : std::nullopt, local->gpu.total_bytes,
                  local->gpu.free_bytes};
  }
  RETURN_IF_ERROR(gpu.status());
  return Target{gpu->name, *gpu, gpu->memory_bytes(), UsableBytes(*gpu)};
}

absl::StatusOr<std::vector<Target>> TargetsOf(const Options& options) {
  std::vector<Target> targets;
  for (const std::string& name : options.gpus) {
    ASSIGN_OR_RETURN(Target target, TargetNamed(name));
    targets.push_back(std::move(target));
  }
  if (options.gpu_memory_bytes) targets.push_back({"", std::nullopt, std::nullopt, *options.gpu_memory_bytes});
  if (options.budget_bytes) targets.push_back({"the budget", std::nullopt, std::nullopt, *options.budget_bytes});
  if (!targets.empty()) return targets;
  return UsageError("fit needs a card", {"try: --gpu \"RTX 4090\", or --gpu-memory 24GiB   (list: onnx-mem gpus)"});
}

std::vector<Mode> PartsOf(Mode mode) {
  if (mode == Mode::kBoth) return {Mode::kTraining, Mode::kInference};
  return {mode};
}

absl::StatusOr<CardFit::Part> MeasurePart(Meter& meter, const Workload& workload, int64_t usable_bytes) {
  CardFit::Part part;
  part.name = workload.mode == Mode::kInference ? "inference" : "training";
  ASSIGN_OR_RETURN(const Footprint asked, meter.Measure(workload));
  part.device_bytes = asked.device_bytes;
  part.fits = asked.device_bytes <= usable_bytes;
  const absl::StatusOr<FittingBatch> largest = FindLargestBatch(meter, workload, usable_bytes);
  if (!largest.ok() && !work::HasLeft()) return largest.status();
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
  card.name = target.name;
  card.memory_bytes = target.memory_bytes;
  card.usable_bytes = target.usable_bytes;
  for (Mode mode : PartsOf(workload.mode)) {
    workload.mode = mode;
    ASSIGN_OR_RETURN(CardFit::Part part, MeasurePart(meter, workload, target.usable_bytes));
    card.parts.push_back(std::move(part));
  }
  return card;
}

// The fastest ways to train on as many samples per step.
absl::StatusOr<Table> Together(Meter& meter, const Workload& workload, const Target& target) {
  const absl::StatusOr<RooflineCard> rates =
      target.gpu ? RooflineOf(*target.gpu) : absl::StatusOr<RooflineCard>(DefaultRoofline());
  if (!rates.ok()) return JointTable({}, "", 0);
  JointRequest request;
  request.limit_bytes = target.usable_bytes;
  request.card = target.gpu ? &*target.gpu : nullptr;
  request.rates = *rates;
  ASSIGN_OR_RETURN(const ImportedModel* model, meter.Model(workload.bindings));
  const int64_t batch = workload.bindings.batch.value_or(model->info.file_batch);
  return JointTable(ChooseJointly(meter, workload, request), rates->name, batch * workload.run.accumulate);
}

// What is asked about, its part without cards.
absl::StatusOr<Report> StartReport(const ModelFile& file, const Options& options, Workload workload) {
  workload.mode = PartsOf(workload.mode).front();
  ASSIGN_OR_RETURN(const Analysis analysis, Analyze(file, workload));
  RETURN_IF_ERROR(CheckNames(options.workload.run, analysis.graph));
  RETURN_IF_ERROR(CheckFreeze(options.workload.run, analysis));
  Report report;
  report.command = options.command;
  report.verbose = options.verbose;
  report.model = SummarizeModel(analysis);
  report.bound_dims = analysis.info.bound_dims;
  report.assumptions = analysis.assumptions;
  report.notes = analysis.diagnostics;
  report.part = FitPart{.asked_batch = analysis.batch};
  return report;
}

}  // namespace

absl::StatusOr<Answered> AnswerFit(const Options& options, const OpenModels& open) {
  if (options.batches.size() > 1) return UsageError("fit takes one --batch: it looks for the largest by itself");
  ASSIGN_OR_RETURN(const std::vector<Target> targets, TargetsOf(options));
  ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelOf(options, open, 0));
  Workload workload = options.workload;
  if (!options.batches.empty()) workload.bindings.batch = options.batches.front();
  workload.bindings = WithBatchOption(*file, workload.bindings);
  ASSIGN_OR_RETURN(Report report, StartReport(*file, options, workload));
  Meter meter(*file);
  Answered answer;
  std::vector<CardFit>& cards = std::get<FitPart>(report.part).cards;
  for (const Target& target : targets) {
    ASSIGN_OR_RETURN(CardFit card, FitCard(meter, workload, target));
    answer.yes = answer.yes && card.parts.front().fits;
    cards.push_back(std::move(card));
  }
  // Ways for the first card that is too small.
  size_t small = 0;
  while (small < targets.size() && cards[small].parts.front().fits) ++small;
  std::vector<FitWay> ways;
  if (small < targets.size()) {
    const Target& target = targets[small];
    workload.mode = PartsOf(workload.mode).front();
    const AdviceRequest request{target.gpu ? &*target.gpu : nullptr, kPlanIterations};
    ASSIGN_OR_RETURN(ways, WaysToFit(meter, workload, target.usable_bytes, request));
  }
  if (small < targets.size() && workload.mode == Mode::kTraining && work::HasLeft(work::kAdviceShare)) {
    ASSIGN_OR_RETURN(Table together, Together(meter, workload, targets[small]));
    report.tables.push_back(std::move(together));
  }
  report.tables.push_back(WaysTable(ways, targets.size() > 1 && small < targets.size() ? targets[small].name : ""));
  RETURN_IF_ERROR(WriteExports(report, options));
  for (const Diagnostic& note : report.notes) {
    if (note.severity == Severity::kWarning) answer.warnings.push_back(note);
  }
  answer.report = std::move(report);
  answer.ways = std::move(ways);
  return answer;
}

}  // namespace onnx_mem
