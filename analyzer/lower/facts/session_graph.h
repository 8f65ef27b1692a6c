// Graph as imported -> the graph that an onnxruntime session runs: what its optimizer changes at load, as far as that
// moves memory. By default a session optimizes (ORT_ENABLE_ALL), so the file's own nodes are not what runs.
//
//   w --Transpose--> wt          wt is a weight, w is gone          constant_folding.cc
//   x --Identity--> y            y is x                             eliminate_identity.cc, dropout_elimination.cc
//   MatMul(Mul(a, 0.125), b)     MatMul                             matmul_scale_fusion.cc
//   erf or tanh GELU, spelled out: one node                         gelu_fusion.cc, fast_gelu_fusion.cc
//   x * sigmoid(1.702 * x)       QuickGelu                          quick_gelu_fusion.cc
//
// Left as they are: what is fused without moving a byte, as an activation into the convolution whose result it
// overwrites anyway, and layouts (NCHWc), which pad channels to the vector's width of the processor at hand.
// Sources: onnxruntime/core/optimizer (microsoft/onnxruntime).
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_SESSION_GRAPH_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_SESSION_GRAPH_H_

#include "analyzer/graph/graph.h"

namespace onnx_mem {

// Tensors keep their ids; those that nobody reads any more have neither producer nor consumers and are activations.
// On the CPU half precision is computed in single precision (insert_cast_transformer.cc): its tensors are as large.
Graph SessionGraph(Graph graph, bool on_cpu);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_SESSION_GRAPH_H_
