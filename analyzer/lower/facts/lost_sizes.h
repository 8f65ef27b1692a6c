// How large parameters may be that no operator of the file reads, from the sizes of those that it has.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_LOST_SIZES_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_LOST_SIZES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/exported/parameter_path.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem {

// What the exporter computed of a stored tensor, a transposed weight: floating, of more than one element.
bool IsFoldedTensor(const Tensor& tensor);

bool IsLinearLayer(const Node& node);
bool IsConvolutionLayer(const Node& node);

// Channels that a layer gives, from its weight; 0 where that is unknown.
int64_t ChannelsOf(const Graph& graph, const Node& node);

// Parameters that are not in the file, by name, and of each what the exporter computed of it alone: its transpose,
// which is as large.
using ShownParameters = absl::flat_hash_map<std::string, TensorId>;

// What parameters take together at most; LostTensors::unknown_most says by which rule.
struct MostOfLost {
  int64_t bytes = 0;
  int64_t on_the_way_bytes = 0;  // of a training step, which computes anew what the exporter folded, and keeps it
};
MostOfLost MostBytesOf(const Graph& graph, const std::vector<std::string>& unknown, const ShownParameters& shown);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_LOST_SIZES_H_
