// The signature of the exported program (graph/program_signature.h) -> marks on the nodes whose module lost a tensor.
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_GRAPH_SIGNATURE_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_GRAPH_SIGNATURE_H_

#include <string_view>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

inline constexpr std::string_view kGraphSignature = "pkg.torch.export.ExportedProgram.graph_signature";

// Marks the nodes of modules with parameters that the file lacks (Node::lost_parameter). Needs the graph's links.
void MarkLostParameters(Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_GRAPH_SIGNATURE_H_
