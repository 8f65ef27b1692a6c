// Sizes as the allocators' tests write them.
#ifndef ONNX_MEM_TESTS_ANALYZER_ALLOCATORS_UNITS_H_
#define ONNX_MEM_TESTS_ANALYZER_ALLOCATORS_UNITS_H_

#include <cstdint>

namespace onnx_mem {

inline constexpr int64_t kKiB = 1024;
inline constexpr int64_t kMiB = kKiB * kKiB;

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_ANALYZER_ALLOCATORS_UNITS_H_
