#include "analyzer/study/study.h"

#include <algorithm>
#include <string>

#include "analyzer/analysis/recorded_step.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/parallel/data_parallel.h"
#include "analyzer/parallel/rank_note.h"
#include "analyzer/runtimes/figures.h"
#include "analyzer/runtimes/runtime.h"
#include "analyzer/study/assumption_list.h"
#include "analyzer/study/model_facts.h"

namespace onnx_mem {
namespace {

// `run` without what differs between runs of one lowered graph (enact.h, Prepare).
Run LoweringPart(Run run) {
  run.segments.clear();
  run.checkpointed.clear();
  run.freeze.clear();
  run.requires_grad.clear();
  run.hold.clear();
  run.loss = LossKind::kAuto;
  run.accumulate = 1;
  run.fewer_key_heads.reset();
  return run;
}

// With what the version of PyTorch decides, where nobody has settled it.
Run SettledRun(const ModelInfo& info, const Workload& workload) {
  return workload.run.fewer_key_heads ? workload.run : WithTorchOf(info, workload).run;
}

// The training step of `workload`, or its inference.
Workload OneRun(Workload workload, Mode mode) {
  workload.mode = mode;
  workload.run.training = mode == Mode::kTraining;
  return workload;
}
Workload OneRun(const Workload& workload) {
  return OneRun(workload, workload.mode == Mode::kInference ? Mode::kInference : Mode::kTraining);
}

Mode ModeOf(const Part& part) { return part.name == kTrainingPart ? Mode::kTraining : Mode::kInference; }

Shared<RunFigures> WithAtLeast(bool at_least, Shared<RunFigures> figures) {
  if (!at_least) return figures;
  auto bound = std::make_shared<RunFigures>(*figures);
  bound->at_least = true;
  return bound;
}

// Of a graph that a record stands for nothing is looked for.
absl::StatusOr<Lowered> LowerFound(const Graph& graph, std::optional<Source>& source, const Run& run) {
  if (graph.record != nullptr) return Prepare(graph, run);
  if (!source) source = SourceOf(graph);
  return Prepare(*source, run);
}

}  // namespace

Study::Study(ImportedModel model)
    : only_import_(std::make_shared<Imported>(Imported{std::make_shared<const ImportedModel>(std::move(model))})) {}

absl::StatusOr<std::shared_ptr<Study::Imported>> Study::ImportOf(const Bindings& bindings) {
  if (only_import_ != nullptr) return only_import_;
  if (const auto* known = imports_.Find(bindings)) return *known;
  ASSIGN_OR_RETURN(ImportedModel model, file_->Import(bindings));
  auto imported = std::make_shared<Imported>(Imported{std::make_shared<const ImportedModel>(std::move(model))});
  return imports_.Keep(bindings, std::move(imported));
}

absl::StatusOr<Shared<ImportedModel>> Study::Import(const Bindings& bindings) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Imported> imported, ImportOf(bindings));
  return imported->model;
}

absl::StatusOr<Shared<Lowered>> Study::Lower(const Bindings& bindings, const Run& run) {
  RunKey key{bindings, LoweringPart(run)};
  if (const auto* known = lowerings_.Find(key)) return *known;
  ASSIGN_OR_RETURN(const std::shared_ptr<Imported> imported, ImportOf(bindings));
  ASSIGN_OR_RETURN(Lowered lowered, LowerFound(imported->model->graph, imported->source, key.run));
  return lowerings_.Keep(std::move(key), std::make_shared<const Lowered>(std::move(lowered)));
}

absl::StatusOr<Shared<Enacted>> Study::Enact(const Workload& workload) {
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, Import(workload.bindings));
  const Run run = SettledRun(model->info, OneRun(workload));
  ASSIGN_OR_RETURN(Bindings bindings, EnactedBindings(workload));
  EnactedKey key{std::move(bindings), EnactedPart(run, workload.layout)};
  if (const auto* known = enacted_.Find(key)) return *known;
  ASSIGN_OR_RETURN(const std::shared_ptr<Imported> imported, ImportOf(key.bindings));
  if (IsRecordedStep(imported->model->graph)) {
    RETURN_IF_ERROR(CheckRecordedStep(workload));
    ASSIGN_OR_RETURN(Enacted recorded, EnactRecordedStep(imported->model->graph));
    return enacted_.Keep(std::move(key), std::make_shared<const Enacted>(std::move(recorded)));
  }
  if (workload.layout.unsharded_type && workload.layout.unsharded_type != DType::kFloat32) {
    ASSIGN_OR_RETURN(const Shared<Lowered> plain, Lower(key.bindings, run));
    RETURN_IF_ERROR(CheckUnshardedType(*plain, *workload.layout.unsharded_type));
  }
  ASSIGN_OR_RETURN(const Shared<Lowered> lowered, Lower(key.bindings, key.part.run));
  ASSIGN_OR_RETURN(Enacted enacted, EnactRank(*lowered, key.part));
  ++enactments_;
  return enacted_.Keep(std::move(key), std::make_shared<const Enacted>(std::move(enacted)));
}

