// Which moments to check for room: picks the cuts and window chains that bound a problem best from its start.
#ifndef ONNX_MEM_PLANNER_EXACT_CUT_CHOICE_H_
#define ONNX_MEM_PLANNER_EXACT_CUT_CHOICE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/exact/remaining_cost.h"
#include "planner/schedule/stages.h"

namespace onnx_mem {

struct CutChoice {
  std::vector<CutChain> chains;  // the best chain of windows first, then single cuts
  int64_t lower_bound = 0;       // on the cost of any schedule, anchors included; kImpossible if none fits
};

// At most `single_count` single cuts beside the best chain. `stop` is asked now and then; once it says true, the best
// of what has been tried is taken.
CutChoice ChooseCuts(const StageProblem& problem, int64_t budget_bytes, int single_count,
                     const std::function<bool()>& stop = [] { return false; });

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_EXACT_CUT_CHOICE_H_
