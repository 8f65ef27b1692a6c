// What is known of framework operators by their names, "conv" or "relu": one row each in ops.inc, and the
// questions that it answers. OpName (analyzer/graph/op_name.h) holds its row, so that a question costs no search:
//
//   if (IsView(node.op)) ...
#ifndef ONNX_MEM_ANALYZER_OPS_OPS_H_
#define ONNX_MEM_ANALYZER_OPS_OPS_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace onnx_mem {

enum class OpFamily : uint8_t {
  kNone,  // no framework operator: a name of ONNX, or of nobody
  kView,
  kUnary,
  kScalar,
  kBinary,
  kMatmul,
  kConvolution,
  kNorm,
  kPool,
  kSoftmax,
  kReduce,
  kSelect,
  kShape,
  kCreate,
  kAttention,
  kDropout,
  kRecurrent,
  kQuantize,
  kSpectral,
  kComplex,
  kLinearAlgebra,
  kDetection,
  kLoss,
  kCollective,
  kDefault,
};

namespace op_trait {
enum : uint32_t {
  kNoTrait = 0,

  // Values as they are.
  kWholeView = 1 << 0,  // all elements of the input, on its storage; of a reshape where strides allow it
  kPiece = 1 << 1,      // some of them, or some of them again, on its storage
  kCopy = 1 << 2,       // all of them, in a storage of their own unless they are as wanted already

  // Elementwise.
  // Of torch/nn/modules/activation.py, what stands between layers by itself. Not what others are spelled out in: the
  // softplus of Mish, the hardsigmoid of hardswish.
  kActivation = 1 << 3,
  kArithmetic = 1 << 4,  // sums, products, signs
  kScales = 1 << 5,      // by a number
  kCurve = 1 << 6,       // with arithmetic, what code spells activations out in: exp, tanh, pow
  kCommutes = 1 << 7,    // f(a, b) = f(b, a)
  kMasks = 1 << 8,       // takes scores and a mask: scores + mask, where(mask, scores, low)
  // An in-place activated BatchNorm takes it (Rota Bulo, Porzi, Kontschieder 2018): backward works the input out again.
  kActivatesNormInPlace = 1 << 9,

  // Layers.
  kLinear = 1 << 10,          // nn.Linear, whichever operator the framework takes for it
  kProduct = 1 << 11,         // rows times a second operand: a linear layer where that is a parameter
  kReadsWeight = 1 << 12,     // inputs from the second on are a layer's parameters
  kChannelNorm = 1 << 13,     // over positions or groups of channels: of images
  kTokenNorm = 1 << 14,       // over the last axes: of tokens
  kAverages = 1 << 15,        // a mean over positions
  kRecurrentLayer = 1 << 16,  // over a whole sequence

  // What it may write, and what it keeps for backward (tools/autograd/derivatives.yaml).
  kInPlaceFunction = 1 << 17,     // torch.nn.functional has it with `inplace`, under the same name
  kWritesInto = 1 << 18,          // its in-place form writes into some elements of its first input
  kSavesInput = 1 << 19,          // an input; of elementwise operators alone
  kSavesResult = 1 << 20,         // its result, in some form of the call
  kSavesResultInPlace = 1 << 21,  // its result if it writes in place, else its input

  kBatchStatistics = 1 << 22,  // in training those of the batch, which its running statistics follow
  kAtenUnary = 1 << 23,        // ATen's operator of the same name takes the one tensor, and numbers
  kMakesNew = 1 << 24,         // its rule makes a new result, of the in-place form too
};
}  // namespace op_trait

// One row of ops.inc.
struct OpFacts {
  std::string_view name;
  OpFamily family = OpFamily::kNone;
  uint32_t traits = op_trait::kNoTrait;

  constexpr bool HasAny(uint32_t wanted) const { return (traits & wanted) != 0; }
};

// The row of a name; one without a name, family and traits where there is none. It lives as long as the process.
const OpFacts& FactsOf(std::string_view name);

// All rows, by name.
std::span<const OpFacts> AllOpFacts();

