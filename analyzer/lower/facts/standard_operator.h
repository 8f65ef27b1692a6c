// Questions about nodes of an imported graph: is it such an operator of ai.onnx?
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_STANDARD_OPERATOR_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_STANDARD_OPERATOR_H_

#include "analyzer/graph/graph.h"
#include "analyzer/lower/draft/match.h"

namespace onnx_mem {

inline bool IsStandard(const Node& node, const OpLiteral& op) { return node.domain.empty() && node.op == op; }

// True if it is one of `names`.
template <class Names>
  requires requires(const Names& names) { names.begin(); }
bool IsStandard(const Node& node, const Names& names) {
  return node.domain.empty() && IsOneOf(names, node.op);
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_STANDARD_OPERATOR_H_
