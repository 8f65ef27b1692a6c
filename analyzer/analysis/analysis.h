// The whole line for one workload: imported graph + options -> the figures that every command reports.
// A batch sweep, a comparison, a fit search or an advice row is a loop over Analyze.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_ANALYSIS_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_ANALYSIS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/analysis/figure_rows.h"
#include "analyzer/analysis/peak_bounds.h"
#include "analyzer/devices/overhead.h"
#include "analyzer/eager/optimizer/optimizer.h"
#include "analyzer/memory/program.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

enum class Mode { kBoth, kTraining, kInference };

enum class Device { kGpu, kCpu };

struct Workload {
  Bindings bindings;
  Mode mode = Mode::kBoth;
  Run run;  // `training` is set by Analyze
  Optimizer optimizer;
  std::string allocator = "pytorch";  // a row of analyzer/allocators
  Device device = Device::kGpu;       // the CPU: of sessions alone
  Platform platform;                  // the card and the version of PyTorch; platform.torch_of_file is set by Analyze
  int64_t sessions = 1;               // of onnxruntime in one process, each with its weights and its arena
  bool training_bounds = false;       // measure too what the training peak may be, given what an export does not show
  bool addresses = false;             // tell too where the allocator puts every buffer, for pictures
  bool keep_parts = false;            // leave in Analysis::parts what the figures of training were made from
  bool intervals = true;              // false: neither intervals nor a runtime that plans ahead: nobody reads them
};

// Figures of one run (training or inference) of one workload.
struct RunFigures : PeakFigures {
  MemoryProgram program;  // training: the steady step (2 and later)
  Timeline timeline;
  std::vector<int64_t> addresses;  // AllocatorUsage::addresses, by buffer; empty where they are not told
};

// What the figures of a training step were made from, for who goes on from there.
struct TrainingParts {
  Bindings bindings;
  Run run;
  Optimizer optimizer;
  std::string allocator;
  Platform platform;  // as it was asked for
  PeakFigures figures;
  std::shared_ptr<const ImportedModel> model;
  std::shared_ptr<const Lowered> lowered;
  std::shared_ptr<const Enacted> enacted;
};

// Its PassFigures are those of training; of inference alone it has the FLOPs.
struct Analysis : PassFigures {
  ModelInfo info;
  std::vector<Parameter> parameters;
  int64_t parameter_count = 0;
  int64_t parameter_bytes = 0;
  int64_t buffer_bytes = 0;
  int64_t batch = 1;
  std::optional<RunFigures> training;
  std::optional<RunFigures> inference;
  bool batch_statistics = false;  // some layer normalizes over the batch
  Graph graph;                    // as imported: the file's tensors with their shapes
  std::vector<Diagnostic> diagnostics;
  std::vector<Diagnostic> plain_rewrites;                        // of lower.h: for a check of the file
  std::shared_ptr<TrainingParts> parts;                          // with Workload::keep_parts
  std::vector<std::pair<std::string, std::string>> assumptions;  // ("optimizer", "adam"), ("loss", "cross-entropy")
};

absl::StatusOr<Analysis> Analyze(const ModelFile& file, const Workload& workload);

// The same for a model whose dimensions are bound already: `workload.bindings` says how they were. For loops that vary
// the run and not the shapes (advice, comparison), which import once.
absl::StatusOr<Analysis> AnalyzeImported(ImportedModel model, const Workload& workload);

// The figures of a training step that was enacted, with `workload`'s optimizer and allocator: what Analyze reports as
// `training`. For planners, which enact the same model again and again.
absl::StatusOr<RunFigures> TrainingFigures(const Enacted& enacted, const Workload& workload);
absl::StatusOr<RunFigures> TrainingFigures(Enacted&& enacted, const Workload& workload);

// Bytes alive, step by step, of the steady training step alone: the timeline of TrainingFigures.
std::vector<int64_t> TrainingCourse(Enacted&& enacted, const Workload& workload);

// The exact peak of the steady training step alone.
int64_t TrainingPeak(const Enacted& enacted, const Workload& workload);

// The interval of that peak, and of an inference's (peak_bounds.h). `lowered` is Prepare(graph, run).
absl::StatusOr<PeakBounds> BoundTraining(const Graph& graph, const Lowered& lowered, const Workload& workload,
                                         Peak peak, std::vector<Diagnostic>& diagnostics,
                                         std::optional<Source>* source = nullptr);
absl::StatusOr<PeakBounds> BoundInference(const Graph& graph, const Lowered& lowered, const Run& run, Peak peak,
                                          std::vector<Diagnostic>& diagnostics,
                                          std::optional<Source>* source = nullptr);

// The same step on a card that has no more than `device_bytes` for the process (or with
// set_per_process_memory_fraction): where memory runs out, the allocator gives back what it has cached and tries again.
// nullopt: it runs out all the same.
struct LimitedRun {
  int64_t device_bytes = 0;      // with the CUDA context, at most the limit
  int64_t first_retries = 0;     // in the first steps, until the cache has settled
  int64_t retries_per_step = 0;  // in every later one: each waits for the card and costs time
};
absl::StatusOr<std::optional<LimitedRun>> TrainingWithin(const Enacted& enacted, const Workload& workload,
                                                         int64_t device_bytes);

// `workload` with the version of PyTorch that the file is of, for those who enact what they imported.
Workload WithTorchOf(const ModelInfo& info, Workload workload);

// The same for an inference of `model` that was enacted; without what a runtime that plans ahead would need.
absl::StatusOr<RunFigures> InferenceFigures(const ImportedModel& model, MemoryProgram enacted,
                                            const Workload& workload);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_ANALYSIS_H_
