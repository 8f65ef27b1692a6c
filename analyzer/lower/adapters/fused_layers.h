// Layers that are several projections in one: query, key and value, or a gate and what it gates.
#ifndef ONNX_MEM_ANALYZER_LOWER_ADAPTERS_FUSED_LAYERS_H_
#define ONNX_MEM_ANALYZER_LOWER_ADAPTERS_FUSED_LAYERS_H_

#include <cstdint>
#include <vector>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/lower/adapters/styled_modules.h"

namespace onnx_mem {

// Pieces that the last dimension of a layer's output is cut into, one behind the other; 1: into none. Heads that have
// their query, key and value side by side are cut along another dimension, and count for nothing.
int64_t PiecesOf(const Lowered& lowered, const FrameworkNode& layer);

// That such layers want more than parallelize_module, and what.
void NoteFused(const std::vector<StyledModule>& modules, std::vector<Diagnostic>& notes);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_ADAPTERS_FUSED_LAYERS_H_
