// What a call reads and writes beside the tensors that it makes, for the roofline.
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_MOVED_BYTES_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_MOVED_BYTES_H_

#include <cstdint>

#include "analyzer/eager/engine/op_table.h"
#include "analyzer/eager/engine/recorder.h"

namespace onnx_mem::eager {

// Its inputs, and the outputs that it wrote over one of them: nothing was allocated for those.
int64_t MovedBytes(const Call& call, const Outputs& outputs);

// The same of a call that a second run stopped in: outputs are saved after the kernel has run, and the last one of them
// stops the run before it is handed on.
int64_t MovedBytesUntilStop(const Call& call, const Recorder& recorder);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_MOVED_BYTES_H_
