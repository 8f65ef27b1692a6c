#include "analyzer/lower/rewrites.h"

#include <array>

namespace onnx_mem {
namespace {

constexpr auto kRewrites = std::to_array<Rewrite>({
    {"bn-unfold", "BatchNorms that the exporter folded into convolutions put back", UnfoldBatchNorm, false},
    {"tied-weights", "output projections share the token embedding's weight", TieWeights, false},
    {"aten-groups", "ATen calls that the exporter decomposed run as one operator", FuseAtenGroups},
    {"linear-bias", "matrix products with their bias run as one linear", FuseLinearBias, false},
    {"rsqrt", "reciprocals of square roots run as one rsqrt", FuseRsqrt, false},
    {"unbind", "splits into single slices run as one unbind", FuseUnbind, false},
    {"roll", "pairs of slices joined the other way round run as roll", FuseRoll, false},
    {"group-norm", "GroupNorms that the exporter spelled out run as one operator", FuseGroupNorm},
    {"layer-norm", "LayerNorms that the exporter spelled out run as one operator", FuseLayerNorm},
    {"cosine-similarity", "cosine similarities run as the framework computes them", FuseCosineSimilarity, false},
    {"gelu", "GELUs that the exporter spelled out run as one operator", FuseGelu},
    {"silu", "products with their own sigmoid run as SiLU", FuseSilu},
    {"hardswish", "products with their own hard sigmoid run as Hardswish", FuseHardswish},
    {"mish", "products with the tanh of their softplus run as Mish", FuseMish},
    {"glu", "halves gated by the sigmoid of the other half run as GLU", FuseGlu},
    {"weight-norm", "weights of given direction and length run as one weight norm", FuseWeightNorm},
    {"attention", "attentions that the exporter spelled out run as scaled_dot_product_attention", FuseAttention},
    {"packed-projection", "packed q, k, v projections of nn.MultiheadAttention are copied once",
     InsertPackedProjectionCopy},
    {"token-map", "images made of tokens are copied into the layout of images", InsertTokenMapCopy},
    {"dropout", "dropouts put back (--dropout)", RestoreDropout},
});

}  // namespace

std::span<const Rewrite> AllRewrites() { return kRewrites; }

}  // namespace onnx_mem
