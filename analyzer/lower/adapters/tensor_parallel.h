// A lowered graph as one rank of tensor parallelism runs it: weights, and what is made of them, in local sizes, with
// collectives between the modules of a plan (torch/distributed/tensor/parallel/style.py).
//
//   colwise   x -> [all_reduce_gradient] -> linear(x, W[out/T, in]) -> y[.., out/T]
//   rowwise   x[.., in/T] -> linear(x, W[out, in/T]) -> a part of the sum -> [all_reduce] -> y
//
// With sequence parallelism the collectives are all_gather and reduce_scatter along the sequence.
#ifndef ONNX_MEM_ANALYZER_LOWER_ADAPTERS_TENSOR_PARALLEL_H_
#define ONNX_MEM_ANALYZER_LOWER_ADAPTERS_TENSOR_PARALLEL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/lower/adapters/styled_modules.h"
#include "analyzer/run/layout.h"

namespace onnx_mem {

// Without a plan the one of transformer_plan.h is taken.
// Error (usage): a pattern that matches no module, an operator that has no row for a split dimension (split_rules.h).
absl::Status SplitTensors(Lowered& lowered, const TensorLayout& layout);

// The same of modules that are known: StyledPlanOf's.
absl::Status SplitTensors(Lowered& lowered, const TensorLayout& layout, std::vector<StyledModule> modules);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_ADAPTERS_TENSOR_PARALLEL_H_
