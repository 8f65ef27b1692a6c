// The signature of the exported program, which dynamo's exporter writes to the graph -> what each stored tensor is.
//
//   # inputs
//   p_conv1_weight: PARAMETER target='conv1.weight'
//   b_bn1_running_mean: BUFFER target='bn1.running_mean' persistent=True
//   x: USER_INPUT
//
// Source: torch/export/graph_signature.py (ExportGraphSignature.__str__).
#ifndef ONNX_MEM_ANALYZER_ONNX_GRAPH_SIGNATURE_H_
#define ONNX_MEM_ANALYZER_ONNX_GRAPH_SIGNATURE_H_

#include <string_view>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

inline constexpr std::string_view kGraphSignature = "pkg.torch.export.ExportedProgram.graph_signature";

// Marks the nodes that read tensors which `text` names (graph/stored_kind_mark.h), and those of modules with parameters
// that the file lacks. Lines of another form are left out. Needs the graph's links.
void MarkStoredKinds(std::string_view text, Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_GRAPH_SIGNATURE_H_
