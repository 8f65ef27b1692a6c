#include "analyzer/assume/choices/dropout_recipe.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analyzer/assume/choices/dropout_gaps.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/draft/transformer_parts.h"

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

// nn.TransformerEncoderLayer(norm_first=True) and its decoder drop as those with norms behind their sums do.
bool AreTorchLayers(const Draft& draft, const DropoutSpots& spots) {
  return std::any_of(spots.usual.begin(), spots.usual.end(),
                     [&](const DropoutSpot& spot) { return !spot.attention && IsTorchFeedForward(draft, spot.node); });
}

bool AnyModule(const Draft& draft, std::string_view part) {
  const std::vector<NodeId> nodes = draft.InOrder();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    return std::string_view(draft.node(id).module).find(part) != std::string_view::npos;
  });
}

// Names of BERT's modules in transformers, in a model of tokens: configurations that follow BERT's (Megatron-BERT,
// RoBERTa-PreLayerNorm, ESM). Images' transformers of these names (Swin) train without.
bool AreNamedAsBert(const Draft& draft) {
  const std::vector<NodeId> nodes = draft.InOrder();
  const bool tokens =
      std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return draft.node(id).op == "embedding"; });
  return tokens && AnyModule(draft, ".attention.self.") && AnyModule(draft, ".attention.output.dense");
}

// ALBERT's projection of small embeddings, which RemBERT took over with its probabilities of 0.
bool AreNamedAsAlbert(const Draft& draft) { return AnyModule(draft, "embedding_hidden_mapping_in"); }

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
  if (linears.size() < 2 || ShareWeights(draft, linears) || AreNamedAsAlbert(draft)) return std::nullopt;
  if (ArePostNorm(draft, linears)) {
    return DropoutRecipe{kUsual, "as post-norm transformers (BERT, nn.TransformerEncoder) train", spots.usual, true};
  }
  if (HaveNoBias(draft, linears) && AnyAddsPositions(draft, spots))
    return DropoutRecipe{kUsual, "as T5 and its like train", spots.usual, true};
  if (HasPositionsFromTwo(draft)) {
    return DropoutRecipe{kUsual, "as decoders ported from fairseq (OPT) train", OnLinears(draft, spots), true};
  }
  if (AreConv1D(draft, linears)) return DropoutRecipe{kUsual, "as GPT-2 and its like train", spots.usual, true};
  if (AreTorchLayers(draft, spots))
    return DropoutRecipe{kUsual, "as layers of nn.Transformer train", spots.usual, true};
  if (AreNamedAsBert(draft)) return DropoutRecipe{kUsual, "as BERT and its like train", spots.usual, true};
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

// The convolution behind an activation, with a norm between them or not; invalid for others.
NodeId ConvolutionBehind(const Draft& draft, NodeId activation) {
  if (!activation.valid() || draft.node(activation).op != "relu") return NodeId();
  TensorId x = draft.node(activation).inputs[0];
  if (const NodeId norm = draft.ProducerIf(x, "batch_norm"); norm.valid()) x = draft.node(norm).inputs[0];
  return draft.ProducerIf(x, "conv");
}

constexpr size_t kFewestRates = 3;

// Convolutions of several dilations over one tensor, side by side: atrous spatial pyramid pooling.
bool JoinsPyramid(const Draft& draft, const Node& cat) {
  std::map<TensorId, std::set<int64_t>> dilations;  // by what the convolutions read
  for (TensorId part : cat.inputs) {
    const NodeId conv = ConvolutionBehind(draft, draft.producer(part));
    if (!conv.valid()) continue;
    const std::vector<int64_t> dilation = IntsAttribute(draft.node(conv), "dilation");
    dilations[draft.node(conv).inputs[0]].insert(dilation.empty() ? 1 : dilation[0]);
  }
  return std::any_of(dilations.begin(), dilations.end(),
                     [](const auto& entry) { return entry.second.size() >= kFewestRates; });
}

// What the projection of the joined pyramid is activated to: DeepLab drops it.
bool IsPyramidActivation(const Draft& draft, NodeId id) {
  const NodeId conv = ConvolutionBehind(draft, id);
  const NodeId cat = conv.valid() ? draft.ProducerIf(draft.node(conv).inputs[0], "cat") : NodeId();
  return cat.valid() && JoinsPyramid(draft, draft.node(cat));
}

std::optional<DropoutRecipe> PyramidRecipe(const Draft& draft) {
  DropoutRecipe recipe{0.5, "as DeepLab's pyramids of dilated convolutions train"};
  for (NodeId id : draft.InOrder()) {
    if (IsPyramidActivation(draft, id)) recipe.spots.push_back({id, DropoutPlace::kMaskAndResult});
  }
  return recipe.spots.empty() ? std::nullopt : std::optional(recipe);
}

// A relu between two linears with biases, of which the first reads stored coordinates, [.., 2]: timm's Mlp, which drops
// there. The nn.Sequential of swin v2 has no dropout and no second bias.
bool IsCoordinateActivation(const Draft& draft, NodeId id) {
  const Node& node = draft.node(id);
  if (node.op != "relu" || IsFollowedAtOnce(draft, id)) return false;
  const NodeId before = draft.ProducerIf(node.inputs[0], "linear"),
               after = OnlyReaderIf(draft, node.outputs[0], "linear");
  if (!before.valid() || !after.valid() || draft.node(after).inputs.size() < 3) return false;
  const TensorId x = draft.node(before).inputs[0];
  const Dims& dims = draft.tensor(x).shape.dims;
  return !draft.producer(x).valid() && draft.kind(x) == TensorKind::kBuffer && !dims.empty() && dims.back() == 2;
}

std::optional<DropoutRecipe> CoordinateRecipe(const Draft& draft) {
  DropoutRecipe recipe{0.125, "as timm's networks over relative coordinates train"};
  for (NodeId id : draft.InOrder()) {
    if (IsCoordinateActivation(draft, id)) recipe.spots.push_back({id, DropoutPlace::kMaskAndResult});
  }
  return recipe.spots.empty() ? std::nullopt : std::optional(recipe);
}

}  // namespace

std::vector<DropoutRecipe> KnownDropoutRecipes(const Draft& draft, const DropoutSpots& spots) {
  std::vector<std::optional<DropoutRecipe>> found;
  if (spots.attentions > 0) {
    found = {TransformerRecipe(draft, spots), CoordinateRecipe(draft)};
  } else {
    found = {CausalRecipe(draft, spots)};
    if (!found[0]) found = {GapRecipe(draft), PyramidRecipe(draft)};
  }
  std::vector<DropoutRecipe> recipes;
  absl::flat_hash_set<NodeId> dropped;
  for (std::optional<DropoutRecipe>& recipe : found) {
    if (!recipe) continue;
    std::erase_if(recipe->spots, [&](const DropoutSpot& spot) { return !dropped.insert(spot.node).second; });
    if (!recipe->spots.empty()) recipes.push_back(*std::move(recipe));
  }
  return recipes;
}

}  // namespace onnx_mem
