#include "analyzer/lower/draft/dtype_change.h"

namespace onnx_mem {

void ChangeDtype(Draft& draft, DType dtype) {
  for (int32_t i = 0; i < static_cast<int32_t>(draft.num_tensors()); ++i) {
    Tensor& tensor = draft.mutable_tensor(TensorId(i));
    if (tensor.dtype == DType::kFloat32 || IsHalf(tensor.dtype)) tensor.dtype = dtype;
  }
}

}  // namespace onnx_mem
