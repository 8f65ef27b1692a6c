// One model, and everything that is worked out of it: each hop of the line once, when somebody reads it, and kept for
// who asks next. A batch sweep, a fit, a plan, advice, a check and a comparison are loops over one study.
//
//   Import -> Lower -> Enact -> Figures -> Expected -> Ask -> AskWithRange      each stands on those before it
//
// What two questions share is what their keys have in common: the import of a binding, the lowered graph of runs that
// differ in segments or frozen parameters, the enactment of those that differ in the optimizer.
//
// A study is of one caller: it is not for several threads at once, while the file that it stands on is. What it has
// kept changes no answer, so each call of the library makes its own.
#ifndef ONNX_MEM_ANALYZER_STUDY_STUDY_H_
#define ONNX_MEM_ANALYZER_STUDY_STUDY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/devices/verdict.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/parallel/rank_step.h"
#include "analyzer/prepare/source.h"
#include "analyzer/study/memo.h"

namespace onnx_mem {

template <class T>
using Shared = std::shared_ptr<const T>;

class Study {
 public:
  explicit Study(Shared<ModelFile> file) : file_(std::move(file)) {}
  // Of a file that outlives it.
  explicit Study(const ModelFile& file) : file_(Shared<ModelFile>(), &file) {}
  // Of a model whose dimensions are bound already, whatever a question's bindings say.
  explicit Study(ImportedModel model);

  const ModelFile& file() const { return *file_; }

  // The hops. What they return is the caller's for as long as it is held. Where they take a workload it is of one run:
  // the training step, or the inference where its mode is kInference. Errors: those of the hops themselves.
  absl::StatusOr<Shared<ImportedModel>> Import(const Bindings& bindings);
  absl::StatusOr<Shared<Lowered>> Lower(const Bindings& bindings, const Run& run);
  // Of a pipeline: the whole model, for one micro-batch.
  absl::StatusOr<Shared<Enacted>> Enact(const Workload& workload);
  // What is enacted at once: of a pipeline one micro-batch.
  absl::StatusOr<Bindings> EnactedBindings(const Workload& workload);
  // A training step before its optimizer: of one rank where it is spread.
  absl::StatusOr<Shared<LocalStep>> Local(const Workload& workload);
  absl::StatusOr<Shared<RunFigures>> Figures(const Workload& workload);

  // The exact peak alone, which costs no replay of the allocator.
  absl::StatusOr<int64_t> PeakBytes(const Workload& workload);
  // What the run needs on the device, low, expected and high.
  absl::StatusOr<Need> NeedOf(const Workload& workload);

  // What is expected of both runs, or of the one that the workload says.
  absl::StatusOr<Analysis> Expected(const Workload& workload);
  // With what libraries may take as workspaces, with the interval of an inference, and with what a runtime that plans
  // ahead would need.
  absl::StatusOr<Analysis> Ask(const Workload& workload);
  // With the interval of the training peak too (peak_bounds.h), which is as dear as all the rest together.
  absl::StatusOr<Analysis> AskWithRange(const Workload& workload);

  // Tells `analysis` of a training step whose worst rank answers of others, with addresses, for pictures: of all of a
  // pipeline, of the last where shards differ. None where all ranks are alike or one is requested.
  absl::Status AddRanks(const Workload& workload, Analysis& analysis);

  // Tells `analysis` of `workload` where the allocator puts every buffer, for pictures.
  absl::Status AddAddresses(const Workload& workload, Analysis& analysis);

  int64_t enactments() const { return enactments_; }

 private:
  struct Imported {
    Shared<ImportedModel> model;
    std::optional<Source> source = {};  // of its graph, when that was lowered
  };
  struct RunKey {
    Bindings bindings;
    Run run;
    friend bool operator==(const RunKey&, const RunKey&) = default;
  };
  struct EnactedKey {
    Bindings bindings;
    EnactedLayout part;
    friend bool operator==(const EnactedKey&, const EnactedKey&) = default;
  };
  enum class Ends { kOfLibraries, kOfFile };  // what moves the ends of a training step's range

  absl::StatusOr<std::shared_ptr<Imported>> ImportOf(const Bindings& bindings);
  absl::Status AddTraining(const Workload& workload, Analysis& analysis);
  // "rank 0 of 8, which needs most; rank 7: 12 MiB less alive".
  absl::StatusOr<std::string> WhoseFigures(const Workload& workload);
  absl::Status AddInference(const Workload& workload, Analysis& analysis);
  absl::Status Widen(const Workload& workload, Ends ends, const MemoryProgram& program, Peak peak,
                     std::vector<Diagnostic>& diagnostics, PeakFigures& figures);
  // The workload at the sizes between its shortest and its own, growing; and the ends of the range that hold for all.
  absl::StatusOr<std::vector<Workload>> Varied(const Workload& workload);
  absl::StatusOr<std::vector<LocalStep>> StepsOf(const std::vector<Workload>& workloads);
  absl::Status WidenByVaried(const Workload& workload, std::vector<Diagnostic>& diagnostics, PeakFigures& figures);
  absl::StatusOr<Analysis> AskUpTo(Ends ends, const Workload& workload);

  Shared<ModelFile> file_;                 // null: there is one import
  std::shared_ptr<Imported> only_import_;  // or null
  Memo<Bindings, std::shared_ptr<Imported>> imports_;
  Memo<RunKey, Shared<Lowered>> lowerings_;  // by what EnactLowered alone does not read
  Memo<EnactedKey, Shared<Enacted>> enacted_;
  Memo<Workload, Shared<LocalStep>> locals_;
  Memo<Workload, Shared<RunFigures>> figures_;
  int64_t enactments_ = 0;
};

// A study of one question.
absl::StatusOr<Analysis> Analyze(const ModelFile& file, const Workload& workload);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_STUDY_STUDY_H_
