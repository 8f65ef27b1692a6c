// Hierarchical vision transformers give the next stage an image made of tokens, and copy it into the layout of images:
//
//   x.reshape(B, H, W, -1).permute(0, 3, 1, 2).contiguous()
//
// The copy is in no export. Code that writes the reshape of [B, N, C] and this permute in a row writes the copy too:
// PVT, SegFormer, Twins, CoaT in timm and transformers; MobileNetV4's attention does with [B, N, heads, C / heads]. A
// permute of a map that was never tokens stays a view.
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// [B, N, C], or [B, N, heads, C / heads] of an attention, laid out as [B, H, W, C].
bool AreTokens(const Dims& from, const Dims& map) {
  if (from.size() == 3) return true;
  return from.size() == 4 && map.size() == 4 && from[0] == map[0] && from[1] == map[1] * map[2] &&
         from[2] * from[3] == map[3];
}

bool IsTokenMap(const Draft& draft, NodeId permute) {
  const FrameworkNode& node = draft.node(permute);
  if (node.op != "permute" || IntsAttribute(node, "perm") != std::vector<int64_t>{0, 3, 1, 2}) return false;
  const NodeId reshape = draft.ProducerIf(node.inputs[0], "reshape");
  return reshape.valid() && draft.node(reshape).calls == node.calls &&
         AreTokens(draft.tensor(draft.node(reshape).inputs[0]).shape.dims, draft.tensor(node.inputs[0]).shape.dims);
}

}  // namespace

int64_t InsertTokenMapCopy(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (!IsTokenMap(draft, id) || OnlyReaderIf(draft, draft.node(id).outputs[0], "contiguous").valid()) continue;
    draft.mutable_node(CopyResult(draft, id)).attributes[std::string(kMaybeCopied)] = int64_t{1};
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
