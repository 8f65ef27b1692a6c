#include <array>

#include "analyzer/graph/status_macros.h"
#include "planner/plans/advice/way.h"

namespace onnx_mem {
namespace {

// By what they are paid with, cheapest first.
constexpr auto kRows = std::to_array<WayRow>({
    {"fused-optimizer", ProposeFusedOptimizer},
    {"in-place", ProposeInPlace},
    {"attention-kernel", ProposeAttentionKernel},
    {"expandable-segments", ProposeExpandableSegments},
    {"autocast", ProposeAutocast},
    {"checkpoint", ProposeCheckpoints},
    {"accumulate", ProposeAccumulation},
    {"half-precision", ProposeHalfPrecision},
    {"in-place-norms", ProposeInPlaceNorms},
    {"smaller-state", ProposeSmallerState},
    {"frozen-prefix", ProposeFrozenPrefix},
    {"frozen-matrix", ProposeFrozenMatrix},
    {"smaller-batch", ProposeSmallerBatch},
    {"smaller-input", ProposeSmallerInput},
    {"smaller-linear", ProposeSmallerLinear},
});

}  // namespace

absl::Span<const WayRow> WayRows() { return kRows; }

absl::StatusOr<Situation> SituationOf(Meter& meter, const Workload& workload) {
  ASSIGN_OR_RETURN(const Enacted* enacted, meter.Enact(workload));
  Run run = workload.run;
  run.training = workload.mode != Mode::kInference;
  ASSIGN_OR_RETURN(const Lowered* lowered, meter.Lower(workload.bindings, run));
  ASSIGN_OR_RETURN(const ImportedModel* model, meter.Model(workload.bindings));
  return Situation{workload, *model, *enacted, *lowered, workload.bindings.batch.value_or(model->info.file_batch)};
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
