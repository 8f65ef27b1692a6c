#include "analyzer/lower/rewrites.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/suggest.h"

namespace onnx_mem {

// rewrite_custom_functions.cc: torch.autograd.Function
int64_t JoinCustomFunctions(Lowering& lowering);
int64_t SaveFunctionInputs(Lowering& lowering);
// rewrite_cache_update.cc, rewrite_lost_calls.cc
int64_t RestoreCacheUpdates(Lowering& lowering);
int64_t RestoreLostCalls(Lowering& lowering);

namespace {

constexpr auto kRewrites = std::to_array<Rewrite>({
    {"custom-function", "calls of autograd.Functions run as one operator", JoinCustomFunctions, Told::kByItself},
    {"function-inputs", "autograd.Functions that save what they are given", SaveFunctionInputs, Told::kByItself},
    {"folded-weight", "weights that the exporter computed are computed in every step", ComputeFoldedWeights,
     Told::kByCheck},
    {"bn-unfold", "BatchNorms that the exporter folded into convolutions put back", UnfoldBatchNorm, Told::kByItself},
    {"displaced", "operators that the exporter moved behind other modules run in their own", ReturnDisplaced,
     Told::kByCheck},
    {"fused-concat", "positional encodings joined ahead of the Concat that the exporter made one with",
     SplitFusedConcat, Told::kByCheck},
    {"merged-expressions", "expressions that the exporter merged run in each module", SplitMergedExpressions,
     Told::kByCheck},
    {"module-buffers", "buffers that the exporter merged counted for each module", SplitModuleBuffers, Told::kByCheck},
    {"cache-update", "concatenations with nothing, which copy, that the exporter took out put back",
     RestoreCacheUpdates},
    {"aten-groups", "ATen calls that the exporter decomposed run as one operator", FuseAtenGroups},
    {"slice-update", "sums that the exporter made of x[a:b] += y written into their slice", UpdateSlices,
     Told::kByCheck},
    {"lost-calls", "copies and repeated calls that the exporter took out put back", RestoreLostCalls},
    {"relative-bias", "relative position biases that the exporter folded computed from their tables",
     ComputeRelativeBias},
    {"folded-expressions", "values that the exporter computed are computed in every step", ComputeFoldedExpressions,
     Told::kByCheck},
    {"folded-linear", "linear layers over stored inputs computed in every step", ComputeFoldedLinear, Told::kByCheck},
    {"linear-bias", "matrix products with their bias run as one linear", FuseLinearBias, Told::kByCheck},
    {"rsqrt", "reciprocals of square roots run as one rsqrt", FuseRsqrt, Told::kByCheck},
    {"spelled-out", "operators without one in ONNX run as the framework's own", FuseSpelledOut, Told::kByCheck},
    {"cells", "recurrent cells that the exporter spelled out run as one operator each", FuseCells},
    {"addcmul", "sums with a product scaled by one run as addcmul", FuseAddcmul, Told::kByCheck},
    {"unbind", "splits into single slices run as one unbind", FuseUnbind, Told::kByCheck},
    {"roll", "pairs of slices joined the other way round run as roll", FuseRoll, Told::kByCheck},
    {"group-norm", "GroupNorms that the exporter spelled out run as one operator", FuseGroupNorm},
    {"layer-norm", "LayerNorms that the exporter spelled out run as one operator", FuseLayerNorm},
    {"centered-twice", "normalisations written by hand subtract the mean twice", CenterTwice, Told::kByCheck},
    {"cosine-similarity", "cosine similarities run as the framework computes them", FuseCosineSimilarity,
     Told::kByCheck},
    {"gelu", "GELUs that the exporter spelled out run as one operator", FuseGelu},
    {"silu", "products with their own sigmoid run as SiLU", FuseSilu},
    {"hardswish", "products with their own hard sigmoid run as Hardswish", FuseHardswish},
    {"mish", "products with the tanh of their softplus run as Mish", FuseMish},
    {"glu", "halves gated by the sigmoid of the other half run as GLU", FuseGlu},
    {"chunk", "slices that the exporter made of torch.chunk run as one split", FuseChunk, Told::kByCheck},
    {"tied-weights", "output projections share the token embedding's weight", TieWeights, Told::kByItself},
    {"weight-norm", "weights of given direction and length run as one weight norm", FuseWeightNorm},
    {"attention", "attentions that the exporter spelled out run as scaled_dot_product_attention", FuseAttention},
    {"wide-softmax", "attention weights computed in float32 and cast back", WidenSoftmax, Told::kByCheck},
    {"traced-mask", "masks that exist only under tracing left out", DropTracedMasks},
    {"packed-projection", "packed q, k, v projections of nn.MultiheadAttention are copied once",
     InsertPackedProjectionCopy},
    {"map-attention", "attentions between the positions of an image copy their operands", InsertMapAttentionCopies},
    {"crop", "images whose padding is cut off are copied", CopyCrops, Told::kByCheck},
    {"bias-cache", "position biases that attentions keep in evaluation mode", MarkCachedBiases, Told::kByCheck},
    {"token-map", "images made of tokens are copied into the layout of images", InsertTokenMapCopy},
    {"bn-undecided", "BatchNorms of which no trace is left", TellUndecidedNorms, Told::kByItself},
    {"frozen-tables", "tables of positions that are not trained", FreezeTables, Told::kByItself},
    {"fixed-scales", "parameters of one number that may not be trained", SettleScales, Told::kByItself},
    {"direct-calls", "attentions whose forward was called directly run in a call of their own", NameDirectCalls,
     Told::kByCheck},
    {"dropout", "dropouts put back", RestoreDropout, Told::kByItself},
});

}  // namespace

std::span<const Rewrite> AllRewrites() { return kRewrites; }

absl::Status CheckRewriteNames(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const Rewrite& rewrite : kRewrites) known.emplace_back(rewrite.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::vector<std::string> details = {absl::StrCat("what: the rewrites are ", absl::StrJoin(known, ", "))};
    if (const std::string near = DidYouMean(name, known); !near.empty()) details.push_back(near);
    return ErrorStatus(absl::StatusCode::kInvalidArgument, "unknown-rewrite", absl::StrCat("no rewrite '", name, "'"),
                       std::move(details));
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
