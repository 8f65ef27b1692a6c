// What the framework runs, whatever it was read from: a call of a framework operator per node, in the order in which
// they ran. Made by analyzer/lower from a file's graph and by analyzer/record from a recorded program.
#ifndef ONNX_MEM_ANALYZER_GRAPH_FRAMEWORK_GRAPH_H_
#define ONNX_MEM_ANALYZER_GRAPH_FRAMEWORK_GRAPH_H_

#include <string>
#include <vector>

#include "analyzer/graph/dag.h"

namespace onnx_mem {

// Where in the framework's program a node ran.
struct CallScope {
  std::string module;              // dotted path of the nn.Module: "layer1.0.conv1"; "" for the root
  std::vector<std::string> calls;  // enclosing module calls, outermost first, each naming one call
  std::string framework_op;        // "gelu#gelu_3": the ATen operator whose part it is, '#', the call; "" if not known
};

struct FrameworkNode : AnyNode, CallScope {
  CallScope& scope() { return *this; }
  const CallScope& scope() const { return *this; }
};

// Tensors that a file's graph had keep their ids.
struct FrameworkGraph : Dag<FrameworkNode> {};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_FRAMEWORK_GRAPH_H_
