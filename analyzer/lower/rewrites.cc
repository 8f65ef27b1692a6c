#include "analyzer/lower/rewrites.h"

#include <array>

namespace onnx_mem {
namespace {

constexpr auto kRewrites = std::to_array<Rewrite>({
    {"bn-unfold", "BatchNorms that the exporter folded into convolutions put back", UnfoldBatchNorm, false},
    {"linear-bias", "matrix products with their bias run as one linear", FuseLinearBias, false},
    {"rsqrt", "reciprocals of square roots run as one rsqrt", FuseRsqrt, false},
});

}  // namespace

std::span<const Rewrite> AllRewrites() { return kRewrites; }

}  // namespace onnx_mem
