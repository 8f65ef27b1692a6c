#include "analyzer/eager/views/layout.h"

namespace onnx_mem::eager {

bool SuggestsChannelsLast(const EagerTensor& t) {
  const size_t rank = t.dims.size();
  if ((rank != 4 && rank != 5) || t.strides[1] == 0) return false;
  int64_t least = 0;
  for (size_t k = 0; k < rank; ++k) {
    const size_t d = k == 0 ? 1 : (k + 1 == rank ? 0 : rank - k);  // C, W, H, (D,) N
    if (t.dims[d] == 0 || t.strides[d] < least) return false;
    if (d == 0 && least == t.strides[1]) return false;  // [N, 1, 1, 1] is ambiguous: contiguous
    least = t.strides[d];
    if (t.dims[d] > 1) least *= t.dims[d];
  }
  return true;
}

Dims ImageStrides(const Dims& dims, bool channels_last) {
  return channels_last ? ChannelsLastStrides(dims) : ContiguousStrides(dims);
}

bool IsDenseImage(const EagerTensor& t, bool channels_last) {
  if (!channels_last) return IsContiguous(t);
  const Dims strides = ChannelsLastStrides(t.dims);
  for (size_t i = 0; i < t.dims.size(); ++i) {
    if (t.dims[i] != 1 && t.strides[i] != strides[i]) return false;
  }
  return true;
}

}  // namespace onnx_mem::eager
