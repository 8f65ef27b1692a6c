// What an export in half precision did not halve: operators that it left in float32, and the casts that it put round
// them.
//
//   x f16 -> Cast -> f32 -> Resize -> f32 -> Cast -> f16 -> Conv        kept: 1 Resize; casts: 2
//
// A cast is known by what it does, floating in, another floating type out, same dimensions, whatever it is called.
#ifndef ONNX_MEM_ANALYZER_COMPARE_HALF_PRECISION_H_
#define ONNX_MEM_ANALYZER_COMPARE_HALF_PRECISION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/graph/dtype.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem {

// Nodes of one operator.
struct OperatorGroup {
  std::string op;  // as the file calls it: "Resize"; for casts "float32 to float16"
  int64_t count = 0;
  int64_t bytes = 0;  // of their outputs
  friend bool operator==(const OperatorGroup&, const OperatorGroup&) = default;
};

struct HalfPrecision {
  DType dtype = DType::kFloat16;         // of most weights
  std::vector<OperatorGroup> kept_fp32;  // largest first; constants and shape arithmetic are no operators here
  std::vector<OperatorGroup> casts;
  int64_t fp32_weights = 0;  // initializers that stayed float32
  int64_t fp32_weight_bytes = 0;
  friend bool operator==(const HalfPrecision&, const HalfPrecision&) = default;
};

// `graph` as imported. Nullopt unless at least half of the floating weights' bytes are float16 or bfloat16.
std::optional<HalfPrecision> FindHalfPrecision(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_COMPARE_HALF_PRECISION_H_
