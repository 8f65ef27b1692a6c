// What a checkpoint plan may choose: modules to run again as a whole, modules of which some operators' results are
// kept, or runs of modules of which each operator call is kept, runs again or is skipped.
#ifndef ONNX_MEM_PLANNER_MEASURE_GRANULARITY_H_
#define ONNX_MEM_PLANNER_MEASURE_GRANULARITY_H_

#include <string_view>

namespace onnx_mem {

enum class Granularity { kModule, kOp, kCall };
inline constexpr std::string_view NameOf(Granularity granularity) {
  return granularity == Granularity::kCall ? "call" : granularity == Granularity::kOp ? "op" : "module";
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_GRANULARITY_H_
