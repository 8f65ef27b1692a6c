// Rewrites of a file that change nothing of what runs, taken back, so that the same model gives the same answer:
//
//   layer.weight = Constant[value = w]           an initializer layer.weight
//   layer.weight_1 = Identity(layer.weight)      what reads layer.weight_1 reads layer.weight
//   zz_fc = MatMul(zz_x, zz_onnx::MatMul_7)      names without zz_
//
// Not taken back is what exporters of torch write themselves: constants of the code (a matrix of a transform) in
// Constant nodes that they name, beside initializers that hold the parameters; and an Identity for each weight that
// they merged with another one of equal contents, which its own layer reads as well.
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_PLAIN_FORM_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_PLAIN_FORM_H_

#include <string>

#include "analyzer/onnx/read/seen_contents.h"

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace onnx_mem {

// Stored numbers of the main graph that a Constant or an Identity holds become initializers.
void StoreMovedWeights(onnx::GraphProto& graph);

// The axes of a Transpose count from the first one. TorchScript's exporter writes x.permute(0, -1, 1) as it stands
// (torch/onnx/_internal/torchscript_exporter/symbolic_opset9.py, permute), which ONNX takes for no order of axes.
void CountAxesFromFirst(onnx::GraphProto& graph);

// Takes off what all values of the graph but its inputs and outputs begin with, and all nodes, where names are then
// those of an exporter; of the names in `seen` too. Gives what the values began with, "" where it is nothing.
std::string StripPrefix(onnx::GraphProto& graph, SeenContents& seen);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_PLAIN_FORM_H_
