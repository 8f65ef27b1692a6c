// Workload -> what it takes, as the accountant of analyzer/ measures it: for loops that ask about one model again and
// again (batch search, advice). What two questions share is worked out once: the import of a binding, the lowered
// graph of runs that differ in segments or frozen parameters, the enactment of those that differ in the optimizer.
#ifndef ONNX_MEM_PLANNER_ADVICE_METER_H_
#define ONNX_MEM_PLANNER_ADVICE_METER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/devices/verdict.h"
#include "analyzer/onnx/build/import.h"

namespace onnx_mem {

// One training step or one inference.
struct Footprint : PeakFigures, PassFigures {};

class Meter {
 public:
  // `file` must outlive it.
  explicit Meter(const ModelFile& file) : file_(file) {}
  // The same, with what an analysis of the file has left of its training step.
  Meter(const ModelFile& file, const TrainingParts& known);

  // The training step of `workload`, or the inference where its mode is kInference. Errors: those of Analyze.
  absl::StatusOr<Footprint> Measure(const Workload& workload);

  // What the same run needs on the device, low, expected and high.
  absl::StatusOr<Need> MeasureNeed(const Workload& workload);

  // The model with its dimensions bound, and the enacted run. Valid until the next call of either or of Measure.
  absl::StatusOr<const ImportedModel*> Model(const Bindings& bindings);
  absl::StatusOr<const Enacted*> Enact(const Workload& workload);

  // The lowered graph of the training step or inference that `run` says, as Model and Enact.
  absl::StatusOr<const Lowered*> Lower(const Bindings& bindings, const Run& run);

  int64_t enactments() const { return enactments_; }

 private:
  struct Import {
    Bindings bindings;
    std::shared_ptr<const ImportedModel> model;
    std::optional<Source> source = {};
  };
  struct Lowering {
    Bindings bindings;
    Run run;  // but for what EnactLowered alone reads
    std::shared_ptr<const Lowered> lowered;
  };
  struct Enactment {
    Bindings bindings;
    Run run;
    std::shared_ptr<const Enacted> enacted;
  };
  struct Known {
    Bindings bindings;
    Run run;
    Optimizer optimizer;
    std::string allocator;
    Platform platform;
    Footprint footprint;
  };
  bool IsKnown(const Workload& workload) const;
  absl::StatusOr<Import*> ImportOf(const Bindings& bindings);

  const ModelFile& file_;
  std::optional<Known> known_;
  std::deque<Import> imports_;
  std::deque<Lowering> lowerings_;
  std::deque<Enactment> enactments_kept_;
  int64_t enactments_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_METER_H_
