// Constant folding of one node: contents of the inputs -> contents of the outputs. Shape arithmetic (Shape, Gather,
// Concat, Mul, ...) turns into numbers here, so that a Reshape's target is known when its shape is inferred.
//
// A value may be known in part: in the shape of [?,3,224] the first element is kUnknownElement, the others are not.
// Operators that move elements carry it along; arithmetic with it gives it again; every other operator is only called
// with complete contents. Only integers and booleans have unknown elements.
//
// Contents come from files, so every function checks its operands: an index out of range, a mismatch or a result
// beyond kMaxElements is answered with "unknown" (an empty result); the schema's inference then reports the misfit.
#ifndef ONNX_MEM_ANALYZER_ONNX_FOLD_FOLD_H_
#define ONNX_MEM_ANALYZER_ONNX_FOLD_FOLD_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "analyzer/graph/dag.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem::fold {

inline constexpr int64_t kMaxElements = 65536;

// Stands for an element that is not known. A file that holds this very number is understood as not knowing it.
inline constexpr int64_t kUnknownElement = INT64_MIN + 0x5a17c0de;

struct Input {
  const Literal* value = nullptr;  // null: contents unknown, or the input is omitted
  const onnx::TypeProto* type = nullptr;
  bool present = false;
};

// One result per output of the node; null where it is unknown. Empty: nothing is known.
using Outputs = absl::InlinedVector<LiteralPtr, 2>;

// The node being folded. Which inputs are certain to have contents is what the operator's row asks for.
class FoldCall {
 public:
  FoldCall(const onnx::NodeProto& node, int version, absl::Span<const Input> inputs)
      : node_(node), version_(version), inputs_(inputs) {}

  int version() const { return version_; }  // since_version of the schema in force
  std::string_view op() const { return node_.op_type(); }
  size_t num_inputs() const { return inputs_.size(); }
  size_t num_outputs() const { return static_cast<size_t>(node_.output_size()); }

  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].present; }
  const Literal* value(size_t i) const { return i < inputs_.size() ? inputs_[i].value : nullptr; }
  const onnx::TypeProto* type(size_t i) const { return i < inputs_.size() ? inputs_[i].type : nullptr; }
  // The one element of a scalar (or one-element) integer input; nullopt where it is omitted or something else.
  std::optional<int64_t> scalar(size_t i) const;

  const onnx::AttributeProto* attribute(std::string_view name) const;
  int64_t int_attribute(std::string_view name, int64_t fallback) const;
  double float_attribute(std::string_view name, double fallback) const;
  std::string_view string_attribute(std::string_view name, std::string_view fallback) const;
  // The integers of input `i` (opset 13 and later) or else of attribute `name`; nullopt where neither is there.
  std::optional<std::vector<int64_t>> ints_input_or_attribute(size_t i, std::string_view name) const;

 private:
  const onnx::NodeProto& node_;
  int version_;
  absl::Span<const Input> inputs_;
};

using Function = Outputs (*)(const FoldCall&);

enum class FoldNeeds : uint8_t {
  kContents,  // every present input has complete contents
  kPartial0,  // like kContents, but input 0 may have unknown elements
  kPartial,   // like kContents, but any input may have unknown elements
  kTypes,     // the function looks for itself; contents may be missing
};

struct FoldRow {
  std::string_view op;
  Function run;
  FoldNeeds needs = FoldNeeds::kContents;
};

// The families, each a table of its own file.
absl::Span<const FoldRow> ArithmeticRows();
absl::Span<const FoldRow> ComparisonRows();
absl::Span<const FoldRow> GeneratorRows();
absl::Span<const FoldRow> IndexingRows();
absl::Span<const FoldRow> LayoutRows();
absl::Span<const FoldRow> MathRows();
absl::Span<const FoldRow> MatrixRows();
absl::Span<const FoldRow> PlacementRows();
absl::Span<const FoldRow> QuantizeRows();
absl::Span<const FoldRow> ReductionRows();
absl::Span<const FoldRow> SelectionRows();

// The row of an operator of the default domain; null where its results are not folded.
const FoldRow* FindRow(std::string_view op);

// Whether an element is kUnknownElement.
bool HasUnknown(const Literal& literal);

// Results of the common kinds. Each is an empty Outputs where `data` does not have as many elements as `dims`.
Outputs Integers(DType dtype, Dims dims, std::vector<int64_t> data);
Outputs Floats(DType dtype, Dims dims, std::vector<double> data);
// `from`'s elements at `offsets`, which are within it, as a tensor of `dims`.
Outputs Taken(const Literal& from, Dims dims, absl::Span<const int64_t> offsets);

// Elements of a tensor of `dims`; nullopt where that is more than kMaxElements (zero dims taken as one) or a dim is
// negative. Every literal that reaches a function has passed this.
std::optional<int64_t> Count(absl::Span<const int64_t> dims);
// Row-major strides, in elements.
Dims StridesOf(absl::Span<const int64_t> dims);
// `axis` within [-rank, rank) made non-negative; nullopt outside.
std::optional<size_t> NormalAxis(int64_t axis, size_t rank);

// Elements before `axis`, along it and after it: how an axis sits in row-major data.
struct AxisSplit {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;
};
AxisSplit SplitAt(absl::Span<const int64_t> dims, size_t axis);

// The offsets `start` + sum of index[k] * strides[k], for every index of a tensor of `dims` in row-major order.
std::vector<int64_t> StridedOffsets(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides, int64_t start);

// NumPy broadcasting of several shapes; nullopt where they do not fit or the result exceeds kMaxElements.
std::optional<Dims> BroadcastDims(absl::Span<const Dims* const> shapes);
// For each element of a tensor of `to`, the offset in a tensor of `from` that is broadcast to it.
std::vector<int64_t> BroadcastOffsets(const Dims& from, const Dims& to);

}  // namespace onnx_mem::fold

#endif  // ONNX_MEM_ANALYZER_ONNX_FOLD_FOLD_H_
