// What a checkpoint plan may choose: modules to run again as a whole, modules of which some operators' results are
// kept, or runs of modules of which each operator call is kept, runs again or is skipped.
#ifndef ONNX_MEM_PLANNER_MEASURE_GRANULARITY_H_
#define ONNX_MEM_PLANNER_MEASURE_GRANULARITY_H_

#include <string_view>

namespace onnx_mem {

// kAuto: calls where a record names those of the framework, else modules.
enum class Granularity { kAuto, kModule, kOp, kCall };
inline constexpr std::string_view NameOf(Granularity granularity) {
  switch (granularity) {
    case Granularity::kAuto: return "auto";
    case Granularity::kModule: break;
    case Granularity::kOp: return "op";
    case Granularity::kCall: return "call";
  }
  return "module";
}

inline constexpr Granularity GranularityFor(bool is_recorded, Granularity requested) {
  if (requested != Granularity::kAuto) return requested;
  return is_recorded ? Granularity::kCall : Granularity::kModule;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_GRANULARITY_H_
