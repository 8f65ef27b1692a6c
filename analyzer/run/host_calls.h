// Kept calls of a segment that wait in host memory.
#ifndef ONNX_MEM_ANALYZER_RUN_HOST_CALLS_H_
#define ONNX_MEM_ANALYZER_RUN_HOST_CALLS_H_

#include <string>
#include <vector>

#include "analyzer/run/second_run.h"

namespace onnx_mem {

// Why the outputs `moved` of calls of the region cannot wait on the host beside those that are `kept` on the device:
// one is in both, or a later call writes over it, maybe while it is copied. "": they can.
std::string WhyNotMoved(const RegionCalls& region, const KeptOutputs& kept, const KeptOutputs& moved);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUN_HOST_CALLS_H_
