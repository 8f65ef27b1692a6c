#include "analyzer/lower/dropout_recipe.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analyzer/lower/dropout_gaps.h"
#include "analyzer/lower/transformer_parts.h"

namespace onnx_mem {
namespace {

// The linears whose results join the residual stream.
std::vector<NodeId> ResidualLinears(const Draft& draft, const DropoutSpots& spots) {
  std::vector<NodeId> linears;
  for (const DropoutSpot& spot : spots.usual) {
    if (IsProjection(draft, spot.node)) linears.push_back(spot.node);
  }
  return linears;
}

// Of fairseq's three probabilities, those of attention weights and of activations are 0 unless told otherwise.
std::vector<DropoutSpot> OnLinears(const Draft& draft, const DropoutSpots& spots) {
  std::vector<DropoutSpot> found;
  std::copy_if(spots.usual.begin(), spots.usual.end(), std::back_inserter(found),
               [&](const DropoutSpot& spot) { return IsProjection(draft, spot.node); });
  return found;
}

bool ShareWeights(const Draft& draft, const std::vector<NodeId>& linears) {
  absl::flat_hash_set<TensorId> weights;
  return !std::all_of(linears.begin(), linears.end(),
                      [&](NodeId id) { return weights.insert(draft.node(id).inputs[1]).second; });
}

// Nearly all: the first block may read embeddings that no norm has seen, the last one's sum may be an output.
bool ArePostNorm(const Draft& draft, const std::vector<NodeId>& linears) {
  const auto count = std::count_if(linears.begin(), linears.end(), [&](NodeId id) {
    return IsPostNormSum(draft, ResidualSum(draft, draft.node(id).outputs[0]));
  });
  return 2 * count > static_cast<int64_t>(linears.size());
}

bool HaveNoBias(const Draft& draft, const std::vector<NodeId>& linears) {
  return std::all_of(linears.begin(), linears.end(), [&](NodeId id) { return draft.node(id).inputs.size() == 2; });
}

bool AreConv1D(const Draft& draft, const std::vector<NodeId>& linears) {
  return std::all_of(linears.begin(), linears.end(), [&](NodeId id) { return draft.node(id).op == "addmm"; });
}

bool AnyAddsPositions(const Draft& draft, const DropoutSpots& spots) {
  return std::any_of(spots.usual.begin(), spots.usual.end(),
                     [&](const DropoutSpot& spot) { return spot.attention && HasPositionBias(draft, spot.node); });
}

std::optional<DropoutRecipe> TransformerRecipe(const Draft& draft, const DropoutSpots& spots) {
  constexpr double kUsual = 0.1;
  const std::vector<NodeId> linears = ResidualLinears(draft, spots);
  if (linears.size() < 2 || ShareWeights(draft, linears)) return std::nullopt;
  if (ArePostNorm(draft, linears)) {
    return DropoutRecipe{kUsual, "as post-norm transformers (BERT, nn.TransformerEncoder) train", spots.usual};
  }
  if (HaveNoBias(draft, linears) && AnyAddsPositions(draft, spots))
    return DropoutRecipe{kUsual, "as T5 and its like train", spots.usual};
  if (HasPositionsFromTwo(draft)) {
    return DropoutRecipe{kUsual, "as decoders ported from fairseq (OPT) train", OnLinears(draft, spots)};
  }
  if (AreConv1D(draft, linears)) return DropoutRecipe{kUsual, "as GPT-2 and its like train", spots.usual};
  return std::nullopt;
}

// The activation of a convolution over a sequence that was padded on both sides and cut at its end.
bool IsCausalActivation(const Draft& draft, NodeId id) {
  const Node& node = draft.node(id);
  const NodeId cut = node.inputs.empty() ? NodeId() : draft.ProducerIf(node.inputs[0], "slice");
  return node.op == "relu" && cut.valid() && draft.ProducerIf(draft.node(cut).inputs[0], "conv").valid() &&
         draft.tensor(node.outputs[0]).shape.rank() == 3;
}

std::optional<DropoutRecipe> CausalRecipe(const Draft& draft, const DropoutSpots& spots) {
  DropoutRecipe recipe{0.2, "as temporal convolutional networks train"};
  for (const DropoutSpot& spot : spots.usual) {
    if (IsCausalActivation(draft, spot.node)) recipe.spots.push_back(spot);
  }
  return recipe.spots.size() < 2 ? std::nullopt : std::optional(recipe);
}

std::optional<DropoutRecipe> GapRecipe(const Draft& draft) {
  DropoutRecipe recipe{0.5, "where a number is missing in an nn.Sequential"};
  for (NodeId id : FindSequentialGaps(draft)) recipe.spots.push_back({id, DropoutPlace::kMaskAndResult});
  return recipe.spots.empty() ? std::nullopt : std::optional(recipe);
}

}  // namespace

std::optional<DropoutRecipe> KnownDropoutRecipe(const Draft& draft, const DropoutSpots& spots) {
  if (spots.attentions > 0) return TransformerRecipe(draft, spots);
  const std::optional<DropoutRecipe> causal = CausalRecipe(draft, spots);
  return causal ? causal : GapRecipe(draft);
}

}  // namespace onnx_mem
