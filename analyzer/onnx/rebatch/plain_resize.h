// Input sizes that a file fixes but none of its constants holds: an image size of a fully convolutional network.
#ifndef ONNX_MEM_ANALYZER_ONNX_REBATCH_PLAIN_RESIZE_H_
#define ONNX_MEM_ANALYZER_ONNX_REBATCH_PLAIN_RESIZE_H_

#include "absl/status/status.h"
#include "analyzer/onnx/build/bind.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

// OK iff the model can be read at the sizes of `bound` without rewriting anything, dims 0 left as they were exported:
// everything infers, and every change shows in what follows from it. Errors: why not (scaling_hook.h, Refusal).
absl::Status CheckPlainResize(const onnx::ModelProto& model, const BoundInputs& bound);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_REBATCH_PLAIN_RESIZE_H_
