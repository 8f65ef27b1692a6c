// Grouped-query attention, by the shapes of what an attention reads.
#ifndef ONNX_MEM_ANALYZER_OPS_QUERY_GROUPS_H_
#define ONNX_MEM_ANALYZER_OPS_QUERY_GROUPS_H_

#include <algorithm>
#include <cstdint>
#include <span>

namespace onnx_mem {

// Heads of the queries that share one of the keys: both [batch, heads, tokens, size]; 1 for other shapes.
constexpr int64_t QueryGroups(std::span<const int64_t> q, std::span<const int64_t> k) {
  if (q.size() != 4 || k.size() != 4 || k[1] <= 0) return 1;
  return std::max<int64_t>(q[1] / k[1], 1);
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_OPS_QUERY_GROUPS_H_
