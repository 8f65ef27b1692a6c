#include "planner/advice/meter.h"

#include <algorithm>
#include <utility>

#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

// The first entry, which is what everything is compared with, stays; of the others the latest.
constexpr size_t kKept = 3;

template <class Entries>
void MakeRoom(Entries& entries) {
  if (entries.size() >= kKept) entries.erase(entries.begin() + 1);
}

// `run` without what differs between runs of one lowered graph (analysis/enact.h, Prepare).
Run LoweringPart(Run run) {
  run.segments.clear();
  run.checkpointed.clear();
  run.freeze.clear();
  run.requires_grad.clear();
  run.hold.clear();
  run.loss = LossKind::kAuto;
  run.accumulate = 1;
  return run;
}

}  // namespace

Meter::Meter(const ModelFile& file, const TrainingParts& known) : file_(file) {
  imports_.push_back({known.bindings, known.model});
  if (LoweringPart(known.run) == known.run) lowerings_.push_back({known.bindings, known.run, known.lowered});
  enactments_kept_.push_back({known.bindings, known.run, known.enacted});
  known_ = Known{known.bindings,  known.run,      known.optimizer,
                 known.allocator, known.platform, Footprint{known.figures, *known.enacted}};
}

absl::StatusOr<Meter::Import*> Meter::ImportOf(const Bindings& bindings) {
  for (Import& import : imports_) {
    if (import.bindings == bindings) return &import;
  }
  ASSIGN_OR_RETURN(ImportedModel model, file_.Import(bindings));
  MakeRoom(imports_);
  imports_.push_back({bindings, std::make_shared<const ImportedModel>(std::move(model))});
  return &imports_.back();
}

absl::StatusOr<const ImportedModel*> Meter::Model(const Bindings& bindings) {
  ASSIGN_OR_RETURN(const Import* import, ImportOf(bindings));
  return import->model.get();
}

absl::StatusOr<const Lowered*> Meter::Lower(const Bindings& bindings, const Run& run) {
  const Run part = LoweringPart(run);
  for (const Lowering& lowering : lowerings_) {
    if (lowering.run == part && lowering.bindings == bindings) return lowering.lowered.get();
  }
  ASSIGN_OR_RETURN(Import * import, ImportOf(bindings));
  ASSIGN_OR_RETURN(Lowered lowered, Prepare(import->model->graph, part, &import->source));
  MakeRoom(lowerings_);
  lowerings_.push_back({bindings, part, std::make_shared<const Lowered>(std::move(lowered))});
  return lowerings_.back().lowered.get();
}

absl::StatusOr<const Enacted*> Meter::Enact(const Workload& workload) {
  Run run = workload.run;
  run.training = workload.mode != Mode::kInference;
  for (const Enactment& kept : enactments_kept_) {
    if (kept.run == run && kept.bindings == workload.bindings) return kept.enacted.get();
  }
  ASSIGN_OR_RETURN(const Lowered* lowered, Lower(workload.bindings, run));
  ASSIGN_OR_RETURN(Enacted enacted, EnactLowered(*lowered, run));
  ++enactments_;
  MakeRoom(enactments_kept_);
  enactments_kept_.push_back({workload.bindings, std::move(run), std::make_shared<const Enacted>(std::move(enacted))});
  return enactments_kept_.back().enacted.get();
}

bool Meter::IsKnown(const Workload& workload) const {
  if (!known_ || workload.mode == Mode::kInference) return false;
  Run run = workload.run;
  run.training = true;
  return known_->run == run && known_->bindings == workload.bindings && known_->optimizer == workload.optimizer &&
         known_->allocator == workload.allocator && known_->platform == workload.platform;
}

absl::StatusOr<Footprint> Meter::Measure(const Workload& workload) {
  if (IsKnown(workload)) return known_->footprint;
  ASSIGN_OR_RETURN(const Enacted* enacted, Enact(workload));
  ASSIGN_OR_RETURN(const ImportedModel* model, Model(workload.bindings));
  Workload own = WithTorchOf(model->info, workload);
  own.intervals = false;  // a footprint has no range
  ASSIGN_OR_RETURN(const RunFigures figures, own.mode == Mode::kInference
                                                 ? InferenceFigures(*model, enacted->program, own)
                                                 : TrainingFigures(*enacted, own));
  return Footprint{figures, *enacted};
}

absl::StatusOr<Need> Meter::MeasureNeed(const Workload& workload) {
  Workload ranged = workload;
  if (ranged.mode != Mode::kInference) ranged.mode = Mode::kTraining;
  ranged.training_bounds = true;
  ranged.intervals = true;
  ASSIGN_OR_RETURN(const ImportedModel* model, Model(workload.bindings));
  ASSIGN_OR_RETURN(const Analysis analysis, AnalyzeImported(*model, ranged));
  const PeakFigures& figures = analysis.training ? *analysis.training : *analysis.inference;
  return Need{figures.device_low_bytes, figures.device_bytes, figures.device_high_bytes};
}

}  // namespace onnx_mem
