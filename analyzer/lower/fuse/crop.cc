// Window attention pads an image to whole windows and cuts the rest off again, into a copy:
//
//   x = x[:, :H, :W, :].contiguous()
//
// The copy is in no export; all code that cuts [B, H, W, C] like this makes it: Swin, SAM, ViTDet, DaViT, Twins,
// TinyViT and EfficientViT in torchvision, timm and transformers.
#include <set>

#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// The axis that `id` cuts the end off: 1 or 2 of [B, H, W, C]; -1 if it does something else.
int64_t CutAxis(const Draft& draft, NodeId id) {
  const Piece kept = ReadPiece(draft, id);
  if (!kept.of.valid() || kept.start != 0 || (kept.axis != 1 && kept.axis != 2)) return -1;
  const Tensor& tensor = draft.tensor(kept.of);
  return tensor.shape.rank() == 4 && IsFloating(tensor.dtype) ? kept.axis : -1;
}

// Windows put together again: a view, a permute and a view, perhaps rolled back.
bool IsMadeOfWindows(const Draft& draft, TensorId id) {
  for (NodeId roll = draft.ProducerIf(id, "roll"); roll.valid(); roll = draft.ProducerIf(id, "roll"))
    id = draft.node(roll).inputs[0];
  const NodeId view = draft.ProducerIf(id, "reshape");
  return view.valid() && draft.ProducerIf(draft.node(view).inputs[0], "permute").valid();
}

bool CutsPadding(const Draft& draft, NodeId id) {
  if (CutAxis(draft, id) < 0) return false;
  for (NodeId reader : draft.readers(draft.node(id).outputs[0])) {
    if (CutAxis(draft, reader) >= 0 || draft.node(reader).op == "contiguous") return false;
  }
  std::set<int64_t> axes;
  NodeId cut = id;
  TensorId whole;
  for (; CutAxis(draft, cut) >= 0; cut = draft.producer(whole)) {
    axes.insert(CutAxis(draft, cut));
    whole = draft.node(cut).inputs[0];
    if (draft.readers(whole).size() != 1 || draft.node(cut).calls != draft.node(id).calls) return false;
  }
  if (draft.tensor(whole).shape == draft.tensor(draft.node(id).outputs[0]).shape) return false;
  return axes.size() == 2 || IsMadeOfWindows(draft, whole);
}

}  // namespace

int64_t CopyCrops(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (!CutsPadding(draft, id)) continue;
    CopyResult(draft, id);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
