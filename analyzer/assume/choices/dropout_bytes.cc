// What dropouts save for backward.
#include "analyzer/assume/choices/dropout_places.h"

namespace onnx_mem {
namespace {

// Attention weights that a kernel keeps, and drops one by one: those of `math`; the fused ones make them again.
int64_t Weights(const Draft& draft, const FrameworkNode& sdpa) {
  if (StringAttribute(sdpa, "kernel", "math") != "math") return 0;
  const Dims &q = draft.tensor(sdpa.inputs[0]).shape.dims, &k = draft.tensor(sdpa.inputs[1]).shape.dims;
  const int64_t elements = NumElements(draft.tensor(sdpa.inputs[0]).shape).value_or(0);
  return q.size() < 2 || q.back() <= 0 || k.size() < 2 ? 0 : elements / q.back() * k[k.size() - 2];
}

int64_t SavedBytes(const Draft& draft, const DropoutSpot& spot) {
  const FrameworkNode& node = draft.node(spot.node);
  const Tensor& result = draft.tensor(node.outputs[0]);
  const bool kernel = spot.place == DropoutPlace::kKernel;
  const int64_t elements = kernel ? Weights(draft, node) : NumElements(result.shape).value_or(0);
  return elements * (spot.place == DropoutPlace::kMask ? 1 : 1 + RowOf(result.dtype).bits / 8);
}

}  // namespace

int64_t DropoutBytes(const Draft& draft, const std::vector<DropoutSpot>& spots) {
  int64_t bytes = 0;
  for (const DropoutSpot& spot : spots) bytes += SavedBytes(draft, spot);
  return bytes;
}

}  // namespace onnx_mem
