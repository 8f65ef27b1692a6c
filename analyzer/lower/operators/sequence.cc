// Sequences of tensors: Python lists, which cost nothing. A list is known where it is built of known tensors, a tensor
// is split into it, and positions are numbers; what comes from outside or out of a loop is assumed.
#include <algorithm>
#include <map>
#include <optional>

#include "analyzer/lower/operators/ops.h"
#include "analyzer/run/limits.h"

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

constexpr int64_t kMostPieces = 4096;

// Sizes of SplitToSequence's pieces along an axis of `size`; empty if they are not known or too many.
std::vector<int64_t> PieceSizes(const Site& s, int64_t size) {
  std::vector<int64_t> sizes = s.Has(1) ? s.Ints(1).value_or(std::vector<int64_t>()) : std::vector<int64_t>{1};
  if (s.Has(1) && (s.InRank(1) > 0 || sizes.size() != 1)) return sizes;
  const int64_t piece = sizes[0];
  sizes.clear();
  if (piece <= 0 || size / piece > kMostPieces) return sizes;
  for (int64_t begin = 0; begin < size; begin += piece) sizes.push_back(std::min(piece, size - begin));
  return sizes;
}

const TensorIds* SequenceOf(const Site& s, size_t slot) {
  if (!s.Has(slot)) return nullptr;
  const auto it = s.lowering().sequences.find(s.node().inputs[slot]);
  return it == s.lowering().sequences.end() ? nullptr : &it->second;
}

// The list is the result; a list that the graph hands out keeps its tensors.
void SetSequence(Site& s, TensorIds tensors) {
  const auto& outputs = s.source().outputs;
  if (std::find(outputs.begin(), outputs.end(), s.Out(0)) != outputs.end()) {
    for (TensorId tensor : tensors) s.draft().Keep(tensor);
  }
  s.lowering().listed += std::ssize(tensors);
  s.lowering().sequences[s.Out(0)] = std::move(tensors);
}

// Position `slot` in a list of `size`, counted from the end where it is negative; nullopt if it is not known or
// outside.
std::optional<size_t> PositionOf(const Site& s, size_t slot, size_t size) {
  const auto at = s.Ints(slot);
  if (!at || at->size() != 1) return std::nullopt;
  const int64_t position = at->front() + (at->front() < 0 ? static_cast<int64_t>(size) : 0);
  if (position < 0 || position > static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(position);
}

// Tensors for the pieces of a split.
TensorIds AllPieces(Site& s, int64_t axis, const std::vector<int64_t>& sizes, bool squeezed) {
  TensorIds pieces;
  for (int64_t size : sizes) {
    Dims dims = s.InShape(0).dims;
    dims[static_cast<size_t>(axis)] = size;
    if (squeezed) dims.erase(dims.begin() + axis);
    pieces.push_back(s.Temp(dims, s.InType(0)));
  }
  return pieces;
}

}  // namespace

// torch.split and chunk as dynamo's exporter writes them before its optimizer has run: a sequence, of which every piece
// is taken by its index.
void LowerSplitToSequence(Site& s) {
  const int64_t axis = s.Axis("axis", 0);
  const bool known = axis >= 0 && axis < static_cast<int64_t>(s.InRank(0));
  const int64_t size = known ? s.InDim(0, static_cast<size_t>(axis)) : kUnknownDim;
  const std::vector<int64_t> sizes = known ? PieceSizes(s, size) : std::vector<int64_t>();
  if (sizes.empty() || std::ssize(sizes) > kMostPieces) return s.Assume();
  const auto pieces = TakenPieces(s, static_cast<int64_t>(sizes.size()));
  const bool squeezed = !s.Has(1) && s.Int("keepdims", 1) == 0;
  TensorIds outputs = AllPieces(s, axis, sizes, squeezed);  // those that nothing takes are made as well
  if (!pieces) {
    SetSequence(s, outputs);
  } else {
    for (const auto& [index, tensor] : *pieces) {
      outputs[static_cast<size_t>(index)] = tensor;
      Tensor& piece = s.draft().mutable_tensor(tensor);
      piece.dtype = s.InType(0);
      piece.shape = s.InShape(0);
      piece.shape.dims[static_cast<size_t>(axis)] = sizes[static_cast<size_t>(index)];
      if (squeezed) piece.shape.dims.erase(piece.shape.dims.begin() + axis);
    }
  }
  if (squeezed) {
    s.Emit("unbind", {s.Materialized(0)}, std::move(outputs), {{"axis", axis}});
  } else {
    s.Emit("split", {s.Materialized(0)}, std::move(outputs), {{"axis", axis}, {"sizes", sizes}});
  }
}

void LowerSequenceConstruct(Site& s) {
  TensorIds tensors;
  for (size_t i = 0; i < s.num_inputs(); ++i) tensors.push_back(s.Materialized(i));
  SetSequence(s, std::move(tensors));
}

// SequenceInsert (sequence, tensor, position?), SequenceErase (sequence, position?): the end unless said otherwise.
void LowerSequenceEdit(Site& s) {
  const TensorIds* before = SequenceOf(s, 0);
  if (before == nullptr || s.lowering().listed > limits::kListedTensors) return s.Assume();
  TensorIds tensors = *before;
  const bool inserts = s.node().op == "SequenceInsert";
  const size_t slot = inserts ? 2 : 1, last = tensors.size() - (inserts ? 0 : 1);
  const auto position = s.Has(slot) ? PositionOf(s, slot, tensors.size()) : std::optional<size_t>(last);
  if (!position || *position > last || (!inserts && tensors.empty())) return s.Assume();
  const auto at = tensors.begin() + static_cast<int64_t>(*position);
  if (inserts) {
    tensors.insert(at, s.Materialized(1));
  } else {
    tensors.erase(at);
  }
  SetSequence(s, std::move(tensors));
}

// A piece that a split handed out already, or a tensor of a known list.
void LowerSequenceAt(Site& s) {
  const TensorIds* tensors = SequenceOf(s, 0);
  const auto position = tensors ? PositionOf(s, 1, tensors->size()) : std::nullopt;
  if (position && *position < tensors->size()) return s.Alias(0, (*tensors)[*position]);
  const TensorId piece = s.draft().Resolve(s.Out(0));
  if (!s.draft().producer(piece).valid()) s.Assume();
}

// torch.cat or, along a new axis, torch.stack of a list.
void LowerConcatFromSequence(Site& s) {
  const TensorIds* tensors = SequenceOf(s, 0);
  if (tensors == nullptr || tensors->empty()) return s.Assume();
  const bool stacks = s.Int("new_axis", 0) != 0;
  s.Emit(stacks ? "stack" : "cat", *tensors, {s.Out(0)},
         {{"axis", Site::Normalize(s.Int("axis", 0), s.OutShape().rank())}});
}

void LowerOptional(Site& s) {
  if (!s.Has(0)) return;
  if (const TensorIds* tensors = SequenceOf(s, 0)) return SetSequence(s, *tensors);
  s.Alias(0, s.Materialized(0));
}

}  // namespace onnx_mem
