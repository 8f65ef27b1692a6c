// Shape rules of our own, for what ONNX's schemas do not answer: operators of onnxruntime's com.microsoft domain,
// operators that left the standard, first versions without inference, and sizes that depend on data, for which there
// is an upper bound.
//
// A rule sees the node, its input types and the known contents. It speaks where no schema's inference does, or where
// that is wrong; bounds fill what the schema left unknown and never replace what it knows.
#ifndef ONNX_MEM_ANALYZER_ONNX_RULES_RULE_H_
#define ONNX_MEM_ANALYZER_ONNX_RULES_RULE_H_

#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "analyzer/graph/shape.h"
#include "analyzer/onnx/fold/fold.h"

namespace onnx_mem::rules {

inline constexpr int kFloat = onnx::TensorProto::FLOAT;
inline constexpr int kInt32 = onnx::TensorProto::INT32;

struct Result {
  int element_type = 0;  // onnx.TensorProto.DataType; UNDEFINED where the rule cannot say
  Shape shape;
  bool upper_bound = false;  // the dims are the largest possible
};
// One per output of the node, or fewer.
using Results = absl::InlinedVector<Result, 4>;
using Function = Results (*)(const fold::FoldCall&);

struct TypeRuleRow {
  std::string_view domain;  // "" for ai.onnx
  std::string_view op;
  Function rule;
};

absl::Span<const TypeRuleRow> AttentionRows();      // com.microsoft: attention and its companions
absl::Span<const TypeRuleRow> ContribRows();        // com.microsoft: activations, norms, products, quantized operators
absl::Span<const TypeRuleRow> ConvolutionRows();    // com.microsoft and its nchwc: convolutions and poolings
absl::Span<const TypeRuleRow> DataDependentRows();  // upper bounds
absl::Span<const TypeRuleRow> EinsumRows();         // instead of the schema's
absl::Span<const TypeRuleRow> FormerRows();         // first versions, and experimental operators that left the standard
absl::Span<const TypeRuleRow> MlRows();             // ai.onnx.ml

// The rule that stands in for a schema's inference; null where none knows the operator.
Function FindRule(std::string_view domain, std::string_view op);
// Whether the schema's inference of the operator is wrong, so that the rule speaks in its place.
bool IsSchemaWrong(std::string_view domain, std::string_view op);
// The bound on what an operator of the default domain leaves unknown; null where there is none.
Function FindBound(std::string_view op);

// Whether the operator is what the default domain's latest operator of that name is: it was there first.
bool IsStandardElsewhere(std::string_view domain, std::string_view op);

// Input `i`'s shape and element type.
Shape ShapeOf(const fold::FoldCall& call, size_t i);
int TypeOf(const fold::FoldCall& call, size_t i);
// Dim `axis` of input `i`, negative axes from the end; kUnknownDim where unknown or absent.
int64_t DimOf(const fold::FoldCall& call, size_t i, int64_t axis);
// a * b, a + b and a / b of sizes; kUnknownDim where either is unknown or the result is none.
int64_t Times(int64_t a, int64_t b);
int64_t Plus(int64_t a, int64_t b);
int64_t Over(int64_t a, int64_t b);
// The integers of an attribute; empty where it is absent.
Dims IntsOf(const fold::FoldCall& call, std::string_view name);

// Output 0 is as input 0.
Results SameAsFirst(const fold::FoldCall& call);
// NumPy broadcasting of two shapes, unknown dims included.
Shape Broadcast(const Shape& a, const Shape& b);
// NumPy matrix product of two shapes.
Shape MatrixProduct(Shape a, Shape b);

}  // namespace onnx_mem::rules

#endif  // ONNX_MEM_ANALYZER_ONNX_RULES_RULE_H_
