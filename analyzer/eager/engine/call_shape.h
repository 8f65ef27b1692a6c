// What an operator's call looks like before it runs: the dims of its inputs and of its result. An operator's row says
// by them whether its own rule can take the call; what it cannot take, the default rule does (op_table.h).
//
//   addmm of a [8,64] and a bias [32]   the row asks for two matrices: enacted as "assumed"
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_CALL_SHAPE_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_CALL_SHAPE_H_

#include <cstdint>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "analyzer/graph/framework_graph.h"

namespace onnx_mem::eager {

struct CallShape {
  const FrameworkNode& node;
  absl::InlinedVector<const Dims*, 4> inputs;  // null where omitted
  const Dims* output = nullptr;                // of the first result

  // -1 where it is omitted.
  int64_t rank(size_t input) const {
    return input < inputs.size() && inputs[input] != nullptr ? static_cast<int64_t>(inputs[input]->size()) : -1;
  }
  int64_t output_rank() const { return output != nullptr ? static_cast<int64_t>(output->size()) : -1; }
  // Attribute `name`, one axis or several, stays within `rank` dimensions; absent, it is `fallback`.
  bool AxisWithin(std::string_view name, int64_t rank, int64_t fallback = 0) const;
  bool AxesWithin(std::string_view name, int64_t rank) const;
};

// The call of `node` as its graph says.
CallShape ShapeOfCall(const FrameworkGraph& graph, const FrameworkNode& node);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_CALL_SHAPE_H_
