// torch.chunk: one operator with one backward (a cat of the pieces' gradients). The TorchScript exporter writes a Slice
// for each piece, which alone would be x[..., :n] and x[..., n:], each with a backward of the full size. What tells
// them apart is how the bounds are computed: a chunk's size is (Shape(x)[axis] + count - 1) / count, and its pieces end
// at multiples of that (torch/onnx/symbolic_opset11.py, prim_constant_chunk).
//
//   Shape(x) -> Gather -> Add(count - 1) -> Div(count) -> Mul(1), Mul(2) ...    Slice(x, 0, Mul(1)), Slice(x, Mul(1),
//                                                                               Mul(2))
#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

const Node* Maker(const Graph& source, const Node& node, size_t slot, std::string_view op) {
  if (slot >= node.inputs.size() || !node.inputs[slot].valid()) return nullptr;
  const NodeId producer = source.tensors[node.inputs[slot]].producer;
  return producer.valid() && source.nodes[producer].op == op ? &source.nodes[producer] : nullptr;
}

// The division that gives the size of the chunks of which `slice` is one; invalid if it is none.
NodeId ChunkSize(const Graph& source, const Node& slice) {
  if (slice.op != "Slice" || slice.inputs.size() < 3) return NodeId();
  const Node* end = Maker(source, slice, 2, "Mul");
  const Node* size = end == nullptr ? nullptr : Maker(source, *end, 0, "Div");
  const Node* rounded = size == nullptr ? nullptr : Maker(source, *size, 0, "Add");
  const Node* length = rounded == nullptr ? nullptr : Maker(source, *rounded, 0, "Gather");
  const Node* shape = length == nullptr ? nullptr : Maker(source, *length, 0, "Shape");
  if (shape == nullptr || shape->inputs[0] != slice.inputs[0]) return NodeId();
  return source.tensors[end->inputs[0]].producer;
}

// Puts one split in the place of `slices`, all of one chunk call; pieces that nothing reads are made as well.
bool Join(Draft& draft, const std::vector<NodeId>& slices) {
  const Node& first = draft.node(slices.front());
  const TensorId x = first.inputs[0];
  const std::vector<int64_t> axes = IntsAttribute(first, "axes");
  if (axes.size() != 1) return false;
  const Dims& dims = draft.tensor(x).shape.dims;
  const auto axis = static_cast<size_t>(axes[0]);
  if (axis >= dims.size()) return false;
  int64_t size = 0;
  for (NodeId id : slices) {
    const Node& slice = draft.node(id);
    if (slice.inputs[0] != x || IntsAttribute(slice, "axes") != axes || IntsAttribute(slice, "steps")[0] != 1)
      return false;
    size = std::max(size, IntsAttribute(slice, "ends")[0] - IntsAttribute(slice, "starts")[0]);
  }
  if (size <= 0 || dims[axis] <= 0) return false;
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < dims[axis]; start += size) sizes.push_back(std::min(size, dims[axis] - start));
  std::vector<TensorId> pieces(sizes.size());
  Rank rank = draft.rank(slices.front());
  for (NodeId id : slices) {
    const int64_t start = IntsAttribute(draft.node(id), "starts")[0];
    const auto piece = static_cast<size_t>(start / size);
    if (start % size != 0 || pieces[piece].valid()) return false;
    pieces[piece] = draft.node(id).outputs[0];
    rank = std::min(rank, draft.rank(id));
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].valid()) continue;
    Dims shape = dims;
    shape[axis] = sizes[i];
    pieces[i] =
        draft.NewTensor(absl::StrCat(draft.tensor(x).name, " chunk ", i), draft.tensor(x).dtype, std::move(shape));
  }
  Node split = MakeNode("split", {x}, std::move(pieces));
  split.attributes["axis"] = axes[0];
  split.attributes["sizes"] = std::move(sizes);
  Replace(draft, slices, std::move(split), rank);
  return true;
}

}  // namespace

int64_t FuseChunk(Lowering& lowering) {
  Draft& draft = lowering.draft;
  const Graph& source = lowering.source;
  std::map<NodeId, std::vector<NodeId>> chunks;  // by the division that gives their size
  for (const Node& node : source.nodes) {
    const NodeId size = ChunkSize(source, node);
    const NodeId slice = size.valid() ? draft.ProducerIf(node.outputs[0], "slice") : NodeId();
    if (slice.valid()) chunks[size].push_back(slice);
  }
  return std::count_if(chunks.begin(), chunks.end(), [&](const auto& chunk) { return Join(draft, chunk.second); });
}

}  // namespace onnx_mem
