// The signature of the exported program (graph/program_signature.h) -> marks on the nodes that read stored tensors.
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_GRAPH_SIGNATURE_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_GRAPH_SIGNATURE_H_

#include <string_view>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

inline constexpr std::string_view kGraphSignature = "pkg.torch.export.ExportedProgram.graph_signature";

// Marks the nodes that read tensors which the graph's signature names (graph/stored_kind_mark.h), and those of modules
// with parameters that the file lacks. Needs the graph's links.
void MarkStoredKinds(Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_GRAPH_SIGNATURE_H_
