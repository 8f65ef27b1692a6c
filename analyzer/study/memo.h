// What was worked out last, by its key.
#ifndef ONNX_MEM_ANALYZER_STUDY_MEMO_H_
#define ONNX_MEM_ANALYZER_STUDY_MEMO_H_

#include <cstddef>
#include <iterator>
#include <list>
#include <utility>

namespace onnx_mem {

// The first entry, which is what everything is compared with, stays; of the others the latest.
template <class Key, class Value>
class Memo {
 public:
  // nullptr: it is not there, or no longer.
  const Value* Find(const Key& key) const {
    for (const auto& [known, value] : entries_) {
      if (known == key) return &value;
    }
    return nullptr;
  }

  const Value& Keep(Key key, Value value) {
    constexpr size_t kMost = 3;
    if (entries_.size() >= kMost) entries_.erase(std::next(entries_.begin()));
    return entries_.emplace_back(std::move(key), std::move(value)).second;
  }

 private:
  std::list<std::pair<Key, Value>> entries_;  // keys are large: none is moved
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_STUDY_MEMO_H_
