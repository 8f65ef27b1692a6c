// Arithmetic on upper bounds. Where a size depends on data (NonZero, TopK), its largest value flows on in its place:
// through Shape it becomes contents that are upper bounds, and through ConstantOfShape or TopK's k a size again. That
// is sound only where a larger operand cannot make the result smaller.
//
//   NonZero(x[300]) : at most 1x300 -> Shape -> Gather(1) -> at most 300 -> Min(100) -> at most 100 -> TopK's k
#ifndef ONNX_MEM_ANALYZER_ONNX_INFER_BOUNDS_H_
#define ONNX_MEM_ANALYZER_ONNX_INFER_BOUNDS_H_

#include <cstddef>
#include <string_view>

#include "absl/types/span.h"
#include "analyzer/graph/dag.h"

namespace onnx_mem {

struct BoundOperand {
  const Literal* contents = nullptr;
  bool is_bound = false;  // the contents, or the size where the operator looks at the size, are upper bounds
};

// Whether `op` (of the default domain) applied to upper bounds gives upper bounds, element by element.
bool KeepsBounds(std::string_view op, absl::Span<const BoundOperand> operands);

// Whether input `index` of `op` may be an upper bound for the output's size to be one: a target shape, a count.
bool SizeGrowsWith(std::string_view op, size_t index);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_INFER_BOUNDS_H_
