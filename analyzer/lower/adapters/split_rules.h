// How a dimension that is split over the ranks of tensor parallelism passes through an operator.
#ifndef ONNX_MEM_ANALYZER_LOWER_ADAPTERS_SPLIT_RULES_H_
#define ONNX_MEM_ANALYZER_LOWER_ADAPTERS_SPLIT_RULES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/graph/framework_graph.h"

namespace onnx_mem {

inline constexpr int kWhole = -1;  // no dimension is split

// A node, with the split dimension of each input; shapes are those of the whole tensors.
struct SplitCall {
  const FrameworkGraph& graph;
  const FrameworkNode& node;
  std::vector<int> axes;
  int64_t ranks = 1;
  // Of which the split dimension consists, one behind the other, each split over all ranks: the query, key and value
  // of one layer, or the samples whose heads were put into one dimension with them.
  int64_t pieces = 1;

  const Dims& input(size_t i) const { return graph.tensors[node.inputs[i]].shape.dims; }
  const Dims& output(size_t i = 0) const { return graph.tensors[node.outputs[i]].shape.dims; }
};

struct OutputSplit {
  int axis = kWhole;
  int64_t pieces = 1;  // as of SplitCall
};

// The input of an attention that is added to its scores.
inline constexpr size_t kMaskOfAttention = 3;

// The split dimension of the outputs. nullopt: no row says how. A product over a split dimension gives parts of a sum,
// whole in size.
std::optional<OutputSplit> SplitOfOutputs(const SplitCall& call);

// The dimension of a product's second operand that its output's last one comes from.
size_t OutputAxisOf(const FrameworkNode& product);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_ADAPTERS_SPLIT_RULES_H_
