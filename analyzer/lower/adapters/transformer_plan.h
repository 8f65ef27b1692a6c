// The plan of tensor parallelism that a transformer's graph suggests, where the question has none.
#ifndef ONNX_MEM_ANALYZER_LOWER_ADAPTERS_TRANSFORMER_PLAN_H_
#define ONNX_MEM_ANALYZER_LOWER_ADAPTERS_TRANSFORMER_PLAN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/lower/adapters/styled_modules.h"
#include "analyzer/run/layout.h"

namespace onnx_mem {

// Linear layers whose input comes from linear layers alone (behind attention, an activation, a gate) are row-wise,
// those that it comes from column-wise, by heads where query, key and value are one layer; the token embedding is split
// by rows, and the head that gives the output by columns. With sequence parallelism tables that are added to the token
// embedding are split by rows too, and what reads one tensor in several column-wise layers gathers it once, around the
// module that has them all (PrepareModuleInput).
// Sorted. Error (usage): the graph has no such layers.
absl::StatusOr<std::vector<StyledModule>> FindTransformerPlan(const Lowered& lowered, const TensorLayout& layout);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_ADAPTERS_TRANSFORMER_PLAN_H_
