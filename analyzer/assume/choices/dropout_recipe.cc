#include "analyzer/assume/choices/dropout_recipe.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analyzer/assume/choices/dropout_gaps.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/draft/transformer_parts.h"

namespace onnx_mem {
namespace {

// The linears whose results join the residual stream.
NodeIds ResidualLinears(const Draft& draft, const DropoutSpots& spots) {
  NodeIds linears;
  for (const DropoutSpot& spot : spots.common) {
    if (IsProjection(draft, spot.node)) linears.push_back(spot.node);
  }
  return linears;
}

// What the rows below ask and choose from.
struct Build {
  const Draft& draft;
  const DropoutSpots& spots;
  const NodeIds linears;  // of residual branches
};

bool AreFew(const Build& build) { return build.linears.size() < 2; }

bool ShareWeights(const Build& build) {
  absl::flat_hash_set<TensorId> weights;
  return !std::all_of(build.linears.begin(), build.linears.end(),
                      [&](NodeId id) { return weights.insert(build.draft.node(id).inputs[1]).second; });
}

// Nearly all: the first block may read embeddings that no norm has seen, the last one's sum may be an output.
bool ArePostNorm(const Build& build) {
  const auto& [draft, spots, linears] = build;
  int64_t count = 0;
  for (NodeId id : linears) count += IsPostNormSum(draft, ResidualSum(draft, draft.node(id).outputs[0]));
  return 2 * count > static_cast<int64_t>(linears.size());
}

// nn.TransformerEncoderLayer(norm_first=True) and its decoder drop as those with norms behind their sums do.
bool AreTorchLayers(const Build& build) {
  return std::any_of(build.spots.common.begin(), build.spots.common.end(), [&](const DropoutSpot& spot) {
    return !spot.attention && IsTorchFeedForward(build.draft, spot.node);
  });
}

bool AreConv1D(const Build& build) {
  return std::all_of(build.linears.begin(), build.linears.end(),
                     [&](NodeId id) { return build.draft.node(id).op == "addmm"; });
}

// Linears without biases, and positions in the scores.
bool AreLikeT5(const Build& build) {
  const auto& common = build.spots.common;
  return std::all_of(build.linears.begin(), build.linears.end(),
                     [&](NodeId id) { return build.draft.node(id).inputs.size() == 2; }) &&
         std::any_of(common.begin(), common.end(), [&](const DropoutSpot& spot) {
           return spot.attention && HasPositionBias(build.draft, spot.node);
         });
}

// The activation of a convolution over a sequence that was padded on both sides and cut at its end.
bool IsCausalActivation(const Draft& draft, NodeId id) {
  const FrameworkNode& node = draft.node(id);
  const NodeId cut = node.inputs.empty() ? NodeId() : draft.ProducerIf(node.inputs[0], "slice");
  return node.op == "relu" && cut.valid() && draft.ProducerIf(draft.node(cut).inputs[0], "conv").valid() &&
         draft.tensor(node.outputs[0]).shape.rank() == 3;
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
bool JoinsPyramid(const Draft& draft, const FrameworkNode& cat) {
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

// --- where a build drops

std::vector<DropoutSpot> CommonSpots(const Build& build) { return build.spots.common; }

template <typename Predicate>
std::vector<DropoutSpot> CommonWhere(const Build& build, Predicate holds) {
  std::vector<DropoutSpot> found;
  std::copy_if(build.spots.common.begin(), build.spots.common.end(), std::back_inserter(found),
               [&](const DropoutSpot& spot) { return holds(build.draft, spot.node); });
  return found;
}

std::vector<DropoutSpot> BehindCausal(const Build& build) {
  std::vector<DropoutSpot> found = CommonWhere(build, IsCausalActivation);
  return found.size() < 2 ? std::vector<DropoutSpot>() : found;
}

std::vector<DropoutSpot> WithResults(const NodeIds& nodes) {
  std::vector<DropoutSpot> found;
  for (NodeId id : nodes) found.push_back({id, DropoutPlace::kMaskAndResult});
  return found;
}

std::vector<DropoutSpot> InGaps(const Build& build) { return WithResults(FindSequentialGaps(build.draft)); }

template <bool (*kHolds)(const Draft&, NodeId)>
std::vector<DropoutSpot> BehindAll(const Build& build) {
  NodeIds nodes = build.draft.InOrder();
  EraseIf(nodes, [&](NodeId id) { return !kHolds(build.draft, id); });
  return WithResults(nodes);
}

// --- the builds

// Of the rows of one kind the first that fits is taken; rows of several kinds may fit one model.
enum class Kind { kBlocks, kSequence, kGaps, kPyramid };

struct RecipeRow {
  Kind kind;
  bool (*is)(const Build& build);                          // nullptr: wherever there are such places
  std::vector<DropoutSpot> (*places)(const Build& build);  // nullptr: trains without, or nothing is known
  double probability = 0.0;
  std::string_view why = {};
};

constexpr RecipeRow kOfTransformers[] = {
    {Kind::kBlocks, AreFew, nullptr},
    // Lan et al. 2020 (4.8): with one set of weights in every layer ALBERT trains better without.
    {Kind::kBlocks, ShareWeights, nullptr},
    // Vaswani et al. 2017 (5.4), Devlin et al. 2019 (A.2); nn.TransformerEncoderLayer: a norm behind each residual sum
    {Kind::kBlocks, ArePostNorm, CommonSpots, 0.1, "as post-norm transformers (nn.TransformerEncoder) train"},
    // Raffel et al. 2020 (3.1.1): T5, mT5
    {Kind::kBlocks, AreLikeT5, CommonSpots, 0.1, "as T5 and its like train"},
    // weights kept as [in, out], Conv1D of transformers: GPT, GPT-2 (resid_pdrop, attn_pdrop, embd_pdrop)
    {Kind::kBlocks, AreConv1D, CommonSpots, 0.1, "as transformers whose weights are [in, out] train"},
    {Kind::kBlocks, AreTorchLayers, CommonSpots, 0.1, "as layers of nn.Transformer train"},
};

// Sequential gaps are not looked for in transformers, many of which have theirs with probability 0.
constexpr RecipeRow kOfOthers[] = {
    // Bai et al. 2018: TCN, behind each activation
    {Kind::kSequence, nullptr, BehindCausal, 0.2, "as temporal convolutional networks train"},
    // VGG, SqueezeNet, FCN (dropout_gaps.h)
    {Kind::kGaps, nullptr, InGaps, 0.5, "where a number is missing in an nn.Sequential"},
    // Chen et al. 2017: DeepLab, behind the projection of its pyramid
    {Kind::kPyramid, nullptr, BehindAll<IsPyramidActivation>, 0.5,
     "as DeepLab's pyramids of dilated convolutions train"},
};

}  // namespace

std::vector<DropoutRecipe> KnownDropoutRecipes(const Draft& draft, const DropoutSpots& spots) {
  std::span<const RecipeRow> rows = kOfOthers;
  if (spots.attentions > 0) rows = kOfTransformers;
  const Build build = {draft, spots, ResidualLinears(draft, spots)};
  std::vector<DropoutRecipe> recipes;
  absl::flat_hash_set<NodeId> dropped;
  std::set<Kind> known;
  for (const RecipeRow& row : rows) {
    if (known.contains(Kind::kSequence)) break;  // the whole of such a network
    if (known.contains(row.kind) || (row.is != nullptr && !row.is(build))) continue;
    DropoutRecipe recipe{row.probability, row.why, {}, row.kind == Kind::kBlocks};
    if (row.places != nullptr) recipe.spots = row.places(build);
    if (row.is != nullptr || !recipe.spots.empty()) known.insert(row.kind);
    std::erase_if(recipe.spots, [&](const DropoutSpot& spot) { return !dropped.insert(spot.node).second; });
    if (!recipe.spots.empty()) recipes.push_back(std::move(recipe));
  }
  return recipes;
}

}  // namespace onnx_mem
