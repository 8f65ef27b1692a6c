#include "analyzer/lower/operators/attention_kernel.h"

namespace onnx_mem {

std::string ChooseAttentionKernel(const Run& run, DType dtype, bool has_mask) {
  switch (run.attention) {
    case AttentionKernel::kMath: return "math";
    case AttentionKernel::kFlash: return "flash";
    case AttentionKernel::kEfficient: return "efficient";
    case AttentionKernel::kAuto:
    case AttentionKernel::kEager: break;
  }
  const bool half = IsHalf(dtype) || (run.autocast && IsHalf(*run.autocast));
  return half && !has_mask ? "flash" : "efficient";
}

int64_t MakesRowsDense(const Run& run) {
  return run.attention == AttentionKernel::kFlash || run.attention == AttentionKernel::kEfficient ? 1 : 0;
}

}  // namespace onnx_mem
