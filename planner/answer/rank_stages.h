// Plans of a rank's stages, where it has several, put together into plans of the rank.
#ifndef ONNX_MEM_PLANNER_ANSWER_RANK_STAGES_H_
#define ONNX_MEM_PLANNER_ANSWER_RANK_STAGES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/measure/accountant.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

// The step of a rank with segments in each of its stages, by stage, first first.
using EnactStages = std::function<absl::StatusOr<Enacted>(const std::vector<std::vector<Segment>>& segments)>;

// A stage, and the plans that were found for it while the other stages of its rank had none.
struct PlannedStage {
  int64_t stage = 0;
  Accountant accountant;               // of the rank's step; it searches among the stage's nodes
  std::vector<Segment> given;          // those of the request that are of it
  std::vector<ModulePlan> plans = {};  // measured on the rank
};

// What the stages take of their rank overlaps in time, so that savings do not add up: a few plans of each stage are
// enacted with a few of the others. With one stage these are its plans. Segments know their stage.
absl::StatusOr<std::vector<ModulePlan>> TogetherOnRank(std::vector<PlannedStage>& stages, const PlanRequest& request,
                                                       const EnactStages& enact);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ANSWER_RANK_STAGES_H_
