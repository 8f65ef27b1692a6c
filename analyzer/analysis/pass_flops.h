// The work of a step's passes.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_PASS_FLOPS_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_PASS_FLOPS_H_

#include "absl/status/status.h"
#include "analyzer/analysis/figure_rows.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

// Adds the FLOPs of every step to the pass that it is of. Error: more than any run has.
absl::Status SumFlops(const MemoryProgram& program, PassFigures& result);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_PASS_FLOPS_H_
