// Parameters under names that an exporter made up -> their paths in the module (Tensor::path), for reports, patterns.
//
//   val_152, read by the linear of layers.0.attn.q_proj           ->  layers.0.attn.q_proj.weight
//   onnx::MatMul_243, read by /encoder/fc/MatMul                  ->  encoder.fc.weight
//
// The exported program's signature says which names the module has and the file lacks; where there is none, or where it
// leaves a choice, the name is the reading module's, and the operand's part in the operator. The last step of lowering:
// rules go by the names of the file, which stay what they are.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_PARAMETER_PATHS_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_PARAMETER_PATHS_H_

#include "analyzer/graph/framework_graph.h"
#include "analyzer/graph/program_signature.h"
#include "analyzer/graph/tensor_kind.h"

namespace onnx_mem {

// `graph` as lowered, linked. Every path is unique among the graph's names and paths.
void NameParameters(const ProgramSignature& signature, const IdVector<TensorId, TensorKind>& kinds,
                    FrameworkGraph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_PARAMETER_PATHS_H_
