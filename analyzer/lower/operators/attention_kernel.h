// Which kernel scaled_dot_product_attention runs.
#ifndef ONNX_MEM_ANALYZER_LOWER_OPERATORS_ATTENTION_KERNEL_H_
#define ONNX_MEM_ANALYZER_LOWER_OPERATORS_ATTENTION_KERNEL_H_

#include <string>

#include "analyzer/graph/dtype.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// "math", "flash" or "efficient": the user's choice, else what the framework takes on a current card: flash for half
// precision (autocast counts) without a mask, otherwise the memory-efficient kernel.
std::string ChooseAttentionKernel(const Run& run, DType dtype, bool has_mask);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_OPERATORS_ATTENTION_KERNEL_H_
