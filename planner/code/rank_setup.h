// What a rank does before its first step, as Python: the plan first, then what shards or copies the model, from the
// inside out, then the optimizer, which sees what the strategy left of the parameters.
#ifndef ONNX_MEM_PLANNER_CODE_RANK_SETUP_H_
#define ONNX_MEM_PLANNER_CODE_RANK_SETUP_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "analyzer/run/layout.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

// The options that mean it: "fsdp 8", "hsdp 2x4:layers\.\d+", "fsdp 8 --tp 2".
std::string TextOf(const RankLayout& layout);

// The option that says the number of ranks along `axis`, and its value: {"--fsdp", "8:layers\\.\\d+"}.
std::pair<std::string, std::string> RanksFlag(RankAxis axis, const RankLayout& layout);

// Error (usage): torch has no set-up that splits tensors as the figures have it.
absl::Status CheckSetup(const SpreadPlan& spread);

// `set_up(model, optimizer_class, **settings)`, which calls apply_plan.
std::string RankSetup(const SpreadPlan& spread);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_RANK_SETUP_H_
