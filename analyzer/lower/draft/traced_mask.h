// Attention masks that exist only because the model was traced. transformers' models hand no mask to
// scaled_dot_product_attention where nobody gave one: the call is causal, or sees everything. Under torch.export, which
// must not look at values, the same function spells the mask out. The source lines tell that it was this function:
//
//   causal_mask = create_causal_mask(config=self.config, ...)        the call runs causal, without a mask
//   attention_mask = create_bidirectional_mask(config=self.config)   the call runs without a mask
//   attention_mask, _ = self._create_attention_masks(...)            of BERT and its relatives: the same
//
// A TorchScript file has no source lines: there it is the mask's own beginning that tells, new_ones(()) & ... A mask of
// a window that is shorter than the sequence is one of every run.
//
// Source: transformers/masking_utils.py (and_masks, _ignore_causal_mask_sdpa, allow_is_causal_skip).
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_TRACED_MASK_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_TRACED_MASK_H_

#include "analyzer/lower/draft/draft.h"

namespace onnx_mem {

enum class TracedMask {
  kNone,    // a mask that a run outside of tracing has too, as far as the file tells
  kCausal,  // a causal one, made from positions alone
  kFull,    // one that hides nothing, made from sizes alone
};

TracedMask FindTracedMask(const Draft& draft, TensorId mask);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_TRACED_MASK_H_
