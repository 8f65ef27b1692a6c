// A file that calls its batch free and yet holds the one that it was traced with: Python read the size as a number
// (len(x), int(x.shape[0])), and the exporter stored what was made of it.
//
//   ones = Constant [2, 1];  Concat(ones, x [batch, 12])     infers at batch 2 only
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_TRACED_BATCH_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_TRACED_BATCH_H_

#include <optional>

#include "analyzer/onnx/build/bind.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

// `bound`, at which the model does not infer, as changes from the batch that it was traced with: for rebatch.h. nullopt
// if it infers at no batch that people export with, or if no batch is free.
std::optional<BoundInputs> ChangesFromTracedBatch(const onnx::ModelProto& model, const Bindings& bindings,
                                                  BoundInputs bound);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_TRACED_BATCH_H_
