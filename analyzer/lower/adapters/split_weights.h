// Which stored weight a layer reads, and along which dimension a style splits it.
#ifndef ONNX_MEM_ANALYZER_LOWER_ADAPTERS_SPLIT_WEIGHTS_H_
#define ONNX_MEM_ANALYZER_LOWER_ADAPTERS_SPLIT_WEIGHTS_H_

#include "analyzer/graph/lowered.h"
#include "analyzer/run/layout.h"

namespace onnx_mem {

// As the module stores it; invalid: `node` is no linear layer and no embedding. `nodes` are those of the graph, whose
// tensors and kinds `lowered` has.
TensorId SplitWeightOf(const Lowered& lowered, const IdVector<NodeId, FrameworkNode>& nodes, const FrameworkNode& node);

// Of `weight`, which is SplitWeightOf `node`.
int SplitAxisOf(const FrameworkNode& node, TensorId weight, TensorStyle style);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_ADAPTERS_SPLIT_WEIGHTS_H_