absl::StatusOr<Shared<RunFigures>> Study::Figures(const Workload& workload) {
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, Import(workload.bindings));
  Workload key = WithTorchOf(model->info, OneRun(workload));
  if (const auto* known = figures_.Find(key)) return *known;
  if (IsRecordedStep(model->graph)) {
    ASSIGN_OR_RETURN(const Shared<Enacted> enacted, Enact(key));
    ASSIGN_OR_RETURN(RunFigures recorded, RecordedFigures(model->graph, enacted, key));
    return figures_.Keep(std::move(key), std::make_shared<const RunFigures>(std::move(recorded)));
  }
  const auto inference = [&]() -> absl::StatusOr<RunFigures> {
    ASSIGN_OR_RETURN(const Shared<Enacted> enacted, Enact(key));
    return RuntimeOf(key).inference(*model, enacted, key);
  };
  const auto training = [&]() -> absl::StatusOr<RunFigures> {
    ASSIGN_OR_RETURN(const Shared<LocalStep> step, Local(key));
    return TrainingFigures(*step, key);
  };
  ASSIGN_OR_RETURN(RunFigures figures, key.run.training ? training() : inference());
  return figures_.Keep(std::move(key), std::make_shared<const RunFigures>(std::move(figures)));
}

absl::StatusOr<int64_t> Study::PeakBytes(const Workload& workload) {
  const Workload one = OneRun(workload);
  if (!RuntimeOf(one).eager) {  // whose program is not the one that is enacted
    ASSIGN_OR_RETURN(const Shared<RunFigures> figures, Figures(one));
    return figures->peak_bytes;
  }
  if (one.run.training) {
    ASSIGN_OR_RETURN(const Shared<LocalStep> step, Local(one));
    return TrainingPeak(*step, one);
  }
  ASSIGN_OR_RETURN(const Shared<Enacted> enacted, Enact(one));
  return ComputeTimeline(enacted->program).peak_bytes;
}

absl::Status Study::Widen(const Workload& workload, Ends ends, const MemoryProgram& program, Peak peak,
                          std::vector<Diagnostic>& diagnostics, PeakFigures& figures) {
  if (!RuntimeOf(workload).eager) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::shared_ptr<Imported> imported, ImportOf(workload.bindings));
  const Workload own = WithTorchOf(imported->model->info, workload);
  Shared<LocalStep> step = std::make_shared<const LocalStep>();
  if (own.run.training) {
    ASSIGN_OR_RETURN(step, Local(own));
  }
  RETURN_IF_ERROR(WidenByLibraries(*step, own, program, figures));
  RETURN_IF_ERROR(WidenByVaried(own, diagnostics, figures));
  if (ends == Ends::kOfLibraries || IsRecordedStep(imported->model->graph)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Bindings bindings, EnactedBindings(own));
  ASSIGN_OR_RETURN(const std::shared_ptr<Imported> enacted, ImportOf(bindings));
  ASSIGN_OR_RETURN(const Shared<Lowered> lowered, Lower(bindings, EnactedRun(own.run, own.layout)));
  constexpr size_t kMostNodes = 20'000;  // a second's work; of more the interval is not known
  if (own.run.training && lowered->graph.nodes.size() > kMostNodes) return absl::OkStatus();
  const auto lower_for = [&](const Run& run) {
    return LowerFound(enacted->model->graph, enacted->source, EnactedRun(run, own.layout));
  };
  ASSIGN_OR_RETURN(const PeakBounds open, BoundRun(*lowered, own, peak, lower_for, diagnostics));
  WidenByFile(WithMargin(open, peak.bytes, *lowered, own.run.training), figures);
  return absl::OkStatus();
}

absl::StatusOr<Need> Study::NeedOf(const Workload& workload) {
  const Workload one = OneRun(workload);
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, Import(one.bindings));
  ASSIGN_OR_RETURN(const Shared<Enacted> enacted, Enact(one));
  ASSIGN_OR_RETURN(const Shared<RunFigures> figures, Figures(one));
  std::vector<Diagnostic> diagnostics;
  if (one.run.training) diagnostics = model->diagnostics;
  diagnostics.insert(diagnostics.end(), enacted->diagnostics.begin(), enacted->diagnostics.end());
  PeakFigures wide = *figures;
  RETURN_IF_ERROR(Widen(one, Ends::kOfFile, *figures->program, PeakOf(*figures), diagnostics, wide));
  return Need{wide.device_low_bytes, wide.device_bytes, wide.device_high_bytes};
}

