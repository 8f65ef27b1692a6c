// A mask that lets everything through, which transformers' models make only where they may not look at values:
// attention written as its operators adds nothing where no mask was given (traced_mask.h). A causal mask is made and
// added in every run of such attention.
//
//   scores + where(expand(ge), 0, min) -> softmax        the softmax reads the scores
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/draft/traced_mask.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// True if `id` is a choice between numbers by a mask that only tracing makes, or a view of it.
bool IsFullMask(const Draft& draft, TensorId id) {
  constexpr int kMostViews = 4;
  TensorId base = id;
  for (int i = 0; i < kMostViews; ++i) {
    const NodeId maker = draft.producer(base);
    if (!maker.valid()) return false;
    const Node& node = draft.node(maker);
    if (node.op == "where") return FindTracedMask(draft, id) == TracedMask::kFull;
    if (node.op != "expand" && node.op != "slice" && node.op != "unsqueeze" && node.op != "reshape") return false;
    base = node.inputs[0];
  }
  return false;
}

}  // namespace

int64_t DropTracedMasks(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "add") continue;
    const Node node = draft.node(id);
    for (TensorId mask : node.inputs) {
      const TensorId scores = OtherOperand(node, mask);
      if (scores == mask || draft.tensor(scores).shape != draft.tensor(node.outputs[0]).shape ||
          !IsFullMask(draft, mask))
        continue;
      draft.Remove(id);
      draft.ReplaceReaders(node.outputs[0], scores);
      ++count;
      break;
    }
  }
  if (count > 0) draft.RemoveUnread();
  return count;
}

}  // namespace onnx_mem
