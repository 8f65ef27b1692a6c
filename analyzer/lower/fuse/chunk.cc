// torch.chunk: one operator with one backward (a cat of the pieces' gradients). The TorchScript exporter writes a Slice
// for each piece, which alone would be x[..., :n] and x[..., n:], each with a backward of the full size. What tells
// them apart is how the bounds are computed: a chunk's size is (Shape(x)[axis] + count - 1) / count, and its pieces end
// at multiples of that (torch/onnx/symbolic_opset11.py, prim_constant_chunk).
//
//   Shape(x) -> Gather -> Add(count - 1) -> Div(count) -> Mul(1), Mul(2) ...    Slice(x, 0, Mul(1)), Slice(x, Mul(1),
//                                                                               Mul(2))
//
// dynamo's exporter writes a torch.split by sizes that way, too, each piece with numbers for bounds (torch/_decomp,
// decompositions.py, split_with_sizes): there the source line shows the call, and the pieces lie side by side. Not so
// tensor_split, hsplit and the like, which are slices in PyTorch as well (aten/src/ATen/native/TensorShape.cpp).
//
// Of torch.unbind it makes a Slice and a Squeeze for each piece (onnxscript, torch_lib/ops/core.py, aten_unbind), which
// name the call; its backward stacks the pieces' gradients.
#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

const Node* Maker(const Graph& source, const Node& node, size_t slot, std::string_view op) {
  const Node* maker = slot < node.inputs.size() ? source.MakerOf(node.inputs[slot]) : nullptr;
  return maker != nullptr && maker->op == op ? maker : nullptr;
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

constexpr int64_t kMostPiecesOfSplit = 4096;  // an axis of billions is not cut into ones

// `joined` in the place of `nodes`, where the first of them ran.
void PutJoined(Draft& draft, const NodeIds& nodes, FrameworkNode joined) {
  const Rank rank = std::accumulate(nodes.begin(), nodes.end(), draft.rank(nodes.front()),
                                    [&](Rank least, NodeId id) { return std::min(least, draft.rank(id)); });
  Replace(draft, nodes, std::move(joined), rank);
}

// One split in the place of `slices`, which all read one tensor along one axis.
void PutSplit(Draft& draft, const NodeIds& slices, TensorIds pieces, std::vector<int64_t> sizes) {
  const FrameworkNode& first = draft.node(slices.front());
  FrameworkNode split = MakeNode("split", {first.inputs[0]}, std::move(pieces));
  split.attributes["axis"] = IntsAttribute(first, "axes")[0];
  split.attributes["sizes"] = std::move(sizes);
  PutJoined(draft, slices, std::move(split));
}

// Pieces of `x` that nothing reads are made as well; piece `i` has dimensions `dims_of(i)`.
template <class DimsOf>
void MakeUnreadPieces(Draft& draft, TensorId x, TensorIds& pieces, const DimsOf& dims_of) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].valid()) continue;
    pieces[i] = draft.NewTensor(absl::StrCat(draft.tensor(x).name, " chunk ", i), draft.tensor(x).dtype, dims_of(i));
  }
}

// Puts one split in the place of `slices`, all of one chunk call.
bool Join(Draft& draft, const NodeIds& slices) {
  const FrameworkNode& first = draft.node(slices.front());
  const TensorId x = first.inputs[0];
  const std::vector<int64_t> axes = IntsAttribute(first, "axes");
  if (axes.size() != 1) return false;
  const Dims& dims = draft.tensor(x).shape.dims;
  const auto axis = static_cast<size_t>(axes[0]);
  if (axis >= dims.size()) return false;
  int64_t size = 0;
  for (NodeId id : slices) {
    const FrameworkNode& slice = draft.node(id);
    if (slice.inputs[0] != x || IntsAttribute(slice, "axes") != axes || IntsAttribute(slice, "steps")[0] != 1)
      return false;
    size = std::max(size, IntsAttribute(slice, "ends")[0] - IntsAttribute(slice, "starts")[0]);
  }
  if (size <= 0 || dims[axis] <= 0 || (dims[axis] - 1) / size >= kMostPiecesOfSplit) return false;
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < dims[axis]; start += size) sizes.push_back(std::min(size, dims[axis] - start));
  TensorIds pieces(sizes.size());
  for (NodeId id : slices) {
    const int64_t start = IntsAttribute(draft.node(id), "starts")[0];
    const auto piece = static_cast<size_t>(start / size);
    if (start < 0 || start % size != 0 || piece >= pieces.size() || pieces[piece].valid()) return false;
    pieces[piece] = draft.node(id).outputs[0];
  }
  MakeUnreadPieces(draft, x, pieces, [&](size_t i) {
    Dims shape = dims;
    shape[axis] = sizes[i];
    return shape;
  });
  PutSplit(draft, slices, std::move(pieces), std::move(sizes));
  return true;
}

bool IsOfOneAxis(const FrameworkNode& slice) {
  const std::vector<int64_t> steps = IntsAttribute(slice, "steps");
  return slice.op == "slice" && IntsAttribute(slice, "axes").size() == 1 &&
         std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; });
}

