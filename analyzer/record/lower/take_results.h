// An operator without a rule where autograd makes no node: it takes what its results take, and the line says all of that.
#ifndef ONNX_MEM_ANALYZER_RECORD_LOWER_TAKE_RESULTS_H_
#define ONNX_MEM_ANALYZER_RECORD_LOWER_TAKE_RESULTS_H_

#include "absl/status/status.h"
#include "analyzer/record/lower/value_tensors.h"

namespace onnx_mem::record {

// Gives `node`, whose outputs are there, its operator and what says how they lie: new tensors, a view, or what is
// written over, whose inputs are the caller's to add.
absl::Status TakeResults(const Line& line, ValueTensors& tensors, const FrameworkGraph& graph, FrameworkNode& node);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_LOWER_TAKE_RESULTS_H_
