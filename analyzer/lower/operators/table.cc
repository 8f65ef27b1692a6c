#include "analyzer/lower/operators/table.h"

#include <array>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "analyzer/lower/operators/ops.h"
#include "analyzer/lower/operators/sequence.h"

namespace onnx_mem {
namespace {

constexpr uint32_t Bit(int slot) { return 1u << slot; }

constexpr Needs Unversioned(int first) {
  Needs needs(first);
  needs.versioned = false;
  return needs;
}

// Domain, ONNX operator, inputs it needs (the first so many, or which), function, framework operator, {slots that take host values, slots of which only the shape
// matters}.
constexpr auto kRows = std::to_array<TableRow>({
    // elementwise, one operand
    {"", "Abs", 1, LowerUnary, "abs"},
    {"", "Acos", 1, LowerUnary, "acos"},
    {"", "Acosh", 1, LowerUnary, "acosh"},
    {"", "Asin", 1, LowerUnary, "asin"},
    {"", "Asinh", 1, LowerUnary, "asinh"},
    {"", "Atan", 1, LowerUnary, "atan"},
    {"", "Atanh", 1, LowerUnary, "atanh"},
    {"", "BitCast", 1, LowerUnary, "view_dtype"},
    {"", "BitwiseNot", 1, LowerUnary, "bitwise"},
    {"", "Ceil", 1, LowerUnary, "ceil"},
    {"", "Cos", 1, LowerUnary, "cos"},
    {"", "Cosh", 1, LowerUnary, "cosh"},
    {"", "Erf", 1, LowerUnary, "erf"},
    {"", "Exp", 1, LowerUnary, "exp"},
    {"", "Floor", 1, LowerUnary, "floor"},
    {"", "HardSwish", 1, LowerUnary, "hardswish"},
    {"", "IsInf", 1, LowerUnary, "isinf"},
    {"", "IsNaN", 1, LowerUnary, "isnan"},
    {"", "Log", 1, LowerUnary, "log"},
    {"", "Mish", 1, LowerUnary, "mish"},
    {"", "Neg", 1, LowerUnary, "neg"},
    {"", "Not", 1, LowerUnary, "logical_not"},
    {"", "Reciprocal", 1, LowerUnary, "reciprocal"},
    {"", "Relu", 1, LowerUnary, "relu"},
    {"", "Round", 1, LowerUnary, "round"},
    {"", "Sigmoid", 1, LowerUnary, "sigmoid"},
    {"", "Sign", 1, LowerUnary, "sign"},
    {"", "Sin", 1, LowerUnary, "sin"},
    {"", "Sinh", 1, LowerUnary, "sinh"},
    {"", "Softplus", 1, LowerUnary, "softplus"},
    {"", "Softsign", 1, LowerUnary, "softsign"},
    {"", "Sqrt", 1, LowerUnary, "sqrt"},
    {"", "Tan", 1, LowerUnary, "tan"},
    {"", "Tanh", 1, LowerUnary, "tanh"},
    {"", "Celu", 1, LowerActivation, "celu"},
    {"", "Elu", 1, LowerActivation, "elu"},
    {"", "HardSigmoid", 1, LowerActivation, "hardsigmoid"},
    {"", "LeakyRelu", 1, LowerActivation, "leaky_relu"},
    {"", "ParametricSoftplus", Unversioned(1), LowerActivation, "softplus"},
    {"", "ScaledTanh", Unversioned(1), LowerActivation, "tanh"},
    {"", "Selu", 1, LowerActivation, "selu"},
    {"", "ThresholdedRelu", 1, LowerActivation, "threshold"},
    {"", "Cast", 1, LowerCast},
    {"", "CastLike", 2, LowerCast, "", {0, Bit(1)}},
    {"", "Clip", 1, LowerClip},
    {"", "Gelu", 1, LowerGelu},
    {"", "PRelu", 2, LowerPRelu},
    {"", "Shrink", 1, LowerShrink},
    {"", "SwiGLU", 2, LowerSwiglu},
    {"", "Swish", 1, LowerSwish},
    // elementwise, several operands
    {"", "Add", 2, LowerAdd},
    {"", "Sub", 2, LowerSub},
    {"", "Mul", 2, LowerMul},
    {"", "Div", 2, LowerDiv},
    {"", "Pow", 2, LowerPow},
    {"", "And", 2, LowerBinary, "logical"},
    {"", "BitShift", 2, LowerBinary, "bitwise"},
    {"", "BitwiseAnd", 2, LowerBinary, "bitwise"},
    {"", "BitwiseOr", 2, LowerBinary, "bitwise"},
    {"", "BitwiseXor", 2, LowerBinary, "bitwise"},
    {"", "Equal", 2, LowerBinary, "compare"},
    {"", "Greater", 2, LowerBinary, "compare"},
    {"", "GreaterOrEqual", 2, LowerBinary, "compare"},
    {"", "Less", 2, LowerBinary, "compare"},
    {"", "LessOrEqual", 2, LowerBinary, "compare"},
    {"", "Mod", 2, LowerMod},
    {"", "Or", 2, LowerBinary, "logical"},
    {"", "Xor", 2, LowerBinary, "logical"},
    {"", "Max", 1, LowerVariadic, "maximum"},
    {"", "Min", 1, LowerVariadic, "minimum"},
    {"", "Sum", 1, LowerVariadic, "add"},
    {"", "Mean", 1, LowerMean},
    {"", "Where", 3, LowerWhere},
    // matrix products
    {"", "Einsum", 1, LowerEinsum},
    {"", "Gemm", 2, LowerGemm},
    {"", "MatMul", 2, LowerMatMul},
    // convolutions
    {"", "CausalConvWithState", 2, LowerCausalConv},
    {"", "Conv", 2, LowerConv},
    {"", "ConvTranspose", 2, LowerConvTranspose},
    {"", "DeformConv", 3, LowerDeformConv},
    // normalisation
    {"", "BatchNormalization", 5, LowerBatchNormalization},
    {"", "GroupNormalization", 3, LowerGroupNormalization},
    {"", "InstanceNormalization", 3, LowerInstanceNormalization},
    {"", "LRN", 1, LowerLrn},
    {"", "LayerNormalization", 2, LowerLayerNormalization},
    {"", "LpNormalization", 1, LowerLpNormalization},
    {"", "MeanVarianceNormalization", 1, LowerMeanVarianceNormalization},
    {"", "RMSNormalization", 2, LowerRmsNormalization},
    {"", "SimplifiedLayerNormalization", Unversioned(2), LowerRmsNormalization},
    // pooling
    {"", "AveragePool", 1, LowerPool, "avg_pool"},
    {"", "GlobalAveragePool", 1, LowerGlobalAveragePool},
    {"", "GlobalLpPool", 1, LowerGlobalPool, "lp_pool"},
    {"", "GlobalMaxPool", 1, LowerGlobalPool, "adaptive_max_pool"},
    {"", "LpPool", 1, LowerPool, "lp_pool"},
    {"", "MaxPool", 1, LowerPool, "max_pool"},
    {"", "MaxRoiPool", 2, LowerRoi, "roi_pool"},
    {"", "MaxUnpool", 2, LowerMaxUnpool, "", {Bit(2)}},
    {"", "RoiAlign", 3, LowerRoi, "roi_align"},
    // softmax, reductions
    {"", "Hardmax", 1, LowerHardmax},
    {"", "LogSoftmax", 1, LowerSoftmax, "log_softmax"},
    {"", "Softmax", 1, LowerSoftmax, "softmax"},
    {"", "ArgMax", 1, LowerArg, "argmax"},
    {"", "ArgMin", 1, LowerArg, "argmin"},
    {"", "CumProd", 2, LowerCumulative, "cumprod", {Bit(1)}},
    {"", "CumSum", 2, LowerCumulative, "cumsum", {Bit(1)}},
    {"", "ReduceL1", 1, LowerReduce, "norm", {Bit(1)}},
    {"", "ReduceL2", 1, LowerReduce, "norm", {Bit(1)}},
    {"", "ReduceLogSumExp", 1, LowerReduce, "logsumexp", {Bit(1)}},
    {"", "ReduceMax", 1, LowerReduce, "amax", {Bit(1)}},
    {"", "ReduceMean", 1, LowerReduce, "mean", {Bit(1)}},
    {"", "ReduceMin", 1, LowerReduce, "amin", {Bit(1)}},
    {"", "ReduceProd", 1, LowerReduce, "prod", {Bit(1)}},
    {"", "ReduceSum", 1, LowerReduce, "sum", {Bit(1)}},
    {"", "ReduceLogSum", 1, LowerReduceLogSum, "", {Bit(1)}},
    {"", "ReduceSumSquare", 1, LowerReduceSumSquare, "", {Bit(1)}},
    // views
    {"", "Expand", 2, LowerExpand, "", {Bit(1)}},
    {"", "Flatten", 1, LowerFlatten},
    {"", "Identity", 1, LowerIdentity},
    {"", "Reshape", 1, LowerReshape, "", {Bit(1)}},
    {"", "Slice", 1, LowerSlice, "", {Bit(1) | Bit(2) | Bit(3) | Bit(4)}},
    {"", "Split", 1, LowerSplit, "", {Bit(1)}},
    {"", "Squeeze", 1, LowerSqueeze, "", {Bit(1)}},
    {"", "Transpose", 1, LowerTranspose},
    {"", "Unsqueeze", 1, LowerUnsqueeze, "", {Bit(1)}},
    // indexing
    {"", "Compress", 2, LowerCompress},
    {"", "Gather", 2, LowerGather},
    {"", "GatherElements", 2, LowerGatherElements},
    {"", "GatherND", 2, LowerGatherNd},
    {"", "NonMaxSuppression", 2, LowerNewWithoutGradient, "empty"},
    {"", "NonZero", 1, LowerNonZero},
    {"", "OneHot", 3, LowerOneHot, "", {Bit(1) | Bit(2)}},
    {"", "ReverseSequence", 2, LowerReverseSequence, "", {Bit(1)}},
    {"", "Scatter", 3, LowerScatterElements},
    {"", "ScatterElements", 3, LowerScatterElements},
    {"", "ScatterND", 3, LowerScatterNd},
    {"", "TensorScatter", 2, LowerTensorScatter, "", {Bit(2)}},
    {"", "TopK", 1, LowerTopK, "", {Bit(1)}},
    {"", "Trilu", 1, LowerTrilu, "", {Bit(1)}},
    {"", "Unique", 1, LowerNewWithoutGradient, "empty"},
    // layout
    {"", "AffineGrid", 2, LowerGrid, "affine_grid", {Bit(1)}},
    {"", "CenterCropPad", 2, LowerCrop, "", {Bit(1)}},
    {"", "Col2Im", 3, LowerGrid, "col2im", {Bit(1) | Bit(2)}},
    {"", "Concat", 1, LowerConcat},
    {"", "Crop", Unversioned(1), LowerCrop},
    {"", "DepthToSpace", 1, LowerDepthToSpace, "pixel_shuffle"},
    {"", "GridSample", 2, LowerGrid, "grid_sample"},
    {"", "Pad", 1, LowerPad, "", {Bit(1) | Bit(3)}},
    {"", "Resize", 1, LowerResize, "", {Bit(1) | Bit(2) | Bit(3)}},
    {"", "SpaceToDepth", 1, LowerDepthToSpace, "pixel_unshuffle"},
    {"", "Tile", 2, LowerTile, "", {Bit(1) | Bit(2)}},
    {"", "Upsample", 1, LowerResize, "", {Bit(1)}},
    // creation
    {"", "Bernoulli", 1, LowerRandom, "random"},
    {"", "BlackmanWindow", 1, LowerFull, "", {Bit(0)}},
    {"", "ConstantOfShape", 1, LowerFull, "", {Bit(0)}},
    {"", "EyeLike", 1, LowerFull, "", {0, Bit(0)}},
    {"", "GivenTensorFill", Unversioned(0), LowerFull},
    {"", "HammingWindow", 1, LowerFull, "", {Bit(0)}},
    {"", "HannWindow", 1, LowerFull, "", {Bit(0)}},
    {"", "MelWeightMatrix", 5, LowerFull, "", {Bit(0) | Bit(1) | Bit(2) | Bit(3) | Bit(4)}},
    {"", "Multinomial", 1, LowerRandom, "random"},
    {"", "RandomNormal", 0, LowerRandom},
    {"", "RandomNormalLike", 1, LowerRandom, "", {0, Bit(0)}},
    {"", "RandomUniform", 0, LowerRandom},
    {"", "RandomUniformLike", 1, LowerRandom, "", {0, Bit(0)}},
    {"", "Range", 3, LowerRange, "", {Bit(0) | Bit(1) | Bit(2)}},
    {"", "Shape", 1, LowerFull, "", {0, Bit(0)}},
    {"", "Size", 1, LowerFull, "", {0, Bit(0)}},
    // dropout, recurrent, attention, losses
    {"", "Dropout", 1, LowerDropout, "", {Bit(1) | Bit(2)}},
    {"", "GRU", 3, LowerRecurrent, "gru", {Bit(4)}},
    {"", "LSTM", 3, LowerRecurrent, "lstm", {Bit(4)}},
    {"", "RNN", 3, LowerRecurrent, "rnn", {Bit(4)}},
    {"", "Attention", 3, LowerAttention},
    {"", "LinearAttention", 3, LowerLinearAttention},
    {"ai.onnx.preview", "FlexAttention", 3, LowerAttention},
    {"", "RotaryEmbedding", 3, LowerRotaryEmbedding},
    {"", "NegativeLogLikelihoodLoss", 2, LowerNegativeLogLikelihood},
    {"", "SoftmaxCrossEntropyLoss", 2, LowerSoftmaxCrossEntropy},
    // quantization
    {"", "ConvInteger", 2, LowerIntegerProduct},
    {"", "DequantizeLinear", 2, LowerDequantize},
    {"", "DynamicQuantizeLinear", 1, LowerQuantize},
    {"", "MatMulInteger", 2, LowerIntegerProduct},
    {"", "QLinearConv", 8, LowerIntegerProduct},
    {"", "QLinearMatMul", 8, LowerIntegerProduct},
    {"", "QuantizeLinear", 2, LowerQuantize},
    // control flow
    {"", "If", 1, LowerControlFlow},
    {"", "Loop", 0, LowerControlFlow, "", {Bit(0)}},
    {"", "Scan", 0, LowerControlFlow},
    // spectra, matrices
    {"", "DFT", 1, LowerDft, "", {Bit(1) | Bit(2)}},
    {"", "Det", 1, LowerUnary, "det"},
    {"", "STFT", 2, LowerStft, "", {Bit(1) | Bit(3)}},
    // sequences and optionals: names for tensors that are there
    {"", "ConcatFromSequence", 1, LowerConcatFromSequence},
    {"", "Optional", 0, LowerOptional},
    {"", "OptionalGetElement", 1, LowerOptional},
    {"", "OptionalHasElement", 0, LowerFull, "", {0, Bit(0)}},
    {"", "SequenceAt", 2, LowerSequenceAt, "", {Bit(1)}},
    {"", "SequenceConstruct", 1, LowerSequenceConstruct},
    {"", "SequenceEmpty", 0, LowerSequenceConstruct},
    {"", "SequenceErase", 1, LowerSequenceEdit, "", {Bit(1)}},
    {"", "SequenceInsert", 2, LowerSequenceEdit, "", {Bit(2)}},
    {"", "SequenceLength", 1, LowerFull, "", {0, Bit(0)}},
    {"", "SequenceMap", 1, LowerControlFlow},
    {"", "SplitToSequence", 1, LowerSplitToSequence, "", {Bit(1)}},
    // strings, images, text features: made by the host, without a gradient
    {"", "ImageDecoder", 1, LowerNewWithoutGradient, "empty"},
    {"", "RegexFullMatch", 1, LowerNewWithoutGradient, "empty"},
    {"", "StringConcat", 2, LowerNewWithoutGradient, "empty"},
    {"", "StringNormalizer", 1, LowerNewWithoutGradient, "empty"},
    {"", "StringSplit", 1, LowerNewWithoutGradient, "empty"},
    {"", "TfIdfVectorizer", 1, LowerNewWithoutGradient, "empty"},
    // experimental operators of the first opsets
    {"", "Affine", Unversioned(1), LowerAffine},
    {"", "ImageScaler", Unversioned(1), LowerImageScaler},
    // ai.onnx.ml: trained elsewhere; no framework differentiates them
    {"ai.onnx.ml", "ArrayFeatureExtractor", 2, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "Binarizer", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "CastMap", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "CategoryMapper", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "DictVectorizer", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "FeatureVectorizer", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "Imputer", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "LabelEncoder", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "LinearClassifier", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "LinearRegressor", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "Normalizer", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "OneHotEncoder", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "SVMClassifier", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "SVMRegressor", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "Scaler", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "TreeEnsemble", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "TreeEnsembleClassifier", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "TreeEnsembleRegressor", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.ml", "ZipMap", 1, LowerNewWithoutGradient, "empty"},
    // ai.onnx.preview.training: the update is in the graph, and is not differentiated
    {"ai.onnx.preview.training", "Adagrad", 3, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.preview.training", "Adam", 3, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.preview.training", "Gradient", 1, LowerNewWithoutGradient, "empty"},
    {"ai.onnx.preview.training", "Momentum", 3, LowerNewWithoutGradient, "empty"},
    // com.microsoft
    {"com.microsoft", "Attention", 2, LowerMicrosoftAttention},
    {"com.microsoft", "BiasAdd", 3, LowerBiasAdd},
    {"com.microsoft", "BiasDropout", 2, LowerBiasDropout, "", {Bit(3) | Bit(4)}},
    {"com.microsoft", "BiasGelu", 2, LowerBiasGelu},
    {"com.microsoft", "BiasSoftmax", 2, LowerBiasSoftmax},
    {"com.microsoft", "BiasSplitGelu", 2, LowerBiasSplitGelu},
    {"com.microsoft", "DequantizeLinear", 2, LowerDequantize},
    {"com.microsoft", "DynamicQuantizeLSTM", 3, LowerIntegerProduct},
    {"com.microsoft", "DynamicQuantizeMatMul", 3, LowerIntegerProduct},
    {"com.microsoft", "EmbedLayerNormalization", {0, 2, 3, 5, 6}, LowerEmbedLayerNorm},
    {"com.microsoft", "ExpandDims", 2, LowerUnary, "unsqueeze", {Bit(1)}},
    {"com.microsoft", "FastGelu", 1, LowerFastGelu},
    {"com.microsoft", "FusedConv", 2, LowerFusedConv},
    {"com.microsoft", "FusedGemm", 2, LowerFusedGemm},
    {"com.microsoft", "FusedMatMul", 2, LowerFusedMatMul},
    {"com.microsoft", "Gelu", 1, LowerGelu},
    {"com.microsoft", "GemmFastGelu", 2, LowerGemmFastGelu},
    {"com.microsoft", "GatherND", 2, LowerGatherNd},
    {"com.microsoft", "GridSample", 2, LowerGrid, "grid_sample"},
    {"com.microsoft", "GroupNorm", 3, LowerMicrosoftGroupNorm},
    {"com.microsoft", "GroupQueryAttention", 1, LowerGroupQueryAttention, "", {Bit(5) | Bit(6)}},
    {"com.microsoft", "Inverse", 1, LowerUnary, "inverse"},
    {"com.microsoft", "Irfft", 1, LowerUnary, "fft_c2r"},
    {"com.microsoft", "IsAllFinite", 1, LowerNewWithoutGradient, "empty"},
    {"com.microsoft", "LayerNormalization", 2, LowerLayerNormalization},
    {"com.microsoft", "MatMulBnb4", 3, LowerPackedWeightProduct},
    {"com.microsoft", "MatMulInteger16", 2, LowerIntegerProduct},
    {"com.microsoft", "MatMulIntegerToFloat", 4, LowerIntegerProduct},
    {"com.microsoft", "MatMulNBits", 3, LowerPackedWeightProduct},
    {"com.microsoft", "MulInteger", {0, 2}, LowerIntegerProduct},
    {"com.microsoft", "MultiHeadAttention", 1, LowerMultiHeadAttention},
    {"com.microsoft", "MurmurHash3", 1, LowerNewWithoutGradient, "empty"},
    {"com.microsoft", "NhwcConv", 2, LowerFusedConv},
    {"com.microsoft", "NhwcFusedConv", 2, LowerFusedConv},
    {"com.microsoft", "Pad", 2, LowerPad, "", {Bit(1) | Bit(2)}},
    {"com.microsoft", "QAttention", 5, LowerIntegerProduct},
    {"com.microsoft", "QGemm", {0, 1, 3, 4}, LowerIntegerProduct},
    {"com.microsoft", "QLinearAdd", {0, 1, 3, 4, 6}, LowerIntegerProduct},
    {"com.microsoft", "QLinearAveragePool", {0, 1, 3}, LowerIntegerProduct},
    {"com.microsoft", "QLinearConcat", 3, LowerIntegerProduct},
    {"com.microsoft", "QLinearGlobalAveragePool", {0, 1, 3}, LowerIntegerProduct},
    {"com.microsoft", "QLinearLeakyRelu", {0, 1, 3}, LowerIntegerProduct},
    {"com.microsoft", "QLinearMul", {0, 1, 3, 4, 6}, LowerIntegerProduct},
    {"com.microsoft", "QLinearReduceMean", {0, 1, 3}, LowerIntegerProduct},
    {"com.microsoft", "QLinearSigmoid", {0, 1, 3}, LowerIntegerProduct},
    {"com.microsoft", "QLinearSoftmax", {0, 1, 3}, LowerIntegerProduct},
    {"com.microsoft", "QLinearWhere", {0, 1, 2, 4, 5, 7}, LowerIntegerProduct},
    {"com.microsoft", "QuantizeLinear", 2, LowerQuantize},
    {"com.microsoft", "QuickGelu", 1, LowerQuickGelu},
    {"com.microsoft", "Range", 2, LowerRange, "", {Bit(0) | Bit(1) | Bit(2)}},
    {"com.microsoft", "ReduceSumInteger", 1, LowerIntegerProduct},
    {"com.microsoft", "Rfft", 1, LowerUnary, "fft_r2c"},
    {"com.microsoft", "RotaryEmbedding", 1, LowerRotaryEmbedding},
    {"com.microsoft", "SimplifiedLayerNormalization", 2, LowerRmsNormalization},
    {"com.microsoft", "SkipGroupNorm", 4, LowerMicrosoftGroupNorm},
    {"com.microsoft", "SkipLayerNormalization", 3, LowerSkipNorm, "layer_norm"},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", 3, LowerSkipNorm, "rms_norm"},
    {"com.microsoft", "Tokenizer", 1, LowerNewWithoutGradient, "empty"},
    {"com.microsoft", "TransposeMatMul", 2, LowerFusedMatMul},
    {"com.microsoft", "Trilu", 1, LowerTrilu, "", {Bit(1)}},
    {"com.microsoft", "Unique", 1, LowerNewWithoutGradient, "empty"},
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

int MissingInput(const TableRow& row, const Node& node) {
  for (int i = 0; row.needs.inputs >> i != 0; ++i) {
    const auto at = static_cast<size_t>(i);
    const bool there = at < node.inputs.size() && node.inputs[at].valid();
    if ((row.needs.inputs & Bit(i)) != 0 && !there) return i;
  }
  return -1;
}

bool IsInOpset(const TableRow& row, const Node& node, const Graph& graph) {
  return !row.domain.empty() || !row.needs.versioned || graph.opset == 0 || node.since_version > 0;
}

std::span<const TableRow> AllRows() { return kRows; }

}  // namespace onnx_mem