// The slices of each call of split that a source line shows, by what they read and the trace of the line.
std::vector<NodeIds> SplitsBySource(const Draft& draft) {
  std::map<std::pair<TensorId, std::string_view>, NodeIds> calls;
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
    if (node.source_trace == nullptr || !IsOfOneAxis(node)) continue;
    const bool splits = FindCall(InnermostLineOf(node), "split") != std::string_view::npos;
    if (splits) calls[{node.inputs[0], *node.source_trace}].push_back(id);
  }
  std::vector<NodeIds> slices;
  for (auto& [key, call] : calls) slices.push_back(std::move(call));
  return slices;
}

// Puts one split in the place of `slices` where they are all of one axis, each beginning where another ends.
bool JoinSideBySide(Draft& draft, NodeIds slices) {
  const auto start_of = [&](NodeId id) { return IntsAttribute(draft.node(id), "starts")[0]; };
  std::sort(slices.begin(), slices.end(), [&](NodeId a, NodeId b) { return start_of(a) < start_of(b); });
  const FrameworkNode& first = draft.node(slices.front());
  const std::vector<int64_t> axes = IntsAttribute(first, "axes");
  const Dims& whole = draft.tensor(first.inputs[0]).shape.dims;
  if (axes[0] < 0 || axes[0] >= std::ssize(whole)) return false;
  const auto axis = static_cast<size_t>(axes[0]);
  TensorIds pieces;
  std::vector<int64_t> sizes;
  int64_t end = 0;
  for (NodeId id : slices) {
    const TensorId piece = draft.node(id).outputs[0];
    const Dims& dims = draft.tensor(piece).shape.dims;
    const bool follows = start_of(id) == end && IntsAttribute(draft.node(id), "axes") == axes;
    if (!follows || dims.size() != whole.size()) return false;
    pieces.push_back(piece);
    sizes.push_back(dims[axis]);
    end += dims[axis];
  }
  if (slices.size() < 2 || end != whole[axis]) return false;
  PutSplit(draft, slices, std::move(pieces), std::move(sizes));
  return true;
}

// The slice of which `squeeze` alone makes a piece of an unbind; invalid if it does not.
NodeId SliceUnder(const Draft& draft, NodeId squeeze) {
  const NodeId slice = draft.ProducerIf(draft.node(squeeze).inputs[0], "slice");
  return slice.valid() && draft.OnlyReader(draft.node(slice).outputs[0]) == squeeze ? slice : NodeId();
}

// The Squeezes of each call of unbind, by the call. For two pieces the optimizer may make the Slices one Split, which
// names no call (onnxscript, rewriter/rules/common/_basic_rules.py, SlicesSplit).
std::vector<NodeIds> UnboundPieces(const Draft& draft) {
  std::map<std::string_view, NodeIds> calls;
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
    if (node.op == "squeeze" && absl::StartsWith(node.framework_op, "unbind#")) calls[node.framework_op].push_back(id);
  }
  std::vector<NodeIds> squeezes;
  for (auto& [call, pieces] : calls) squeezes.push_back(std::move(pieces));
  return squeezes;
}

// Puts one unbind in the place of `squeezes` and the slices under them, all of one call.
bool JoinUnbound(Draft& draft, const NodeIds& squeezes) {
  const Piece first = ReadPiece(draft, SliceUnder(draft, squeezes.front()));
  const Dims dims = draft.tensor(first.of).shape.dims;
  if (first.axis < 0 || first.axis >= std::ssize(dims)) return false;
  const int64_t size = dims[static_cast<size_t>(first.axis)];
  if (size <= 0 || size > kMostPiecesOfSplit) return false;
  TensorIds pieces(static_cast<size_t>(size));
  NodeIds nodes;
  for (NodeId squeeze : squeezes) {
    const NodeId slice = SliceUnder(draft, squeeze);
    const Piece piece = ReadPiece(draft, slice);
    const bool fits = piece.of == first.of && piece.axis == first.axis && piece.end == piece.start + 1;
    if (!fits || piece.start < 0 || piece.start >= size) return false;
    TensorId& result = pieces[static_cast<size_t>(piece.start)];
    if (result.valid()) return false;
    result = draft.node(squeeze).outputs[0];
    nodes.insert(nodes.end(), {slice, squeeze});
  }
  MakeUnreadPieces(draft, first.of, pieces, [&](size_t) {
    Dims shape = dims;
    shape.erase(shape.begin() + first.axis);
    return shape;
  });
  FrameworkNode unbind = MakeNode("unbind", {first.of}, std::move(pieces));
  unbind.attributes["axis"] = first.axis;
  PutJoined(draft, nodes, std::move(unbind));
  return true;
}

}  // namespace

int64_t FuseChunk(Lowering& lowering) {
  Draft& draft = lowering.draft;
  const Graph& source = lowering.source;
  std::map<NodeId, NodeIds> chunks;  // by the division that gives their size
  for (const Node& node : source.nodes) {
    const NodeId size = ChunkSize(source, node);
    const NodeId slice = size.valid() ? draft.ProducerIf(node.outputs[0], "slice") : NodeId();
    if (slice.valid()) chunks[size].push_back(slice);
  }
  auto count =
      std::count_if(chunks.begin(), chunks.end(), [&](const auto& chunk) { return Join(draft, chunk.second); });
  for (NodeIds& call : SplitsBySource(draft)) count += JoinSideBySide(draft, std::move(call)) ? 1 : 0;
  for (const NodeIds& call : UnboundPieces(draft)) count += JoinUnbound(draft, call) ? 1 : 0;
  return count;
}

}  // namespace onnx_mem
