// The position biases of LeViT and its descendants (EfficientFormer, EfficientViT, TinyViT; in timm and transformers):
// in evaluation mode each attention looks them up once and keeps them,
//
//   self.attention_bias_cache[device] = self.attention_biases[:, self.attention_bias_idxs]
//
// [heads, distances] indexed along its second axis. The mark tells the frames (assume/names/kept_results.h).
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

bool LooksUpBiases(const Draft& draft, const Node& node) {
  if (node.op != "index" || IntAttribute(node, "axis", 0) != 1 || node.inputs.size() != 2) return false;
  const TensorId biases = node.inputs[0], positions = node.inputs[1];
  return draft.kind(biases) == TensorKind::kParameter && draft.tensor(biases).shape.rank() == 2 &&
         !draft.producer(positions).valid() && draft.tensor(positions).shape.rank() == 2;
}

}  // namespace

int64_t MarkCachedBiases(Lowering& lowering) {
  if (lowering.run.training) return 0;
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (!LooksUpBiases(draft, draft.node(id))) continue;
    draft.mutable_node(id).attributes["cached"] = int64_t{1};
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
