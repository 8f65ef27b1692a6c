#include "analyzer/lower/draft/traced_mask.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/lower/draft/match.h"

namespace onnx_mem {
namespace {

// keys > queries - window, of a window that is shorter than the sequence: the mask is there in every run.
bool IsWindow(const Draft& draft, const FrameworkNode& compare, int64_t length) {
  return std::any_of(compare.inputs.begin(), compare.inputs.end(), [&](TensorId operand) {
    const NodeId maker = draft.producer(operand);
    if (!maker.valid() || (draft.node(maker).op != "sub_scalar" && draft.node(maker).op != "add_scalar")) return false;
    const std::optional<double> window = ScalarOf(draft.node(maker));
    return window && *window != 0.0 && std::abs(*window) <= static_cast<double>(length);
  });
}

// and_masks in masking_utils.py starts with new_ones(()), one number: nobody writes that by hand.
bool StartsMask(const Draft& draft, const FrameworkNode& node) {
  if (node.op != "logical") return false;
  const auto operands = std::count_if(node.inputs.begin(), node.inputs.end(), [&](TensorId operand) {
    return operand.valid() && NumElements(draft.tensor(operand).shape) != 1;
  });
  return operands == 1;
}

}  // namespace

TracedMask FindTracedMask(const Draft& draft, TensorId mask) {
  constexpr size_t kMostTensors = 512;
  const Dims& dims = draft.tensor(mask).shape.dims;
  const int64_t length = dims.empty() ? 0 : dims.back();
  TracedMask reported = TracedMask::kNone;
  bool starts = false, compares = false;
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
    const FrameworkNode& node = draft.node(maker);
    if (TraceHas(node, " create_causal_mask(")) reported = TracedMask::kCausal;
    if (TraceHas(node, " create_bidirectional_mask(")) reported = TracedMask::kFull;
    if (TraceHas(node, " self._create_attention_masks(")) reported = TracedMask::kFull;
    starts |= StartsMask(draft, node);
    if (node.op == "compare") {
      if (IsWindow(draft, node, length)) return TracedMask::kNone;
      compares = true;
    }
    for (TensorId input : node.inputs) {
      if (input.valid() && seen.insert(input).second) open.push_back(input);
    }
    if (seen.size() > kMostTensors) return TracedMask::kNone;
  }
  if (reported != TracedMask::kNone || !starts) return reported;
  return compares ? TracedMask::kCausal : TracedMask::kFull;
}

}  // namespace onnx_mem
