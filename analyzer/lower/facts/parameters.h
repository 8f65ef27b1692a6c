// Which tensors stored in a file the framework trains, which it keeps as buffers, and which names an exporter invented.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_PARAMETERS_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_PARAMETERS_H_

#include <string_view>

#include "analyzer/exported/value_names.h"
#include "analyzer/graph/graph.h"
#include "analyzer/graph/tensor_kind.h"
#include "analyzer/lower/draft/draft.h"
#include "analyzer/lower/facts/stored_tensors.h"

namespace onnx_mem {

// True if the call of the framework that `node` became of was given the value `name` of the exported program.
bool IsArgumentOfCall(const Node& node, std::string_view name);

// True for the bias of a convolution that an exporter made up with the weight. Of one channel it is a number of the
// code by now, filled into a tensor.
bool IsFoldedBias(const Draft& draft, TensorId id);

// True if some operator reads the tensor in the slot of a layer's weight or bias.
bool IsLayerWeight(const Graph& graph, TensorId id);

// kParameter or kBuffer for a stored or constant tensor that lives on the device.
//   integers, running statistics, masks, tables      buffer
//   floating weights                                 parameter
//   integers that a quantized layer reads as weight  parameter, which nothing trains
//   floating Constant nodes                          buffer, unless they are a layer's weight and have their own name
//   what the exported program calls a constant       buffer
//   what an input is normalised with                 buffer
TensorKind KindOfStored(const Graph& graph, TensorId id);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_PARAMETERS_H_
