// Attention whose operands look transposed: F.scaled_dot_product_attention runs no fused kernel on rows that are not
// dense (check_last_dim_stride_equals_1_dense in sdp_utils_cpp.h), and code may copy them first, of which no export
// tells:
//
//   q = qkv.transpose(2, 3).contiguous()
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_ATTENTION_ROWS_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_ATTENTION_ROWS_H_

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// Copies them, and runs the fused kernel. False if there is none.
bool MakeAttentionRowsDense(Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_ATTENTION_ROWS_H_
