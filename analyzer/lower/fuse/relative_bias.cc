// A window attention's relative position bias is an expression of a table alone, so exporters fold it and store what it
// gives. A training step computes it: table[(2W-1)², H] by the index of W² x W² pairs of positions gives [W²·W², H],
// then a view, a permute and a copy give [H, W², W²], which is added to the scores.
//
//   stored [1, 3, 49, 49] added to scores [B, 3, 49, 49]   ->  index, reshape, permute, contiguous, unsqueeze
//   stored [2401, 6] reshaped to [49, 49, 6]               ->  index
//   stored index [4, 49, 49] added to scores               ->  index, of LeViT's table [4, 49] of distances
//
// A class token has three more rows. What is stored is known from a mask by its scores' heads.
// Sources: torchvision/models/swin_transformer.py, timm/layers/pos_embed_rel.py (RelPosBias), timm/models/beit.py,
// timm/models/levit.py (attention_biases).
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

std::optional<int64_t> Root(int64_t value) {
  const auto root = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(value))));
  return value > 1 && root * root == value ? std::optional(root) : std::nullopt;
}

// Rows of the table of a window with `positions`, a class token among them or not; nullopt if that is no square window.
std::optional<int64_t> TableRows(int64_t positions) {
  if (const auto side = Root(positions)) return (2 * *side - 1) * (2 * *side - 1);
  if (const auto side = Root(positions - 1)) return (2 * *side - 1) * (2 * *side - 1) + 3;
  return std::nullopt;
}

struct Bias {
  NodeId reader;
  int64_t positions = 0, heads = 0;
  bool folded_to_scores = false;  // [.., H, N, N] rather than [N·N, H]
  bool by_distance = false;       // biases[:, index], which gives [H, N, N]
};

// Scores [B, H, N, N] that `id` is added to.
bool IsAddedToScores(const Draft& draft, NodeId add, TensorId id) {
  const TensorId other = OtherOperand(draft.node(add), id);
  if (draft.node(add).op != "add" || !other.valid()) return false;
  const Dims &scores = draft.tensor(other).shape.dims, &bias = draft.tensor(id).shape.dims;
  return scores.size() == 4 && draft.producer(other).valid() &&
         std::equal(bias.end() - 3, bias.end(), scores.begin() + 1);
}

std::optional<Bias> FindBias(const Draft& draft, TensorId id) {
  const Tensor& tensor = draft.tensor(id);
  if (draft.kind(id) != TensorKind::kBuffer || draft.producer(id).valid() || !IsFloating(tensor.dtype))
    return std::nullopt;
  const NodeId reader = draft.OnlyReader(id);
  const Dims& dims = tensor.shape.dims;
  if (!reader.valid() || dims.size() < 2 || dims.size() > 4) return std::nullopt;
  Bias bias{.reader = reader};
  if (dims.size() == 2) {
    const auto positions = Root(dims[0]);
    const Dims& to = draft.tensor(draft.node(reader).outputs[0]).shape.dims;
    if (!positions || draft.node(reader).op != "reshape" || to != Dims{*positions, *positions, dims[1]})
      return std::nullopt;
    bias.positions = *positions;
    bias.heads = dims[1];
  } else {
    const size_t n = dims.size();
    if (dims[n - 1] != dims[n - 2] || (n == 4 && dims[0] != 1) || !IsAddedToScores(draft, reader, id))
      return std::nullopt;
    bias.positions = dims[n - 1];
    bias.heads = dims[n - 3];
    bias.folded_to_scores = true;
    bias.by_distance = n == 3 && FoldedCall(tensor.name) == "index";
  }
  return TableRows(bias.positions) ? std::optional(bias) : std::nullopt;
}

// Adds operators ahead of `reader`, in its call.
class Ahead {
 public:
  Ahead(Draft& draft, NodeId reader, std::string name)
      : draft_(draft), reader_(draft.node(reader)), rank_(draft.rank(reader)), name_(std::move(name)) {
    --rank_.place;
  }
  TensorId Emit(std::string_view op, TensorIds inputs, DType dtype, Dims dims) {
    const TensorId result =
        draft_.NewTensor(absl::StrCat(name_, "/", absl::string_view(op.data(), op.size())), dtype, dims);
    FrameworkNode node = MakeNodeInCallOf(reader_, op, std::move(inputs), {result});
    node.name = absl::StrCat(name_, "/", absl::string_view(op.data(), op.size()));
    if (op == "permute") node.attributes["perm"] = std::vector<int64_t>{2, 0, 1};
    draft_.Add(std::move(node), rank_);
    return result;
  }

 private:
  Draft& draft_;
  const FrameworkNode reader_;
  Rank rank_;
  std::string name_;
};

void Compute(Draft& draft, TensorId id, const Bias& bias) {
  const Tensor stored = draft.tensor(id);
  const int64_t n = bias.positions, heads = bias.heads;
  const Dims table_dims = bias.by_distance ? Dims{heads, n} : Dims{*TableRows(n), heads};
  const Dims picked_dims = bias.by_distance ? stored.shape.dims : Dims{n * n, heads};
  const TensorId table =
      draft.NewTensor(absl::StrCat(stored.name, "/table"), stored.dtype, table_dims, TensorKind::kParameter);
  const TensorId index =
      draft.NewTensor(absl::StrCat(stored.name, "/positions"), DType::kInt64, Dims{n * n}, TensorKind::kBuffer);
  Ahead ahead(draft, bias.reader, stored.name);
  TensorId result = ahead.Emit("index", {table, index}, stored.dtype, picked_dims);
  if (bias.folded_to_scores && !bias.by_distance) {
    result = ahead.Emit("reshape", {result}, stored.dtype, Dims{n, n, heads});
    result = ahead.Emit("permute", {result}, stored.dtype, Dims{heads, n, n});
    result = ahead.Emit("contiguous", {result}, stored.dtype, Dims{heads, n, n});
    if (stored.shape.dims.size() == 4) result = ahead.Emit("unsqueeze", {result}, stored.dtype, Dims{1, heads, n, n});
  }
  TensorIds inputs = draft.node(bias.reader).inputs;
  std::replace(inputs.begin(), inputs.end(), id, result);
  draft.SetInputs(bias.reader, std::move(inputs));
}

}  // namespace

int64_t ComputeRelativeBias(Lowering& lowering) {
  if (!lowering.run.training) return 0;
  Draft& draft = lowering.draft;
  int64_t count = 0;
  const auto tensors = static_cast<int32_t>(draft.num_tensors());
  for (int32_t i = 0; i < tensors; ++i) {
    const std::optional<Bias> bias = FindBias(draft, TensorId(i));
    if (!bias) continue;
    Compute(draft, TensorId(i), *bias);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
