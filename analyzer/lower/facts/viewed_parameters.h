// dynamo's exporter computes what is made of stored tensors alone. Of a parameter that forward reads through a view the
// file has the view, once for each time that the line ran:
//
//   h = x @ self.weight.t()     in a loop of eight     t, t_1, ... t_7     ->     cell.weight, which all eight read
//   bias = self.table[places]                          val_105             ->     the table that the call on the node
//   names
//
// Sources: onnxscript/optimizer/_constant_folding.py (a transpose is folded whatever its size), torch/fx/graph.py
// (_Namespace: a value is named after its call), torch/export/graph_signature.py (all parameters by their paths).
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_VIEWED_PARAMETERS_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_VIEWED_PARAMETERS_H_

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

// The attributes of `self` that `line` reads through a chain of views that ends in `view`, each of the whole tensor:
//   "b_inp @ self.weight_ih.t()", "t"  ->  "weight_ih"
// "" where there is none, or more than one.
std::string AttributeViewedOn(std::string_view line, std::string_view view);

// `graph` with the parameters in place of their views, where the signature has them, the file has not, and the source
// line of each reader, or the call on it, shows them. Views of one parameter become one tensor; a transpose is there
// again at each reader. nullopt where there is none.
std::optional<Graph> NameViewedParameters(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_VIEWED_PARAMETERS_H_
