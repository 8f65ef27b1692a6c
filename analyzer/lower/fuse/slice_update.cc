// x[a:b] += y adds into a view of x, and then assigns the view to x[a:b] once more, as Python's augmented assignment
// does. The TorchScript exporter writes a sum of its own and two copies of it:
//
//   s = slice(x)  t = add(s, y)  x1 = copy_into(x, t)  x2 = copy_into(x1, t)
//
// The sum takes no memory, and what is assigned is the view: copy_into(x, y), as which the addition counts, and then
// copy_into(x1, slice(x1)). Source: torch/csrc/autograd/functions/tensor.cpp (CopySlices), torch/csrc/autograd/
// python_variable_indexing.cpp (THPVariable_setitem).
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

constexpr auto kSums = std::to_array<std::string_view>({"add", "sub"});

struct SliceUpdate {
  std::vector<NodeId> slices;  // of x, outermost first
  NodeId sum, first, second;   // first and second: copies into x
};

// The copy that ends the views which begin at `reader` of a tensor, if it writes what it is given.
NodeId CopyBehindViews(const Draft& draft, NodeId reader, TensorId id) {
  while (reader.valid() && (draft.node(reader).op == "expand" || draft.node(reader).op == "reshape")) {
    id = draft.node(reader).outputs[0];
    reader = draft.OnlyReader(id);
  }
  const bool writes = reader.valid() && draft.node(reader).op == "copy_into" && draft.node(reader).inputs[1] == id;
  return writes ? reader : NodeId();
}

std::optional<SliceUpdate> FindUpdate(const Draft& draft, NodeId sum) {
  const Node& node = draft.node(sum);
  if (std::find(kSums.begin(), kSums.end(), node.op) == kSums.end() || node.inputs.size() < 2) return std::nullopt;
  const std::vector<NodeId>& readers = draft.readers(node.outputs[0]);
  if (readers.size() != 2 || draft.IsOutput(node.outputs[0])) return std::nullopt;
  SliceUpdate update{.slices = {}, .sum = sum, .first = NodeId(), .second = NodeId()};
  TensorId x = node.inputs[0];
  for (NodeId slice = draft.ProducerIf(x, "slice"); slice.valid(); slice = draft.ProducerIf(x, "slice")) {
    if (!draft.OnlyReader(x).valid()) return std::nullopt;
    update.slices.insert(update.slices.begin(), slice);
    x = draft.node(slice).inputs[0];
  }
  if (update.slices.empty() || !node.inputs[1].valid()) return std::nullopt;
  if (draft.tensor(node.inputs[0]).shape != draft.tensor(node.inputs[1]).shape) return std::nullopt;
  update.first = CopyBehindViews(draft, readers[0], node.outputs[0]);
  update.second = CopyBehindViews(draft, readers[1], node.outputs[0]);
  if (!update.first.valid() || !update.second.valid()) return std::nullopt;
  if (draft.node(update.first).inputs[0] != x) std::swap(update.first, update.second);
  const bool in_turn = draft.node(update.first).inputs[0] == x &&
                       draft.node(update.second).inputs[0] == draft.node(update.first).outputs[0];
  return in_turn ? std::optional(update) : std::nullopt;
}

void Apply(Draft& draft, const SliceUpdate& update) {
  const TensorId added = draft.node(update.sum).inputs[1], view = draft.node(update.sum).inputs[0];
  const TensorId x = draft.node(update.first).inputs[0], written = draft.node(update.first).outputs[0];
  draft.SetInputs(update.first, {x, added});
  draft.SetInputs(update.second, {written, view});
  draft.SetInputs(update.slices.front(), {written});
  Rank rank = draft.rank(update.first);
  for (NodeId slice : update.slices) draft.SetRank(slice, {rank.source, ++rank.place});
}

}  // namespace

int64_t UpdateSlices(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (const std::optional<SliceUpdate> update = FindUpdate(draft, id)) {
      Apply(draft, *update);
      ++count;
    }
  }
  if (count > 0) draft.RemoveUnread();
  return count;
}

}  // namespace onnx_mem
