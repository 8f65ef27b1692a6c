// What a checkpoint plan may choose: modules to run again as a whole, or modules of which some operators' results are
// kept.
#ifndef ONNX_MEM_PLANNER_MEASURE_GRANULARITY_H_
#define ONNX_MEM_PLANNER_MEASURE_GRANULARITY_H_

namespace onnx_mem {

enum class Granularity { kModule, kOp };

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_GRANULARITY_H_
