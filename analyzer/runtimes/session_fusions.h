// What the optimizer of a session merges (session_graph.h lists the sources). Each looks at one node, or at what reads
// one tensor, and does nothing where its pattern is not.
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_SESSION_FUSIONS_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_SESSION_FUSIONS_H_

#include "analyzer/runtimes/session_edits.h"

namespace onnx_mem {

// Of the CPU alone: the activation that alone reads a convolution or a Gemm; what brings a product of integers back.
void FuseConvActivation(SessionEdits& edits, NodeId conv);
void FuseGemmActivation(SessionEdits& edits, NodeId gemm);
void FuseIntegerProduct(SessionEdits& edits, NodeId product);
// Of a card alone.
void FuseSum(SessionEdits& edits, NodeId sum);

void FuseGathers(SessionEdits& edits, TensorId from);  // of all slices of a tensor whose shape the session knows
void FoldScale(SessionEdits& edits, NodeId product);   // of a MatMul's operands or result
void FuseGelu(SessionEdits& edits, NodeId f);          // x * (1 + f(...)) / 2: f is an Erf or a Tanh
void FuseQuickGelu(SessionEdits& edits, NodeId sigmoid);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_SESSION_FUSIONS_H_
