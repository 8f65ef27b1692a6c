// Sequences of tensors. Only those are known that a tensor is split into and whose pieces are taken by index.
#include "analyzer/lower/ops_sequence.h"

#include <algorithm>
#include <map>
#include <optional>

namespace onnx_mem {
namespace {

// What SequenceAt nodes take out of the sequence that `s` makes, by index; nullopt if anything else reads it, or if an
// index is not known. A piece that is taken twice is one tensor.
std::optional<std::map<int64_t, TensorId>> TakenPieces(Site& s, int64_t count) {
  std::map<int64_t, TensorId> pieces;
  for (NodeId reader : s.source().tensors[s.Out(0)].consumers) {
    const Node& at = s.source().nodes[reader];
    const LiteralPtr index = at.op == "SequenceAt" && at.inputs.size() == 2 && at.inputs[1].valid()
                                 ? s.source().tensors[at.inputs[1]].value
                                 : nullptr;
    if (index == nullptr || index->ints() == nullptr || index->ints()->size() != 1) return std::nullopt;
    const int64_t piece = index->ints()->front() + (index->ints()->front() < 0 ? count : 0);
    if (piece < 0 || piece >= count) return std::nullopt;
    const auto [it, fresh] = pieces.emplace(piece, at.outputs[0]);
    if (!fresh) s.draft().Alias(at.outputs[0], it->second);
  }
  return pieces;
}

// Sizes of SplitToSequence's pieces along an axis of `size`; empty if they are not known.
std::vector<int64_t> PieceSizes(const Site& s, int64_t size) {
  if (!s.Has(1)) return size > 0 ? std::vector<int64_t>(static_cast<size_t>(size), 1) : std::vector<int64_t>();
  std::vector<int64_t> sizes = s.Ints(1).value_or(std::vector<int64_t>());
  if (s.InRank(1) > 0 || sizes.size() != 1 || sizes[0] <= 0) return sizes;
  const int64_t piece = sizes[0];
  sizes.clear();
  for (int64_t begin = 0; begin < size; begin += piece) sizes.push_back(std::min(piece, size - begin));
  return sizes;
}

}  // namespace

// torch.split and chunk as dynamo's exporter writes them before its optimizer has run: a sequence, of which every piece
// is taken by its index.
void LowerSplitToSequence(Site& s) {
  constexpr size_t kMostPieces = 4096;
  const int64_t axis = s.Axis("axis", 0);
  const bool known = axis < static_cast<int64_t>(s.InRank(0));
  const int64_t size = known ? s.InShape(0).dims[static_cast<size_t>(axis)] : kUnknownDim;
  const std::vector<int64_t> sizes = known ? PieceSizes(s, size) : std::vector<int64_t>();
  if (sizes.empty() || sizes.size() > kMostPieces) return s.Assume();
  const auto pieces = TakenPieces(s, static_cast<int64_t>(sizes.size()));
  if (!pieces) return s.Assume();
  const bool squeezed = !s.Has(1) && s.Int("keepdims", 1) == 0;
  std::vector<TensorId> outputs(sizes.size());
  for (const auto& [index, tensor] : *pieces) {
    outputs[static_cast<size_t>(index)] = tensor;
    Tensor& piece = s.draft().mutable_tensor(tensor);
    piece.dtype = s.InType(0);
    piece.shape = s.InShape(0);
    piece.shape.dims[static_cast<size_t>(axis)] = sizes[static_cast<size_t>(index)];
    if (squeezed) piece.shape.dims.erase(piece.shape.dims.begin() + axis);
  }
  if (squeezed) {
    s.Emit("unbind", {s.Materialized(0)}, std::move(outputs), {{"axis", axis}});
  } else {
    s.Emit("split", {s.Materialized(0)}, std::move(outputs), {{"axis", axis}, {"sizes", sizes}});
  }
}

// A piece of a sequence that is split already; of other sequences nothing is known.
void LowerSequenceAt(Site& s) {
  const TensorId piece = s.draft().Resolve(s.Out(0));
  if (!s.draft().producer(piece).valid()) s.Assume();
}

}  // namespace onnx_mem
