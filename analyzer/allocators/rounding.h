#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_ROUNDING_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_ROUNDING_H_

#include <cstdint>

namespace onnx_mem {

inline int64_t RoundUp(int64_t bytes, int64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

// No device has it, and rounding it cannot overflow.
inline constexpr int64_t kLargestRequestBytes = int64_t{1} << 60;

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_ROUNDING_H_
