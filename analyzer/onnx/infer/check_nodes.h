// Nodes as their operators' definitions have them: what a file may get wrong without a look at any shape. Inference,
// ONNX's own and ours, and all that follows count on it.
#ifndef ONNX_MEM_ANALYZER_ONNX_INFER_CHECK_NODES_H_
#define ONNX_MEM_ANALYZER_ONNX_INFER_CHECK_NODES_H_

#include <string>

#include "absl/status/status.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {

// Of the graph and its bodies, functions inlined: every node names an operator; where the operator is known, the node
// has its inputs, no more of them and no more outputs, its attributes with their types, and its bodies. Sizes and
// counts in attributes are ones that an operator can have. Errors: bad-model with the node; bad-shape
// where an input is missing.
absl::Status CheckNodes(const onnx::ModelProto& model);

// "node '/conv1/Conv' (Conv)"; one without a name is "node #3 (Conv)", by its place in the graph.
std::string NameInGraph(const onnx::NodeProto& node, int index);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_INFER_CHECK_NODES_H_
