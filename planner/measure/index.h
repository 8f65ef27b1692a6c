// Places of lowered nodes, candidates and steps are int32_t in what a plan says of them, and size_t in vectors.
#ifndef ONNX_MEM_PLANNER_MEASURE_INDEX_H_
#define ONNX_MEM_PLANNER_MEASURE_INDEX_H_

#include <cstddef>
#include <cstdint>

namespace onnx_mem {

inline size_t Index(int32_t i) { return static_cast<size_t>(i); }

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_INDEX_H_
