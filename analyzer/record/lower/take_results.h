// Of operators without a rule. Where autograd makes no node such an operator takes what its results
// take, and the line says all of that.
#ifndef ONNX_MEM_ANALYZER_RECORD_LOWER_TAKE_RESULTS_H_
#define ONNX_MEM_ANALYZER_RECORD_LOWER_TAKE_RESULTS_H_

#include "absl/status/status.h"
#include "analyzer/record/lower/value_tensors.h"

namespace onnx_mem::record {

// The tensors of all arguments.
TensorIds TensorsOf(const Line& line, ValueTensors& tensors);

// Whether the rule of `node`'s operator is one of such a call: of complex results, in place.
bool IsRuleFor(const FrameworkGraph& graph, const FrameworkNode& node, bool in_place);

// Gives `node`, whose outputs are there, its operator, its input and what says how the results lie: new tensors, a
// view, or what is written over.
absl::Status TakeResults(const Line& line, ValueTensors& tensors, const FrameworkGraph& graph, FrameworkNode& node);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_LOWER_TAKE_RESULTS_H_
