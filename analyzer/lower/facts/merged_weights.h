// Weights that the TorchScript exporter merged because their numbers are equal: all zero biases and all ones scales of
// one length in a model that was just built, all layers of an nn.TransformerEncoder, which begin as copies of one.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_MERGED_WEIGHTS_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_MERGED_WEIGHTS_H_

#include <optional>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

// `graph` with every merged weight as an initializer of its own again, under its own name; nullopt if it has none.
std::optional<Graph> SplitMergedWeights(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_MERGED_WEIGHTS_H_
