// Which kernel scaled_dot_product_attention runs.
#ifndef ONNX_MEM_ANALYZER_LOWER_OPERATORS_ATTENTION_KERNEL_H_
#define ONNX_MEM_ANALYZER_LOWER_OPERATORS_ATTENTION_KERNEL_H_

#include <cstdint>
#include <string>

#include "analyzer/graph/dtype.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// "math", "flash" or "efficient": the user's choice, else what the framework takes on a current card: flash for half
// precision (autocast counts) without a mask, otherwise the memory-efficient kernel.
std::string ChooseAttentionKernel(const Run& run, DType dtype, bool has_mask);

// Attribute "made_dense": 1 where the user names a fused kernel. It reads rows of neighbouring elements alone, so the
// code makes them (x.transpose(2, 3).contiguous()), of which no file tells.
int64_t MakesRowsDense(const Run& run);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_OPERATORS_ATTENTION_KERNEL_H_
