#include "analyzer/order/stable_sort.h"

#include <algorithm>
#include <numeric>

namespace onnx_mem {

std::vector<size_t> StableOrder(size_t count, absl::FunctionRef<bool(size_t, size_t)> before) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

}  // namespace onnx_mem
