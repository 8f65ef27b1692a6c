#include "analyzer/lower/facts/results_of_buffers.h"

#include <algorithm>
#include <set>
#include <string>

#include "analyzer/exported/value_names.h"
#include "analyzer/lower/facts/parameters.h"

namespace onnx_mem {
namespace {

Dims InOrderOfSize(const Tensor& tensor) {
  Dims dims = tensor.shape.dims;
  dims.erase(std::remove(dims.begin(), dims.end(), 1), dims.end());
  std::sort(dims.begin(), dims.end());
  return dims;
}

// A tensor of the module has its path; a parameter that the exporter transposed has a name of the exporter's.
bool IsResult(const Graph& graph, const Tensor& tensor) {
  return IsFloating(tensor.dtype) && !IsExporterName(tensor.name) &&
         graph.signature.FindTarget(tensor.name) == nullptr && graph.signature.FindPlaceholder(tensor.name) == nullptr;
}

bool IsOperandOfAll(const Graph& graph, const Tensor& tensor) {
  return !tensor.consumers.empty() && std::all_of(tensor.consumers.begin(), tensor.consumers.end(), [&](NodeId reader) {
    return IsArgumentOfCall(graph.nodes[reader], tensor.name);
  });
}

}  // namespace

std::vector<TensorId> ResultsOfBuffers(const Graph& graph) {
  if (graph.signature.empty()) return {};
  std::set<Dims> of_parameters;
  for (TensorId id : graph.initializers) {
    if (!IsResult(graph, graph.tensors[id])) of_parameters.insert(InOrderOfSize(graph.tensors[id]));
  }
  std::vector<TensorId> results;
  for (TensorId id : graph.initializers) {
    const Tensor& tensor = graph.tensors[id];
    if (!IsResult(graph, tensor) || of_parameters.contains(InOrderOfSize(tensor))) continue;
    if (IsOperandOfAll(graph, tensor)) results.push_back(id);
  }
  return results;
}

}  // namespace onnx_mem
