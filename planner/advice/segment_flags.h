// A plan as the options that ask for it: --segment layer1,layer2 --segment layer3@host
#ifndef ONNX_MEM_PLANNER_ADVICE_SEGMENT_FLAGS_H_
#define ONNX_MEM_PLANNER_ADVICE_SEGMENT_FLAGS_H_

#include "planner/advice/way.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

// Whether --segment can say it: every segment is of modules alone.
bool IsForFlags(const ModulePlan& plan);

// The run of `change` with the plan's segments, and the flags for them.
void AddSegments(const ModulePlan& plan, Proposal& change);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_SEGMENT_FLAGS_H_
