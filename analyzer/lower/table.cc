#include "analyzer/lower/table.h"

#include <array>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "analyzer/lower/ops.h"
#include "analyzer/lower/ops_sequence.h"

namespace onnx_mem {
namespace {

constexpr uint32_t Bit(int slot) { return 1u << slot; }

// Domain, ONNX operator, function, framework operator, {slots that take host values, slots of which only the shape
// matters}.
constexpr auto kRows = std::to_array<TableRow>({
    // elementwise, one operand
    {"", "Abs", LowerUnary, "abs"},
    {"", "Acos", LowerUnary, "acos"},
    {"", "Acosh", LowerUnary, "acosh"},
    {"", "Asin", LowerUnary, "asin"},
    {"", "Asinh", LowerUnary, "asinh"},
    {"", "Atan", LowerUnary, "atan"},
    {"", "Atanh", LowerUnary, "atanh"},
    {"", "BitwiseNot", LowerUnary, "bitwise"},
    {"", "Ceil", LowerUnary, "ceil"},
    {"", "Cos", LowerUnary, "cos"},
    {"", "Cosh", LowerUnary, "cosh"},
    {"", "Erf", LowerUnary, "erf"},
    {"", "Exp", LowerUnary, "exp"},
    {"", "Floor", LowerUnary, "floor"},
    {"", "HardSwish", LowerUnary, "hardswish"},
    {"", "IsInf", LowerUnary, "isinf"},
    {"", "IsNaN", LowerUnary, "isnan"},
    {"", "Log", LowerUnary, "log"},
    {"", "Mish", LowerUnary, "mish"},
    {"", "Neg", LowerUnary, "neg"},
    {"", "Not", LowerUnary, "logical_not"},
    {"", "Reciprocal", LowerUnary, "reciprocal"},
    {"", "Relu", LowerUnary, "relu"},
    {"", "Round", LowerUnary, "round"},
    {"", "Sigmoid", LowerUnary, "sigmoid"},
    {"", "Sign", LowerUnary, "sign"},
    {"", "Sin", LowerUnary, "sin"},
    {"", "Sinh", LowerUnary, "sinh"},
    {"", "Softplus", LowerUnary, "softplus"},
    {"", "Softsign", LowerUnary, "softsign"},
    {"", "Sqrt", LowerUnary, "sqrt"},
    {"", "Tan", LowerUnary, "tan"},
    {"", "Tanh", LowerUnary, "tanh"},
    {"", "Celu", LowerActivation, "celu"},
    {"", "Elu", LowerActivation, "elu"},
    {"", "HardSigmoid", LowerActivation, "hardsigmoid"},
    {"", "LeakyRelu", LowerActivation, "leaky_relu"},
    {"", "ParametricSoftplus", LowerActivation, "softplus"},
    {"", "ScaledTanh", LowerActivation, "tanh"},
    {"", "Selu", LowerActivation, "selu"},
    {"", "ThresholdedRelu", LowerActivation, "threshold"},
    {"", "Cast", LowerCast},
    {"", "CastLike", LowerCast, "", {0, Bit(1)}},
    {"", "Clip", LowerClip},
    {"", "Gelu", LowerGelu},
    {"", "PRelu", LowerPRelu},
    {"", "Shrink", LowerShrink},
    {"", "Swish", LowerSwish},
    // elementwise, several operands
    {"", "Add", LowerAdd},
    {"", "Sub", LowerSub},
    {"", "Mul", LowerMul},
    {"", "Div", LowerDiv},
    {"", "Pow", LowerPow},
    {"", "And", LowerBinary, "logical"},
    {"", "BitShift", LowerBinary, "bitwise"},
    {"", "BitwiseAnd", LowerBinary, "bitwise"},
    {"", "BitwiseOr", LowerBinary, "bitwise"},
    {"", "BitwiseXor", LowerBinary, "bitwise"},
    {"", "Equal", LowerBinary, "compare"},
    {"", "Greater", LowerBinary, "compare"},
    {"", "GreaterOrEqual", LowerBinary, "compare"},
    {"", "Less", LowerBinary, "compare"},
    {"", "LessOrEqual", LowerBinary, "compare"},
    {"", "Mod", LowerMod},
    {"", "Or", LowerBinary, "logical"},
    {"", "Xor", LowerBinary, "logical"},
    {"", "Max", LowerVariadic, "maximum"},
    {"", "Min", LowerVariadic, "minimum"},
    {"", "Sum", LowerVariadic, "add"},
    {"", "Mean", LowerMean},
    {"", "Where", LowerWhere},
    // matrix products
    {"", "Einsum", LowerEinsum},
    {"", "Gemm", LowerGemm},
    {"", "MatMul", LowerMatMul},
    // convolutions
    {"", "Conv", LowerConv},
    {"", "ConvTranspose", LowerConvTranspose},
    {"", "DeformConv", LowerDeformConv},
    // normalisation
    {"", "BatchNormalization", LowerBatchNormalization},
    {"", "GroupNormalization", LowerGroupNormalization},
    {"", "InstanceNormalization", LowerInstanceNormalization},
    {"", "LRN", LowerLrn},
    {"", "LayerNormalization", LowerLayerNormalization},
    {"", "LpNormalization", LowerLpNormalization},
    {"", "MeanVarianceNormalization", LowerMeanVarianceNormalization},
    {"", "RMSNormalization", LowerRmsNormalization},
    {"", "SimplifiedLayerNormalization", LowerRmsNormalization},
    // pooling
    {"", "AveragePool", LowerPool, "avg_pool"},
    {"", "GlobalAveragePool", LowerGlobalAveragePool},
    {"", "GlobalLpPool", LowerGlobalPool, "lp_pool"},
    {"", "GlobalMaxPool", LowerGlobalPool, "adaptive_max_pool"},
    {"", "LpPool", LowerPool, "lp_pool"},
    {"", "MaxPool", LowerPool, "max_pool"},
    {"", "MaxRoiPool", LowerRoi},
    {"", "MaxUnpool", LowerMaxUnpool, "", {Bit(2)}},
    {"", "RoiAlign", LowerRoi},
    // softmax, reductions
    {"", "Hardmax", LowerHardmax},
    {"", "LogSoftmax", LowerSoftmax, "log_softmax"},
    {"", "Softmax", LowerSoftmax, "softmax"},
    {"", "ArgMax", LowerArg, "argmax"},
    {"", "ArgMin", LowerArg, "argmin"},
    {"", "CumProd", LowerCumulative, "cumprod", {Bit(1)}},
    {"", "CumSum", LowerCumulative, "cumsum", {Bit(1)}},
    {"", "ReduceL1", LowerReduce, "norm", {Bit(1)}},
    {"", "ReduceL2", LowerReduce, "norm", {Bit(1)}},
    {"", "ReduceLogSumExp", LowerReduce, "logsumexp", {Bit(1)}},
    {"", "ReduceMax", LowerReduce, "amax", {Bit(1)}},
    {"", "ReduceMean", LowerReduce, "mean", {Bit(1)}},
    {"", "ReduceMin", LowerReduce, "amin", {Bit(1)}},
    {"", "ReduceProd", LowerReduce, "prod", {Bit(1)}},
    {"", "ReduceSum", LowerReduce, "sum", {Bit(1)}},
    {"", "ReduceLogSum", LowerReduceLogSum, "", {Bit(1)}},
    {"", "ReduceSumSquare", LowerReduceSumSquare, "", {Bit(1)}},
    // views
    {"", "Expand", LowerExpand, "", {Bit(1)}},
    {"", "Flatten", LowerFlatten},
    {"", "Identity", LowerIdentity},
    {"", "Reshape", LowerReshape, "", {Bit(1)}},
    {"", "Slice", LowerSlice, "", {Bit(1) | Bit(2) | Bit(3) | Bit(4)}},
    {"", "Split", LowerSplit, "", {Bit(1)}},
    {"", "Squeeze", LowerSqueeze, "", {Bit(1)}},
    {"", "Transpose", LowerTranspose},
    {"", "Unsqueeze", LowerUnsqueeze, "", {Bit(1)}},
    // indexing
    {"", "Compress", LowerCompress},
    {"", "Gather", LowerGather},
    {"", "GatherElements", LowerGatherElements},
    {"", "GatherND", LowerGatherNd},
    {"", "NonMaxSuppression", LowerNewWithoutGradient, "empty"},
    {"", "NonZero", LowerNonZero},
    {"", "OneHot", LowerOneHot, "", {Bit(1) | Bit(2)}},
    {"", "ReverseSequence", LowerReverseSequence, "", {Bit(1)}},
    {"", "Scatter", LowerScatterElements},
    {"", "ScatterElements", LowerScatterElements},
    {"", "ScatterND", LowerScatterNd},
    {"", "TensorScatter", LowerAssumed},
    {"", "TopK", LowerTopK, "", {Bit(1)}},
    {"", "Trilu", LowerTrilu, "", {Bit(1)}},
    {"", "Unique", LowerNewWithoutGradient, "empty"},
    // layout
    {"", "AffineGrid", LowerGrid, "affine_grid", {Bit(1)}},
    {"", "CenterCropPad", LowerCrop, "", {Bit(1)}},
    {"", "Col2Im", LowerGrid, "col2im", {Bit(1) | Bit(2)}},
    {"", "Concat", LowerConcat},
    {"", "Crop", LowerCrop},
    {"", "DepthToSpace", LowerDepthToSpace, "pixel_shuffle"},
    {"", "GridSample", LowerGrid, "grid_sample"},
    {"", "Pad", LowerPad, "", {Bit(1) | Bit(3)}},
    {"", "Resize", LowerResize, "", {Bit(1) | Bit(2) | Bit(3)}},
    {"", "SpaceToDepth", LowerDepthToSpace, "pixel_unshuffle"},
    {"", "Tile", LowerTile, "", {Bit(1) | Bit(2)}},
    {"", "Upsample", LowerResize, "", {Bit(1)}},
    // creation
    {"", "Bernoulli", LowerRandom, "random"},
    {"", "BlackmanWindow", LowerFull, "", {Bit(0)}},
    {"", "ConstantOfShape", LowerFull, "", {Bit(0)}},
    {"", "EyeLike", LowerFull, "", {0, Bit(0)}},
    {"", "GivenTensorFill", LowerFull},
    {"", "HammingWindow", LowerFull, "", {Bit(0)}},
    {"", "HannWindow", LowerFull, "", {Bit(0)}},
    {"", "MelWeightMatrix", LowerFull, "", {Bit(0) | Bit(1) | Bit(2) | Bit(3) | Bit(4)}},
    {"", "Multinomial", LowerRandom, "random"},
    {"", "RandomNormal", LowerRandom},
    {"", "RandomNormalLike", LowerRandom, "", {0, Bit(0)}},
    {"", "RandomUniform", LowerRandom},
    {"", "RandomUniformLike", LowerRandom, "", {0, Bit(0)}},
    {"", "Range", LowerRange, "", {Bit(0) | Bit(1) | Bit(2)}},
    {"", "Shape", LowerFull, "", {0, Bit(0)}},
    {"", "Size", LowerFull, "", {0, Bit(0)}},
    // dropout, recurrent, attention, losses
    {"", "Dropout", LowerDropout, "", {Bit(1) | Bit(2)}},
    {"", "GRU", LowerRecurrent, "gru", {Bit(4)}},
    {"", "LSTM", LowerRecurrent, "lstm", {Bit(4)}},
    {"", "RNN", LowerRecurrent, "rnn", {Bit(4)}},
    {"", "Attention", LowerAttention},
    {"", "RotaryEmbedding", LowerRotaryEmbedding},
    {"", "NegativeLogLikelihoodLoss", LowerNegativeLogLikelihood},
    {"", "SoftmaxCrossEntropyLoss", LowerSoftmaxCrossEntropy},
    // quantization
    {"", "ConvInteger", LowerIntegerProduct},
    {"", "DequantizeLinear", LowerDequantize},
    {"", "DynamicQuantizeLinear", LowerQuantize},
    {"", "MatMulInteger", LowerIntegerProduct},
    {"", "QLinearConv", LowerIntegerProduct},
    {"", "QLinearMatMul", LowerIntegerProduct},
    {"", "QuantizeLinear", LowerQuantize},
    // control flow
    {"", "If", LowerControlFlow},
    {"", "Loop", LowerControlFlow, "", {Bit(0)}},
    {"", "Scan", LowerControlFlow},
    // signals, sequences, strings, images: no rule of their own
    {"", "Affine", LowerAssumed},
    {"", "ConcatFromSequence", LowerAssumed},
    {"", "DFT", LowerAssumed},
    {"", "Det", LowerAssumed},
    {"", "ImageDecoder", LowerAssumed},
    {"", "ImageScaler", LowerAssumed},
    {"", "Optional", LowerAssumed},
    {"", "OptionalGetElement", LowerAssumed},
    {"", "OptionalHasElement", LowerAssumed},
    {"", "RegexFullMatch", LowerAssumed},
    {"", "STFT", LowerAssumed},
    {"", "SequenceAt", LowerSequenceAt, "", {Bit(1)}},
    {"", "SequenceConstruct", LowerAssumed},
    {"", "SequenceEmpty", LowerAssumed},
    {"", "SequenceErase", LowerAssumed},
    {"", "SequenceInsert", LowerAssumed},
    {"", "SequenceLength", LowerAssumed},
    {"", "SequenceMap", LowerAssumed},
    {"", "SplitToSequence", LowerSplitToSequence, "", {Bit(1)}},
    {"", "StringConcat", LowerAssumed},
    {"", "StringNormalizer", LowerAssumed},
    {"", "StringSplit", LowerAssumed},
    {"", "TfIdfVectorizer", LowerAssumed},
    // com.microsoft
    {"com.microsoft", "Attention", LowerMicrosoftAttention},
    {"com.microsoft", "BiasAdd", LowerBiasAdd},
    {"com.microsoft", "BiasDropout", LowerBiasDropout, "", {Bit(3) | Bit(4)}},
    {"com.microsoft", "BiasGelu", LowerBiasGelu},
    {"com.microsoft", "BiasSoftmax", LowerBiasSoftmax},
    {"com.microsoft", "DequantizeLinear", LowerDequantize},
    {"com.microsoft", "DynamicQuantizeLSTM", LowerIntegerProduct},
    {"com.microsoft", "DynamicQuantizeMatMul", LowerIntegerProduct},
    {"com.microsoft", "EmbedLayerNormalization", LowerEmbedLayerNorm},
    {"com.microsoft", "FastGelu", LowerFastGelu},
    {"com.microsoft", "FusedConv", LowerFusedConv},
    {"com.microsoft", "FusedGemm", LowerFusedGemm},
    {"com.microsoft", "FusedMatMul", LowerFusedMatMul},
    {"com.microsoft", "Gelu", LowerGelu},
    {"com.microsoft", "GemmFastGelu", LowerGemmFastGelu},
    {"com.microsoft", "GridSample", LowerGrid, "grid_sample"},
    {"com.microsoft", "GroupNorm", LowerMicrosoftGroupNorm},
    {"com.microsoft", "GroupQueryAttention", LowerGroupQueryAttention, "", {Bit(5) | Bit(6)}},
    {"com.microsoft", "LayerNormalization", LowerLayerNormalization},
    {"com.microsoft", "MatMulBnb4", LowerPackedWeightProduct},
    {"com.microsoft", "MatMulInteger16", LowerIntegerProduct},
    {"com.microsoft", "MatMulIntegerToFloat", LowerIntegerProduct},
    {"com.microsoft", "MatMulNBits", LowerPackedWeightProduct},
    {"com.microsoft", "MultiHeadAttention", LowerMultiHeadAttention},
    {"com.microsoft", "NhwcFusedConv", LowerFusedConv},
    {"com.microsoft", "QAttention", LowerIntegerProduct},
    {"com.microsoft", "QGemm", LowerIntegerProduct},
    {"com.microsoft", "QLinearAdd", LowerIntegerProduct},
    {"com.microsoft", "QLinearAveragePool", LowerIntegerProduct},
    {"com.microsoft", "QLinearConcat", LowerIntegerProduct},
    {"com.microsoft", "QLinearGlobalAveragePool", LowerIntegerProduct},
    {"com.microsoft", "QLinearLeakyRelu", LowerIntegerProduct},
    {"com.microsoft", "QLinearMul", LowerIntegerProduct},
    {"com.microsoft", "QLinearReduceMean", LowerIntegerProduct},
    {"com.microsoft", "QLinearSigmoid", LowerIntegerProduct},
    {"com.microsoft", "QLinearSoftmax", LowerIntegerProduct},
    {"com.microsoft", "QLinearWhere", LowerIntegerProduct},
    {"com.microsoft", "QuantizeLinear", LowerQuantize},
    {"com.microsoft", "QuickGelu", LowerQuickGelu},
    {"com.microsoft", "RotaryEmbedding", LowerRotaryEmbedding},
    {"com.microsoft", "SimplifiedLayerNormalization", LowerRmsNormalization},
    {"com.microsoft", "SkipGroupNorm", LowerMicrosoftGroupNorm},
    {"com.microsoft", "SkipLayerNormalization", LowerSkipNorm, "layer_norm"},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", LowerSkipNorm, "rms_norm"},
    {"com.microsoft", "TransposeMatMul", LowerFusedMatMul},
    {"com.microsoft", "Trilu", LowerTrilu, "", {Bit(1)}},
});

struct Key {
  absl::string_view domain, op;
  friend bool operator==(const Key&, const Key&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Key& key) {
    return H::combine(std::move(h), key.domain, key.op);
  }
};

absl::flat_hash_map<Key, const TableRow*> BuildIndex() {
  absl::flat_hash_map<Key, const TableRow*> index;
  for (const TableRow& row : kRows) {
    index.emplace(Key{{row.domain.data(), row.domain.size()}, {row.onnx.data(), row.onnx.size()}}, &row);
  }
  return index;
}

}  // namespace

const TableRow* FindRow(const Node& node) {
  static const auto& index = *new absl::flat_hash_map<Key, const TableRow*>(BuildIndex());
  const std::string_view domain = node.domain == "ai.onnx" ? std::string_view() : std::string_view(node.domain);
  auto it = index.find(Key{{domain.data(), domain.size()}, {node.op.data(), node.op.size()}});
  return it == index.end() ? nullptr : it->second;
}

std::span<const TableRow> AllRows() { return kRows; }

}  // namespace onnx_mem
