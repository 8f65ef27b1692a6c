#include <array>

#include "analyzer/graph/status_macros.h"
#include "planner/advice/way.h"

namespace onnx_mem {
namespace {

// In the order in which equal savings are reported.
constexpr auto kRows = std::to_array<WayRow>({
    {"fused-optimizer", Price::kNothing, true, ProposeFusedOptimizer},
    {"in-place", Price::kNothing, true, ProposeInPlace},
    {"attention-kernel", Price::kNothing, true, ProposeAttentionKernel},
    {"expandable-segments", Price::kNothing, true, ProposeExpandableSegments},
    {"ddp-bucket-view", Price::kNothing, true, ProposeBucketView},
    {"no-outputs", Price::kNothing, true, ProposeNoOutputs},
    {"1f1b", Price::kNothing, true, ProposeOneForwardOneBackward},
    {"autocast", Price::kAccuracy, false, ProposeAutocast},
    {"shards", Price::kTime, true, ProposeShards},
    {"reshard", Price::kTime, true, ProposeReshard},
    {"fsdp-offload", Price::kTime, true, ProposeFsdpOffload},
    {"checkpoint", Price::kTime, true, ProposeCheckpoints},
    {"accumulate", Price::kTime, true, ProposeAccumulation},
    {"micro-batches", Price::kTime, true, ProposeMicroBatches},
    {"half-precision", Price::kAccuracy, false, ProposeHalfPrecision},
    {"half-precision-training", Price::kTraining, false, ProposeHalfPrecisionTraining},
    {"in-place-norms", Price::kTraining, false, ProposeInPlaceNorms},
    {"smaller-state", Price::kTraining, true, ProposeSmallerState},
    {"frozen-prefix", Price::kTraining, false, ProposeFrozenPrefix},
    {"frozen-matrix", Price::kTraining, false, ProposeFrozenMatrix},
    {"smaller-batch", Price::kTask, true, ProposeSmallerBatch},
    {"smaller-input", Price::kTask, false, ProposeSmallerInput},
    {"smaller-linear", Price::kTask, false, ProposeSmallerLinear},
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