// On the storage of its input.
constexpr bool IsView(const OpFacts& op) { return op.HasAny(op_trait::kWholeView | op_trait::kPiece); }
constexpr bool IsWholeView(const OpFacts& op) { return op.HasAny(op_trait::kWholeView); }
constexpr bool IsCopy(const OpFacts& op) { return op.HasAny(op_trait::kCopy); }

constexpr bool IsActivation(const OpFacts& op) { return op.HasAny(op_trait::kActivation); }
constexpr bool IsArithmetic(const OpFacts& op) { return op.HasAny(op_trait::kArithmetic); }
constexpr bool IsTensorArithmetic(const OpFacts& op) { return IsArithmetic(op) && op.family == OpFamily::kBinary; }
constexpr bool IsScaling(const OpFacts& op) { return op.HasAny(op_trait::kScales); }
constexpr bool IsCurve(const OpFacts& op) { return op.HasAny(op_trait::kCurve); }
constexpr bool Commutes(const OpFacts& op) { return op.HasAny(op_trait::kCommutes); }
constexpr bool TakesMask(const OpFacts& op) { return op.HasAny(op_trait::kMasks); }
constexpr bool ActivatesNormInPlace(const OpFacts& op) { return op.HasAny(op_trait::kActivatesNormInPlace); }

constexpr bool IsLinear(const OpFacts& op) { return op.HasAny(op_trait::kLinear); }
constexpr bool IsProduct(const OpFacts& op) { return op.HasAny(op_trait::kProduct); }
constexpr bool IsConvolution(const OpFacts& op) { return op.family == OpFamily::kConvolution; }
constexpr bool ReadsWeight(const OpFacts& op) { return op.HasAny(op_trait::kReadsWeight); }
constexpr bool NormalizesBatch(const OpFacts& op) { return op.HasAny(op_trait::kBatchStatistics); }
constexpr bool IsChannelNorm(const OpFacts& op) { return op.HasAny(op_trait::kChannelNorm); }
constexpr bool IsTokenNorm(const OpFacts& op) { return op.HasAny(op_trait::kTokenNorm); }
constexpr bool IsNorm(const OpFacts& op) { return IsChannelNorm(op) || IsTokenNorm(op); }
constexpr bool IsSoftmax(const OpFacts& op) { return op.family == OpFamily::kSoftmax; }
constexpr bool IsAverage(const OpFacts& op) { return op.HasAny(op_trait::kAverages); }
constexpr bool IsRecurrentLayer(const OpFacts& op) { return op.HasAny(op_trait::kRecurrentLayer); }
constexpr bool IsAttention(const OpFacts& op) { return op.family == OpFamily::kAttention; }
constexpr bool IsDropout(const OpFacts& op) { return op.family == OpFamily::kDropout; }

// Has a form that writes over its input, or into it, though ONNX has none: x.sigmoid_(), nn.ReLU(inplace=True).
constexpr bool HasInPlaceForm(const OpFacts& op) {
  return op.HasAny(op_trait::kInPlaceFunction | op_trait::kWritesInto);
}
constexpr bool IsInPlaceFunction(const OpFacts& op) { return op.HasAny(op_trait::kInPlaceFunction); }
constexpr bool WritesInto(const OpFacts& op) { return op.HasAny(op_trait::kWritesInto); }

constexpr bool SavesInput(const OpFacts& op) { return op.HasAny(op_trait::kSavesInput); }
// Backward reads its result, which must stay as it is, in some form of the call.
constexpr bool SavesResult(const OpFacts& op) {
  return op.HasAny(op_trait::kSavesResult | op_trait::kSavesResultInPlace);
}
constexpr bool SavesResultInPlaceAlone(const OpFacts& op) { return op.HasAny(op_trait::kSavesResultInPlace); }

constexpr bool MakesNew(const OpFacts& op) { return op.HasAny(op_trait::kMakesNew); }
constexpr bool IsAtenUnary(const OpFacts& op) { return op.HasAny(op_trait::kAtenUnary); }

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_OPS_OPS_H_
