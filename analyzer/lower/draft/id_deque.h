// A sequence indexed by one kind of id whose items stay where they are while it grows: a reference to one of them is
// good for as long as the sequence is.
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_ID_DEQUE_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_ID_DEQUE_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace onnx_mem {

template <class I, class T>
class IdDeque {
 public:
  I Add(T item) {
    items_.push_back(std::move(item));
    return I(static_cast<int32_t>(items_.size()) - 1);
  }
  T& operator[](I id) {
    assert(contains(id));
    return items_[static_cast<size_t>(id.value())];
  }
  const T& operator[](I id) const {
    assert(contains(id));
    return items_[static_cast<size_t>(id.value())];
  }
  bool contains(I id) const { return id.valid() && static_cast<size_t>(id.value()) < items_.size(); }
  I next_id() const { return I(static_cast<int32_t>(items_.size())); }
  size_t size() const { return items_.size(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }

 private:
  std::deque<T> items_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_ID_DEQUE_H_
