// Modules of functions that torch.jit.script compiled. TorchScript's exporter puts such a function's operators in place
// of its call, and these have no scope: their names begin without "/", as no other operator's of the model does.
//
//   Mul_1069 = Mul(block.0.alpha, x)      snake(x, self.alpha), where self is block.0
//   Add_1074 = Add(x, Mul_1073)           the same function: it reads what that one made
//
// Source: torch/csrc/jit/ir/ir.cpp, inlineCallTo: the nodes are cloned into the caller's graph, whose scope is the
// root.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_SCRIPTED_CALLS_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_SCRIPTED_CALLS_H_

#include "analyzer/graph/framework_graph.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem {

// `runs`: the nodes that are operators on the device. Gives those of a function that reads a module's own parameters
// that module's scope. Where it reads those of several modules, or another function reads the same ones (a module
// called again), they keep none.
void PlaceScriptedCalls(const Graph& graph, const IdVector<NodeId, bool>& runs, IdVector<NodeId, CallScope>& scopes);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_SCRIPTED_CALLS_H_
