// The rewrites of dynamo's optimizer, whose names it leaves on the nodes that they made, and what lowering does about
// each: one row per name. Rules without a name (onnxscript, _no_op.py, _collapse_slices.py, _broadcast_to_matmul.py,
// _cast_constant_of_shape.py) leave no trace.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_EXPORTER_RULES_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_EXPORTER_RULES_H_

#include <string_view>
#include <vector>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem {

// True if the exporter's rule made the node, or one that it came from.
bool HasRule(const Node& node, std::string_view rule);

// Warnings for rules that took operators away which cannot be known any more, and for rules of no row.
std::vector<Diagnostic> CheckExporterRules(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_EXPORTER_RULES_H_
