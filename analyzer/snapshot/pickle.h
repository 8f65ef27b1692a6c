// A pickle of plain values -> those values, without running anything: only the opcodes that build numbers, strings,
// lists, tuples and dicts are known. Whatever would import, call or build an object ends the reading with an error.
//
// What a file of n bytes becomes takes at most a fixed multiple of n, and nothing here is recursive.
#ifndef ONNX_MEM_ANALYZER_SNAPSHOT_PICKLE_H_
#define ONNX_MEM_ANALYZER_SNAPSHOT_PICKLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_mem {

// Values by number, since a pickle may share or even contain itself. Value 0 is None.
class PickledValues {
 public:
  enum class Kind : uint8_t { kNone, kInt, kReal, kText, kList, kDict };
  using Id = uint32_t;

  Kind KindOf(Id id) const { return values_[id].kind; }
  int64_t IntOf(Id id, int64_t fallback = 0) const {  // booleans are 0 and 1; numbers beyond 64 bits are not numbers
    return KindOf(id) == Kind::kInt ? values_[id].number : fallback;
  }
  std::string_view TextOf(Id id) const {
    if (KindOf(id) != Kind::kText) return {};
    return bytes_.substr(static_cast<size_t>(values_[id].number), values_[id].length);
  }
  // Items of a list or a tuple; of a dict keys and values in turn. Empty for others.
  const std::vector<Id>& ItemsOf(Id id) const;
  // The last value of that key in a dict; None if it has none.
  Id At(Id dict, std::string_view key) const;
  Id root() const { return root_; }

 private:
  friend class PickleMachine;
  struct Value {
    Kind kind = Kind::kNone;
    uint32_t length = 0;  // of a text
    int64_t number = 0;   // of a text: its place in the pickle; of a list or a dict: its items' place
  };
  std::string_view bytes_;
  std::vector<Value> values_ = {Value{}};
  std::vector<std::vector<Id>> items_;
  Id root_ = 0;
};

// `bytes` must outlive the values. Error: bad-pickle; `path` is for messages.
absl::StatusOr<PickledValues> ReadPickle(std::string_view bytes, const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_SNAPSHOT_PICKLE_H_
