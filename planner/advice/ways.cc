#include <array>

#include "analyzer/graph/status_macros.h"
#include "planner/advice/way.h"

namespace onnx_mem {
namespace {

// In the order in which equal savings are reported.
constexpr auto kRows = std::to_array<WayRow>({
    {"fused-optimizer", Price::kNothing, ProposeFusedOptimizer},
    {"in-place", Price::kNothing, ProposeInPlace},
    {"attention-kernel", Price::kNothing, ProposeAttentionKernel},
    {"expandable-segments", Price::kNothing, ProposeExpandableSegments},
    {"autocast", Price::kAccuracy, ProposeAutocast},
    {"checkpoint", Price::kTime, ProposeCheckpoints},
    {"accumulate", Price::kTime, ProposeAccumulation},
    {"half-precision", Price::kAccuracy, ProposeHalfPrecision},
    {"half-precision-training", Price::kTraining, ProposeHalfPrecisionTraining},
    {"in-place-norms", Price::kTraining, ProposeInPlaceNorms},
    {"smaller-state", Price::kTraining, ProposeSmallerState},
    {"frozen-prefix", Price::kTraining, ProposeFrozenPrefix},
    {"frozen-matrix", Price::kTraining, ProposeFrozenMatrix},
    {"smaller-batch", Price::kTask, ProposeSmallerBatch},
    {"smaller-input", Price::kTask, ProposeSmallerInput},
    {"smaller-linear", Price::kTask, ProposeSmallerLinear},
});

}  // namespace

absl::Span<const WayRow> WayRows() { return kRows; }

absl::StatusOr<Situation> SituationOf(Study& study, const Workload& workload) {
  ASSIGN_OR_RETURN(const Shared<Enacted> enacted, study.Enact(workload));
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, study.Import(workload.bindings));
  return Situation{workload, study, model, enacted, workload.bindings.batch.value_or(model->info.file_batch)};
}

std::string_view NameOf(Price price) {
  switch (price) {
    case Price::kNothing: return "nothing";
    case Price::kAccuracy: return "accuracy";
    case Price::kTime: return "time";
    case Price::kTraining: return "training";
    case Price::kTask: return "task";
  }
  return "";
}

}  // namespace onnx_mem
