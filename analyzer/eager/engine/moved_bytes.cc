#include "analyzer/eager/engine/moved_bytes.h"

#include <algorithm>
#include <vector>

namespace onnx_mem::eager {

int64_t MovedBytes(const Call& call, const Outputs& outputs) {
  int64_t bytes = TotalBytes(call.inputs);
  for (const TensorRef& output : outputs) {
    const bool overwrites =
        output != nullptr && std::any_of(call.inputs.begin(), call.inputs.end(), [&](const TensorRef& input) {
          return input != nullptr && input->storage == output->storage;
        });
    if (overwrites) bytes += DenseBytes(output->dims, output->dtype);
  }
  return bytes;
}

int64_t MovedBytesUntilStop(const Call& call, const Recorder& recorder) {
  // A step that made nothing wrote over its input.
  const bool made_nothing = recorder.program().steps[recorder.current_step()].moved_bytes == 0;
  const bool overwrites = call.inplace() && made_nothing && !call.inputs.empty();
  return MovedBytes(call, overwrites ? Outputs{call.inputs.front()} : Outputs{});
}

}  // namespace onnx_mem::eager
