#include "analyzer/parallel/data_parallel.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/verify_program.h"
#include "analyzer/parallel/strategies.h"

namespace onnx_mem {
namespace {

using Strategy = absl::StatusOr<LocalStep> (*)(const SpreadInput& input);

Strategy StrategyOf(DataParallel data) {
  switch (data) {
    case DataParallel::kNone: break;
    case DataParallel::kDdp: return SpreadDdp;
    case DataParallel::kZero1: return SpreadZero1;
    case DataParallel::kFsdp: return SpreadFsdp;
  }
  return nullptr;
}

}  // namespace

Run EnactedRun(Run run, const RankLayout& layout) {
  if (layout.data != DataParallel::kFsdp) return run;
  run.accumulate = 1;
  if (layout.unsharded_type) run.dtype = layout.unsharded_type;
  return run;
}

absl::Status CheckUnshardedType(const Lowered& plain, DType unsharded) {
  for (TensorId id(0); plain.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = plain.graph.tensors[id];
    if (plain.kinds[id] != TensorKind::kParameter || tensor.dtype != unsharded) continue;
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                       absl::StrCat("--fsdp-dtype: '", tensor.name, "' has this type already"),
                       {"way out: the same without --fsdp-dtype"});
  }
  return absl::OkStatus();
}

std::vector<TrainedParameter> WholeParameters(const Enacted& enacted) {
  std::vector<TrainedParameter> trained;
  for (const Parameter& p : enacted.parameters) {
    if (!p.has_gradient) continue;
    trained.push_back({p.name, p.bytes, *NumElements(Shape(p.dims)), p.dims, p.dtype});
  }
  return trained;
}

int64_t TrainedBytes(const std::vector<TrainedParameter>& parameters) {
  int64_t bytes = 0;
  for (const TrainedParameter& p : parameters) bytes += p.bytes;
  return bytes;
}

LocalStep WholeStep(const Enacted& enacted) {
  return {{std::shared_ptr<const void>(), &enacted.program}, WholeParameters(enacted)};
}

LocalStep WholeStep(Enacted&& enacted) {
  std::vector<TrainedParameter> trained = WholeParameters(enacted);
  return {std::make_shared<const MemoryProgram>(std::move(enacted.program)), std::move(trained)};
}

absl::Status CheckRank(const RankLayout& layout) {
  const int64_t ranks = WorldOf(layout);
  if (!IsSpread(layout) || !layout.rank || (*layout.rank >= 0 && *layout.rank < ranks)) return absl::OkStatus();
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                     absl::StrCat("--rank ", *layout.rank, ": there are ", ranks, " ranks, 0 to ", ranks - 1));
}

absl::StatusOr<LocalStep> SpreadStep(const Enacted& enacted, const Run& run, const RankLayout& layout) {
  RETURN_IF_ERROR(CheckRank(layout));
  const Strategy strategy = StrategyOf(layout.data);
  if (strategy == nullptr) return WholeStep(enacted);
  const StepFacts facts = FactsOf(enacted);
  ASSIGN_OR_RETURN(LocalStep step, strategy({enacted, facts, run, layout}));
  RETURN_IF_ERROR(VerifyProgram(*step.program));
  return step;
}

}  // namespace onnx_mem
