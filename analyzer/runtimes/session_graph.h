// Graph as imported -> the graph that an onnxruntime session runs: what its optimizer changes at load, as far as that
// moves memory. By default a session optimizes (ORT_ENABLE_ALL), so the file's own nodes are not what runs.
//
//   w --Transpose--> wt          wt is a weight, w is gone          constant_folding.cc
//   x --Identity--> y            y is x                             eliminate_identity.cc, dropout_elimination.cc
//   MatMul(Mul(a, 0.125), b)     MatMul                             matmul_scale_fusion.cc
//   erf or tanh GELU, spelled out: one node                         gelu_fusion.cc, fast_gelu_fusion.cc
//   x * sigmoid(1.702 * x)       QuickGelu                          quick_gelu_fusion.cc
//   Relu(Gemm(x, w))             Gemm                               gemm_activation_fusion.cc (CPU)
//   MatMulInteger, Cast, Mul     MatMulIntegerToFloat               matmul_integer_to_float.cc (CPU)
//   x[0], x[1], x[2] of three    Split, and views of its results    gather_slice_fusion.cc
//
// On the CPU convolutions then compute in blocks of channels (session_layout.h). Left as it is: what is fused without
// moving a byte, as an activation into the convolution whose result it overwrites anyway.
// Sources: onnxruntime/core/optimizer (microsoft/onnxruntime).
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_SESSION_GRAPH_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_SESSION_GRAPH_H_

#include "analyzer/graph/graph.h"

namespace onnx_mem {

// Tensors keep their ids; those that nobody reads any more have neither producer nor consumers and are activations.
// On the CPU half precision is computed in single precision (insert_cast_transformer.cc): its tensors are as large.
// `free_dims`: the file leaves dimensions free, so that the session knows fewer shapes (ShapesKnownToSession).
Graph SessionGraph(Graph graph, bool on_cpu, bool free_dims = false);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_SESSION_GRAPH_H_
