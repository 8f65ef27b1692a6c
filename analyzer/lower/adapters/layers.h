// Layers of a lowered graph that read one stored weight.
#ifndef ONNX_MEM_ANALYZER_LOWER_ADAPTERS_LAYERS_H_
#define ONNX_MEM_ANALYZER_LOWER_ADAPTERS_LAYERS_H_

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// The parameter that a product reads: `id` itself, or what it is the transpose of. Invalid where it is none.
TensorId ParameterBehind(const Lowered& lowered, TensorId id);

// A product with a weight in four or eight bits (packed_base.h).
bool IsFourBitLinear(const FrameworkNode& node);
bool IsEightBitLinear(const FrameworkNode& node);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_ADAPTERS_LAYERS_H_
