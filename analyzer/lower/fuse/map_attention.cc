// Attention between the positions of an image with one head of keys and values (MobileNetV4, timm's
// MultiQueryAttention2d) lays its operands and its result out anew:
//
//   q = reshape(conv(x))[B, H, D, N].transpose(-1, -2).contiguous()
//   k = reshape(conv(x))[B, D, M].transpose(1, 2).unsqueeze(1).contiguous(), v alike
//   reshape(attention)[B, h, w, C].permute(0, 3, 1, 2).contiguous()
//
// The copies are in no export in TorchScript's form; dynamo's names them (exporters/lost_calls.cc).
// Source: timm/layers/attention2d.py.
#include <algorithm>
#include <string_view>
#include <vector>

#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// The permute of a convolution's map, flattened over its positions, that makes `id`; invalid if that is none.
NodeId MapPositions(const Draft& draft, TensorId id) {
  const NodeId permute = draft.ProducerIf(id, "permute");
  const NodeId reshape = permute.valid() ? draft.ProducerIf(draft.node(permute).inputs[0], "reshape") : NodeId();
  if (!reshape.valid() || !draft.ProducerIf(draft.node(reshape).inputs[0], "conv").valid()) return NodeId();
  return draft.tensor(draft.node(reshape).inputs[0]).shape.rank() == 4 ? permute : NodeId();
}

// The unsqueeze that makes one head of a convolution's map.
NodeId OneHead(const Draft& draft, TensorId id) {
  const NodeId unsqueeze = draft.ProducerIf(id, "unsqueeze");
  if (!unsqueeze.valid() || draft.tensor(id).shape.rank() != 4 || draft.tensor(id).shape.dims[1] != 1) return NodeId();
  return MapPositions(draft, draft.node(unsqueeze).inputs[0]).valid() ? unsqueeze : NodeId();
}

// The permute that makes a map of the result of `attention`.
NodeId ResultMap(const Draft& draft, TensorId result) {
  TensorId id = result;
  for (std::string_view op : {"permute", "reshape", "permute"}) {
    const NodeId reader = OnlyReaderIf(draft, id, op);
    if (!reader.valid()) return NodeId();
    id = draft.node(reader).outputs[0];
    if (op == "permute" && IntsAttribute(draft.node(reader), "perm") == std::vector<int64_t>{0, 3, 1, 2}) return reader;
  }
  return NodeId();
}

}  // namespace

int64_t InsertMapAttentionCopies(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "sdpa") continue;
    const std::vector<TensorId> inputs = draft.node(id).inputs;
    const NodeId q = MapPositions(draft, inputs[0]), k = OneHead(draft, inputs[1]), v = OneHead(draft, inputs[2]);
    const NodeId result = ResultMap(draft, draft.node(id).outputs[0]);
    if (!q.valid() || !k.valid() || !v.valid() || !result.valid()) continue;
    for (NodeId made : {q, k, v, result}) CopyResult(draft, made);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
