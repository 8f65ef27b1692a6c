// What the framework ran, where the table alone cannot tell: one row per rewrite, one file each. Rewrites work on the
// drafted framework operators, in the order of the rows, each switchable by its name (Run.disabled_rewrites).
#ifndef ONNX_MEM_ANALYZER_LOWER_REWRITES_H_
#define ONNX_MEM_ANALYZER_LOWER_REWRITES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/lower/site.h"

namespace onnx_mem {

// Which report tells that a rewrite applied: all of them, `check` alone (the plain meaning of the file), or none,
// because the rewrite has a diagnostic of its own.
enum class Told { kAlways, kByCheck, kByItself };

struct Rewrite {
  std::string_view name;
  std::string_view description;          // what was found, for a report: "12 softmax attentions run as one operator"
  int64_t (*apply)(Lowering& lowering);  // how many times it applied
  Told told = Told::kAlways;
};

std::span<const Rewrite> AllRewrites();

// InvalidArgument "unknown-rewrite" unless all of `names` are names of rows.
absl::Status CheckRewriteNames(const std::vector<std::string>& names);

// rewrite_folded_weight.cc
int64_t ComputeFoldedWeights(Lowering& lowering);
// rewrite_folded_batch_norm.cc: a BatchNorm that the exporter folded into a convolution is put back.
int64_t UnfoldBatchNorm(Lowering& lowering);
// undecided_norms.cc: tells where nothing shows whether one was folded
int64_t TellUndecidedNorms(Lowering& lowering);
// rewrite_linear_bias.cc: MatMul and Add of one module are one addmm.
int64_t FuseLinearBias(Lowering& lowering);
// rewrite_rsqrt.cc: 1 / sqrt(x) is rsqrt.
int64_t FuseRsqrt(Lowering& lowering);
// rewrite_merged_expressions.cc: equal expressions of sibling modules
int64_t SplitMergedExpressions(Lowering& lowering);
// rewrite_module_buffers.cc
int64_t SplitModuleBuffers(Lowering& lowering);
// rewrite_slice_update.cc: x[a:b] += y
int64_t UpdateSlices(Lowering& lowering);
// rewrite_relative_bias.cc
int64_t ComputeRelativeBias(Lowering& lowering);
// rewrite_folded_expressions.cc
int64_t ComputeFoldedExpressions(Lowering& lowering);
// rewrite_folded_linear.cc
int64_t ComputeFoldedLinear(Lowering& lowering);
// rewrite_spelled_out.cc
int64_t FuseSpelledOut(Lowering& lowering);
// rewrite_cells.cc: nn.LSTMCell, nn.GRUCell
int64_t FuseCells(Lowering& lowering);
// rewrite_centered_twice.cc
int64_t CenterTwice(Lowering& lowering);
// rewrite_addcmul.cc
int64_t FuseAddcmul(Lowering& lowering);
// rewrite_gelu.cc
int64_t FuseGelu(Lowering& lowering);
// rewrite_gated_activations.cc: x * gate(x)
int64_t FuseSilu(Lowering& lowering);
int64_t FuseHardswish(Lowering& lowering);
int64_t FuseMish(Lowering& lowering);
int64_t FuseGlu(Lowering& lowering);
// rewrite_displaced.cc
int64_t ReturnDisplaced(Lowering& lowering);
// rewrite_fused_concat.cc
int64_t SplitFusedConcat(Lowering& lowering);
// rewrite_chunk.cc
int64_t FuseChunk(Lowering& lowering);
// rewrite_weight_norm.cc
int64_t FuseWeightNorm(Lowering& lowering);
// rewrite_unbind.cc
int64_t FuseUnbind(Lowering& lowering);
// rewrite_packed_projection.cc: the copy in nn.MultiheadAttention
int64_t InsertPackedProjectionCopy(Lowering& lowering);
// rewrite_map_attention.cc: the copies of attention between the positions of an image
int64_t InsertMapAttentionCopies(Lowering& lowering);
// rewrite_bias_cache.cc: position biases that evaluation keeps
int64_t MarkCachedBiases(Lowering& lowering);
// rewrite_crop.cc: the copy of an image whose padding is cut off
int64_t CopyCrops(Lowering& lowering);
// rewrite_token_map.cc: the copy of an image made of tokens
int64_t InsertTokenMapCopy(Lowering& lowering);
// rewrite_aten_groups.cc: all nodes of one ATen call
int64_t FuseAtenGroups(Lowering& lowering);
// rewrite_roll.cc
int64_t FuseRoll(Lowering& lowering);
// rewrite_norms.cc
int64_t FuseGroupNorm(Lowering& lowering);
int64_t FuseLayerNorm(Lowering& lowering);
// rewrite_cosine_similarity.cc
int64_t FuseCosineSimilarity(Lowering& lowering);
// rewrite_tied_weights.cc
int64_t TieWeights(Lowering& lowering);
// rewrite_dropout.cc: --dropout P
int64_t RestoreDropout(Lowering& lowering);
// rewrite_attention.cc: scaled_dot_product_attention
int64_t FuseAttention(Lowering& lowering);
// rewrite_wide_softmax.cc: attention weights in float32 where all else is in half precision
int64_t WidenSoftmax(Lowering& lowering);
// rewrite_direct_calls.cc: attention.forward(x)
int64_t NameDirectCalls(Lowering& lowering);
// rewrite_frozen_tables.cc
int64_t FreezeTables(Lowering& lowering);
// undecided_scales.cc: single numbers that are trained or fixed
int64_t SettleScales(Lowering& lowering);
// rewrite_traced_mask.cc: masks that exist only under tracing
int64_t DropTracedMasks(Lowering& lowering);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_REWRITES_H_
