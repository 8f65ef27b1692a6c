// Attention written out, under a mask that hides nothing and that only tracing makes (lower/draft/traced_mask.h): a run
// has no mask, and adds none.
//
//   if attention_mask is not None: scores = scores + attention_mask
//
// Source: transformers/masking_utils.py, eager_mask ("only bidirectional masks can be skipped").
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/draft/traced_mask.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// What `sum` adds a mask that hides nothing to; invalid if there is none.
TensorId ScoresBelow(const Draft& draft, const FrameworkNode& sum) {
  for (TensorId scores : sum.inputs) {
    if (!scores.valid() || draft.tensor(scores).shape != draft.tensor(sum.outputs[0]).shape) continue;
    const TensorId mask = OtherOperand(sum, scores);
    if (mask.valid() && mask != scores && FindTracedMask(draft, mask) == TracedMask::kFull) return scores;
  }
  return TensorId();
}

}  // namespace

int64_t LeaveOutFullMasks(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "softmax") continue;
    const NodeId sum = draft.ProducerIf(draft.node(id).inputs[0], "add");
    const TensorId scores = sum.valid() ? ScoresBelow(draft, draft.node(sum)) : TensorId();
    if (!scores.valid()) continue;
    draft.ReplaceReaders(draft.node(sum).outputs[0], scores);
    ++count;
  }
  if (count > 0) draft.RemoveUnread();
  return count;
}

}  // namespace onnx_mem