absl::Status Study::AddTraining(const Workload& workload, Analysis& analysis) {
  const Workload one = OneRun(workload, Mode::kTraining);
  ASSIGN_OR_RETURN(const Shared<Enacted> enacted, Enact(one));
  CopyModelFacts(*enacted, analysis);
  CopyFindings(*enacted, analysis);
  static_cast<PassFigures&>(analysis) = *enacted;
  ASSIGN_OR_RETURN(Shared<RunFigures> figures, Figures(one));
  const bool at_least = IsLowerBound(analysis.diagnostics) || HasOpaqueBodies(analysis.diagnostics);
  analysis.parts.push_back({kTrainingPart, WithAtLeast(at_least, std::move(figures))});
  WarnIfNothingIsTrained(one.run, *enacted, analysis.diagnostics);
  if (IsSpread(one.layout)) {
    ASSIGN_OR_RETURN(const Shared<LocalStep> step, Local(one));
    ASSIGN_OR_RETURN(Diagnostic note, RankNote(*enacted, *step, one.layout));
    ASSIGN_OR_RETURN(analysis.rank, WhoseFigures(one));
    analysis.diagnostics.push_back(std::move(note));
  }
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, Import(one.bindings));
  if (IsRecordedStep(model->graph)) {
    analysis.assumptions = {{"optimizer", "the step's own"}, {"loss", "the step's own"}};
  } else {
    FillAssumptions(workload, *enacted, analysis);
  }
  return absl::OkStatus();
}

absl::Status Study::AddInference(const Workload& workload, Analysis& analysis) {
  const Workload one = OneRun(workload, Mode::kInference);
  ASSIGN_OR_RETURN(const Shared<Enacted> enacted, Enact(one));
  if (workload.mode == Mode::kInference) {
    CopyModelFacts(*enacted, analysis);
    // What an export lost of the framework's program changes nothing in a session.
    if (RuntimeOf(workload).eager) CopyFindings(*enacted, analysis);
    FillInferenceAssumptions(workload, *enacted, analysis);
  }
  ASSIGN_OR_RETURN(Shared<RunFigures> figures, Figures(one));
  analysis.parts.push_back({kInferencePart, WithAtLeast(IsLowerBound(analysis.diagnostics), std::move(figures))});
  return absl::OkStatus();
}

absl::StatusOr<Analysis> Study::Expected(const Workload& workload) {
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, Import(workload.bindings));
  const Workload own = WithTorchOf(model->info, workload);
  Analysis analysis;
  analysis.info = model->info;
  analysis.diagnostics = model->diagnostics;
  analysis.batch = own.bindings.batch.value_or(analysis.info.file_batch);
  if (analysis.info.from_record) NoteIdleOptions(own.run, analysis.diagnostics);
  if (own.varied || !own.shortest.empty()) RETURN_IF_ERROR(Varied(own).status());
  if (own.mode != Mode::kInference) RETURN_IF_ERROR(AddTraining(own, analysis));
  const bool has_inference = !IsRecordedStep(model->graph) || own.mode == Mode::kInference;
  if (own.mode != Mode::kTraining && has_inference) RETURN_IF_ERROR(AddInference(own, analysis));
  analysis.graph = WithPaths(analysis.parameters, model);
  return analysis;
}

absl::StatusOr<Analysis> Study::AskUpTo(Ends ends, const Workload& workload) {
  ASSIGN_OR_RETURN(Analysis analysis, Expected(workload));
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, Import(workload.bindings));
  for (Part& part : analysis.parts) {
    auto wide = std::make_shared<RunFigures>(*part.figures);
    const Workload one = OneRun(workload, ModeOf(part));
    if (one.run.training) {
      RETURN_IF_ERROR(Widen(one, ends, *wide->program, PeakOf(*wide), analysis.diagnostics, *wide));
    } else {
      ASSIGN_OR_RETURN(const Shared<Enacted> enacted, Enact(one));
      std::vector<Diagnostic> findings = enacted->diagnostics;  // whose details are of training
      RETURN_IF_ERROR(Widen(one, Ends::kOfFile, *wide->program, PeakOf(*wide), findings, *wide));
      const auto found = findings.begin() + static_cast<std::ptrdiff_t>(enacted->diagnostics.size());
      analysis.diagnostics.insert(analysis.diagnostics.end(), found, findings.end());
      AddPlannedAhead(model->graph, *wide);
    }
    part.figures = std::move(wide);
  }
  return analysis;
}

absl::StatusOr<Analysis> Study::Ask(const Workload& workload) { return AskUpTo(Ends::kOfLibraries, workload); }

absl::StatusOr<Analysis> Study::AskWithRange(const Workload& workload) { return AskUpTo(Ends::kOfFile, workload); }

absl::Status Study::AddAddresses(const Workload& workload, Analysis& analysis) {
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, Import(workload.bindings));
  for (Part& part : analysis.parts) {
    const Workload one = WithTorchOf(model->info, OneRun(workload, ModeOf(part)));
    Shared<LocalStep> step = std::make_shared<const LocalStep>();
    if (one.run.training) {
      ASSIGN_OR_RETURN(step, Local(one));
    }
    auto drawn = std::make_shared<RunFigures>(*part.figures);
    ASSIGN_OR_RETURN(drawn->addresses, AddressesOf(*step, one, *drawn));
    part.figures = std::move(drawn);
  }
  return absl::OkStatus();
}

absl::StatusOr<Analysis> Analyze(const ModelFile& file, const Workload& workload) { return Study(file).Ask(workload); }

}  // namespace onnx_mem
