// Which values of an imported graph are Python numbers, which cost nothing, and which are tensors on the device.
//
// Demand runs backward from the outputs. A slot that takes a shape, axes or sizes asks for host values; every other
// slot asks for a tensor, unless the value is a single known number. So Shape-Gather-Concat before a Reshape is host
// arithmetic though it has nodes, and Range-Unsqueeze before an embedding runs on the device though its contents can
// be folded.
#ifndef ONNX_MEM_ANALYZER_LOWER_OPERATORS_RESIDENCE_H_
#define ONNX_MEM_ANALYZER_LOWER_OPERATORS_RESIDENCE_H_

#include <vector>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

struct Residence {
  IdVector<NodeId, bool> runs;         // the node is an operator on the device
  IdVector<TensorId, bool> on_device;  // some operator reads the tensor there, or it is an output of the graph
  IdVector<TensorId, bool> number;     // one number that the framework passes as a Python scalar
  IdVector<TensorId, bool> from_data;  // computed from inputs or weights, not from shapes and constants alone
  TensorIds read_back;                 // device tensors that the host reads: their contents decide a size
};

Residence FindResidence(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_OPERATORS_RESIDENCE_H_
