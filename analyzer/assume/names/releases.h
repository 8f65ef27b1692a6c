// How long Python keeps a value: the frame of a module call holds its arguments until the call returns, so a value that
// is made outside a call and read inside it outlives its last reader there.
// Source: torch/nn/modules/module.py (_call_impl keeps args); measured in reference/rules.md 2.6.
#ifndef ONNX_MEM_ANALYZER_ASSUME_NAMES_RELEASES_H_
#define ONNX_MEM_ANALYZER_ASSUME_NAMES_RELEASES_H_

#include <cstdint>
#include <vector>

#include "analyzer/graph/framework_graph.h"

namespace onnx_mem::names {

enum class NameRules {
  kStraightLine,  // a value is freed after its last reader
  kArguments,     // and is held by the calls that it was passed into: certain
  kLocals,        // and by local variables as forward code is commonly written: likely
  kEveryName,     // and by names of their own in the function that made them, unless modules pass them on: possible
  kWholeCalls,    // and each until the call returns in whose code it is made and read: no name or list holds it longer
};

// For each tensor the index of the node after which the last Python reference is freed; -1 where no node reads or makes
// it. Graph outputs: the number of nodes (they are held to the end).
IdVector<TensorId, int32_t> ReleaseAfter(const FrameworkGraph& graph, NameRules rules);

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_RELEASES_H_
