#ifndef ONNX_MEM_ANALYZER_ASSUME_NAMES_CONTAINS_H_
#define ONNX_MEM_ANALYZER_ASSUME_NAMES_CONTAINS_H_

#include <algorithm>

namespace onnx_mem::names {

template <class Range, class Value>
bool Contains(const Range& range, const Value& value) {
  return std::find(range.begin(), range.end(), value) != range.end();
}

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_CONTAINS_H_
