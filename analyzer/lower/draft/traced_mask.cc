#include "analyzer/lower/draft/traced_mask.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analyzer/exported/source_trace.h"

namespace onnx_mem {

TracedMask FindTracedMask(const Draft& draft, TensorId mask) {
  constexpr size_t kMostTensors = 512;
  TracedMask found = TracedMask::kNone;
  absl::flat_hash_set<TensorId> seen = {mask};
  TensorIds open = {mask};
  while (!open.empty()) {
    const TensorId id = open.back();
    open.pop_back();
    const NodeId maker = draft.producer(id);
    if (!maker.valid()) {
      if (draft.kind(id) == TensorKind::kInput) return TracedMask::kNone;
      continue;
    }
    const Node& node = draft.node(maker);
    if (TraceHas(node, " create_causal_mask(")) found = TracedMask::kCausal;
    if (TraceHas(node, " create_bidirectional_mask(")) found = TracedMask::kFull;
    if (TraceHas(node, " self._create_attention_masks(")) found = TracedMask::kFull;
    for (TensorId input : node.inputs) {
      if (input.valid() && seen.insert(input).second) open.push_back(input);
    }
    if (seen.size() > kMostTensors) return TracedMask::kNone;
  }
  return found;
}

}  // namespace onnx_mem
