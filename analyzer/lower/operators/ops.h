// The functions behind the table's rows, by family; each turns one ONNX node into framework operators (site.h).
#ifndef ONNX_MEM_ANALYZER_LOWER_OPERATORS_OPS_H_
#define ONNX_MEM_ANALYZER_LOWER_OPERATORS_OPS_H_

#include "analyzer/lower/operators/site.h"

namespace onnx_mem {

// operators/elementwise.cc
void LowerUnary(Site& s);        // one tensor in, one out: the row's operator
void LowerActivation(Site& s);   // the same with alpha, beta, gamma as attributes
void LowerCast(Site& s);
void LowerAdd(Site& s);
void LowerSub(Site& s);
void LowerMul(Site& s);
void LowerDiv(Site& s);
void LowerPow(Site& s);
void LowerMod(Site& s);
void LowerBinary(Site& s);       // two tensors, broadcast: the row's operator
void LowerVariadic(Site& s);     // a chain of the row's binary operator
void LowerMean(Site& s);
void LowerClip(Site& s);
void LowerWhere(Site& s);
void LowerGelu(Site& s);
void LowerSwish(Site& s);
void LowerShrink(Site& s);
void LowerSwiglu(Site& s);
void LowerAffine(Site& s);
void LowerImageScaler(Site& s);
void LowerPRelu(Site& s);

// operators/matmul.cc
void LowerGemm(Site& s);
void LowerMatMul(Site& s);
void LowerEinsum(Site& s);

// operators/convolution.cc
void LowerConv(Site& s);
void LowerConvTranspose(Site& s);
void LowerDeformConv(Site& s);
void LowerCausalConv(Site& s);

// operators/normalization.cc
void LowerBatchNormalization(Site& s);
void LowerInstanceNormalization(Site& s);
void LowerLayerNormalization(Site& s);
void LowerGroupNormalization(Site& s);
void LowerRmsNormalization(Site& s);
void LowerLrn(Site& s);
void LowerLpNormalization(Site& s);
void LowerMeanVarianceNormalization(Site& s);

// operators/pooling.cc
void LowerPool(Site& s);
void LowerGlobalAveragePool(Site& s);
void LowerGlobalPool(Site& s);
void LowerMaxUnpool(Site& s);
void LowerRoi(Site& s);

// operators/views.cc
void LowerReshape(Site& s);
void LowerFlatten(Site& s);
void LowerTranspose(Site& s);
void LowerSqueeze(Site& s);
void LowerUnsqueeze(Site& s);
void LowerExpand(Site& s);
void LowerSlice(Site& s);
void LowerSplit(Site& s);
void LowerIdentity(Site& s);

// operators/indexing.cc
void LowerGather(Site& s);
void LowerGatherElements(Site& s);
void LowerGatherNd(Site& s);
void LowerScatterElements(Site& s);
void LowerScatterNd(Site& s);
void LowerTopK(Site& s);
void LowerNonZero(Site& s);
void LowerCompress(Site& s);
void LowerNewWithoutGradient(Site& s);  // the row's operator, which ignores what it reads
void LowerOneHot(Site& s);
void LowerTrilu(Site& s);
void LowerReverseSequence(Site& s);

// operators/reduction.cc
void LowerReduce(Site& s);
void LowerReduceSumSquare(Site& s);
void LowerReduceLogSum(Site& s);
void LowerArg(Site& s);
void LowerCumulative(Site& s);
void LowerSoftmax(Site& s);
void LowerHardmax(Site& s);

void LowerTensorScatter(Site& s);

// operators/layout.cc
void LowerConcat(Site& s);
void LowerPad(Site& s);
void LowerResize(Site& s);
void LowerDepthToSpace(Site& s);
void LowerTile(Site& s);
void LowerGrid(Site& s);
void LowerCrop(Site& s);

// operators/creation.cc
void LowerRange(Site& s);
void LowerFull(Site& s);
void LowerRandom(Site& s);
void LowerDropout(Site& s);

// operators/recurrent.cc
void LowerRecurrent(Site& s);

// operators/linear_attention.cc
void LowerLinearAttention(Site& s);

// operators/spectral.cc
void LowerDft(Site& s);
void LowerStft(Site& s);

// operators/loss.cc
void LowerSoftmaxCrossEntropy(Site& s);
void LowerNegativeLogLikelihood(Site& s);

// operators/attention.cc
void LowerAttention(Site& s);
void LowerRotaryEmbedding(Site& s);
void LowerMicrosoftAttention(Site& s);
void LowerMultiHeadAttention(Site& s);
void LowerGroupQueryAttention(Site& s);

// operators/microsoft.cc
void LowerBiasGelu(Site& s);
void LowerFastGelu(Site& s);
void LowerQuickGelu(Site& s);
void LowerSkipNorm(Site& s);
void LowerEmbedLayerNorm(Site& s);
void LowerFusedConv(Site& s);
void LowerFusedMatMul(Site& s);
void LowerFusedGemm(Site& s);
void LowerBiasAdd(Site& s);
void LowerMicrosoftGroupNorm(Site& s);
void LowerGemmFastGelu(Site& s);
void LowerBiasSoftmax(Site& s);
void LowerBiasDropout(Site& s);
void LowerBiasSplitGelu(Site& s);

// operators/quantization.cc
void LowerQuantize(Site& s);
void LowerDequantize(Site& s);
void LowerIntegerProduct(Site& s);
void LowerPackedWeightProduct(Site& s);

// operators/control.cc
void LowerControlFlow(Site& s);
void LowerAssumed(Site& s);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_OPERATORS_OPS_H_
