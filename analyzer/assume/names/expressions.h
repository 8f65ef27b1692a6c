// Which values cannot have been parts of a larger expression: Python evaluates the operands of an expression from left
// to right and each just before it is needed, so that what an expression leaves unnamed comes and goes like a stack.
//
//   y = f(x); z = g(x); return h(y) + z       h takes y while z waits on top of it: y has a name, z has one too (the
//                                             sum would have made it after h(y))
//   return h(f(x)) + g(x)                     f, h, g, +: nothing needs a name
#ifndef ONNX_MEM_ANALYZER_ASSUME_NAMES_EXPRESSIONS_H_
#define ONNX_MEM_ANALYZER_ASSUME_NAMES_EXPRESSIONS_H_

#include "analyzer/assume/names/calls.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem::names {

// For each tensor whether the order of the nodes leaves no expression that it could be an unnamed part of. True only of
// what one statement part (node or module call) of the function that made it reads, and no other.
IdVector<TensorId, bool> NeedNames(const Graph& graph, const Calls& calls);

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_EXPRESSIONS_H_
