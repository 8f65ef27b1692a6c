// Figures of one onnxruntime session, which plans its memory before it runs.
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_SESSION_FIGURES_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_SESSION_FIGURES_H_

#include "analyzer/analysis/analysis.h"

namespace onnx_mem {

// What a session keeps of each node and each stored tensor beside its contents (names, attributes, kernels): 4 to 6 KiB
// in the sessions of testdata/measured/onnxruntime_cpu.json whose models have more than a hundred of them.
inline constexpr int64_t kSessionObjectBytes = 4700;

// The CUDA context within the device bytes.
inline void SetContext(const Overhead& context, PeakFigures& figures) {
  figures.context_bytes = context.bytes;
  figures.context_low_bytes = context.low_bytes;
  figures.context_high_bytes = context.high_bytes;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_SESSION_FIGURES_H_
