// Sorts vectors of any type with one compiled algorithm. std::stable_sort is compiled anew for every comparison: some
// 6 KB of code each, a twentieth of what the compiler made of this project.
#ifndef ONNX_MEM_ANALYZER_ORDER_STABLE_SORT_H_
#define ONNX_MEM_ANALYZER_ORDER_STABLE_SORT_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"

namespace onnx_mem {

// The numbers 0 to `count` - 1 in the order of `before(a, b)`. Those of which neither is before the other rise.
std::vector<size_t> StableOrder(size_t count, absl::FunctionRef<bool(size_t, size_t)> before);

// As std::stable_sort(items.begin(), items.end(), before), for vectors of any kind. Each item is moved once.
template <class Items, class Before>
void StableSort(Items& items, const Before& before) {
  Items sorted;
  sorted.reserve(items.size());
  for (size_t at : StableOrder(items.size(), [&](size_t a, size_t b) { return before(items[a], items[b]); })) {
    sorted.push_back(std::move(items[at]));
  }
  items.swap(sorted);
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ORDER_STABLE_SORT_H_
