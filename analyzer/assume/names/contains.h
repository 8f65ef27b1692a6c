#ifndef ONNX_MEM_ANALYZER_ASSUME_NAMES_CONTAINS_H_
#define ONNX_MEM_ANALYZER_ASSUME_NAMES_CONTAINS_H_

#include <algorithm>
#include <array>
#include <string_view>

namespace onnx_mem::names {

template <class Range, class Value>
bool Contains(const Range& range, const Value& value) {
  return std::find(range.begin(), range.end(), value) != range.end();
}

// Layers whose call stands inside another call's argument list: F.relu(self.bn(self.conv(x))).
inline constexpr auto kNorms =
    std::to_array<std::string_view>({"batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm"});

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_CONTAINS_H_
