// Memory formats as operators on images choose them. Source: c10/core/MemoryFormat.h (is_channels_last_strides_2d),
// TensorImpl::suggest_memory_format.
#ifndef ONNX_MEM_ANALYZER_EAGER_VIEWS_LAYOUT_H_
#define ONNX_MEM_ANALYZER_EAGER_VIEWS_LAYOUT_H_

#include "analyzer/eager/engine/tensor.h"

namespace onnx_mem::eager {

// Whether the strides of a rank-4 or rank-5 tensor order its dimensions as NHWC or NDHWC, dense or not.
bool SuggestsChannelsLast(const EagerTensor& t);
// Dense strides of `dims` in that format.
Dims ImageStrides(const Dims& dims, bool channels_last);
// Whether `t` is dense in the format: what t.contiguous(memory_format) would not copy.
bool IsDenseImage(const EagerTensor& t, bool channels_last);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_VIEWS_LAYOUT_H_
