// Values by name, in the order in which the names come first.
#ifndef ONNX_MEM_REPORT_PARTS_GROUPED_H_
#define ONNX_MEM_REPORT_PARTS_GROUPED_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace onnx_mem {

template <class Value>
class Grouped {
 public:
  Value& operator[](const std::string& name) {
    const auto [at, added] = index_.try_emplace(name, groups_.size());
    if (added) groups_.emplace_back(name, Value{});
    return groups_[at->second].second;
  }
  const std::vector<std::pair<std::string, Value>>& groups() const { return groups_; }

 private:
  absl::flat_hash_map<std::string, size_t> index_;
  std::vector<std::pair<std::string, Value>> groups_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_GROUPED_H_
