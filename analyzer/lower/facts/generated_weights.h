// Weights that a file makes with ConstantOfShape instead of storing them, as the light models of the onnx package do.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_GENERATED_WEIGHTS_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_GENERATED_WEIGHTS_H_

#include <optional>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

// `graph` with every generated weight as an initializer of its own; nullopt if it has none.
std::optional<Graph> StoreGeneratedWeights(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_GENERATED_WEIGHTS_H_
