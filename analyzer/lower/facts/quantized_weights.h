// Weights of quantized files: integers that stand for the parameters of the model that was quantized.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_QUANTIZED_WEIGHTS_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_QUANTIZED_WEIGHTS_H_

#include "analyzer/graph/graph.h"

namespace onnx_mem {

// True for stored integers, more than one, that some operator reads as a layer's weight or bias: DequantizeLinear
// (QDQ), QLinearConv and its like (QOperator), MatMulInteger (dynamic), MatMulNBits. What lies between may pick rows or
// change the layout, as of a quantized embedding.
bool IsQuantizedWeight(const Graph& graph, TensorId id);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_QUANTIZED_WEIGHTS_H_
