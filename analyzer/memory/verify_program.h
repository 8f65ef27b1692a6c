#ifndef ONNX_MEM_ANALYZER_MEMORY_VERIFY_PROGRAM_H_
#define ONNX_MEM_ANALYZER_MEMORY_VERIFY_PROGRAM_H_

#include "absl/status/status.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

// OK iff every life is a non-empty range of steps, sizes are not negative, and their sum does not overflow.
absl::Status VerifyProgram(const MemoryProgram& program);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_MEMORY_VERIFY_PROGRAM_H_
