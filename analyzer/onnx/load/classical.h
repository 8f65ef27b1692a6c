// Models of classical machine learning (trees, linear models, support vectors): operators of ai.onnx.ml around no
// network. They have no activations worth counting and no training step.
#ifndef ONNX_MEM_ANALYZER_ONNX_LOAD_CLASSICAL_H_
#define ONNX_MEM_ANALYZER_ONNX_LOAD_CLASSICAL_H_

#include <cstdint>
#include <optional>

#include "analyzer/graph/diagnostic.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {

bool IsClassical(const onnx::ModelProto& model);

// Of a classical model: what it is, and how large (not-a-network).
std::optional<Diagnostic> ClassicalNote(const onnx::ModelProto& model, int64_t file_bytes);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_LOAD_CLASSICAL_H_
