// Parts of a transformer that several questions ask for: where a linear's result joins the residual stream, where an
// attention's weights are, and how its blocks are normalized.
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_TRANSFORMER_PARTS_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_TRANSFORMER_PARTS_H_

#include "analyzer/lower/draft/draft.h"

namespace onnx_mem {

// A linear layer, or a convolution of one position over a sequence, [B, C, T] (SqueezeBERT's layers).
bool IsProjection(const Draft& draft, NodeId id);

// The node that made `id`, before its views; invalid for inputs and stored tensors.
NodeId MakerBeforeViews(const Draft& draft, TensorId id);
// The one node that reads `id` after views; invalid if several do.
NodeId ReaderAfterViews(const Draft& draft, TensorId id);

// The sum in which `id`, perhaps after views, is added to another activation, if nothing else reads it; else invalid.
NodeId ResidualSum(const Draft& draft, TensorId id);

// nn.TransformerEncoderLayer and nn.TransformerDecoderLayer, whatever their norms: the activation between their linear1
// and linear2, beside which their self_attn, norm1 and norm2 stand.
bool IsTorchFeedForward(const Draft& draft, NodeId activation);

// A softmax whose result, and nothing else, is multiplied with the values. Of a linear's result it makes the kernels of
// a dynamic convolution (ConvBERT), not attention weights.
bool IsAttentionWeight(const Draft& draft, NodeId id);

// True if a norm alone reads the residual sum, views between them or not, and the stream that was added to is a norm's
// result (Vaswani et al. 2017, BERT), false for norms ahead of each layer (GPT-2, ViT) and for an invalid `sum`.
bool IsPostNormSum(const Draft& draft, NodeId sum);

// For attention weights or a fused attention: true if rows of a table were added to its scores (T5's relative
// positions), or what such rows gave where the sequence is fixed: a stored number per head and pair of positions.
bool HasPositionBias(const Draft& draft, NodeId attention);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_TRANSFORMER_PARTS_H_
