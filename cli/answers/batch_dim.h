// --dim batch=8 and --batch 8 say the same of most models.
#ifndef ONNX_MEM_CLI_ANSWERS_BATCH_DIM_H_
#define ONNX_MEM_CLI_ANSWERS_BATCH_DIM_H_

#include "analyzer/onnx/build/import.h"
#include "analyzer/study/study.h"

namespace onnx_mem {

// `bindings` with such a --dim as --batch, where every input keeps its shape: for what tries other batches, which a
// dimension that is named would hold back.
Bindings WithBatchOption(Study& study, const Bindings& bindings);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ANSWERS_BATCH_DIM_H_
