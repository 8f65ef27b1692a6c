// A sequence indexed by one kind of id whose items stay where they are while it grows: a reference to one of them is
// good for as long as the sequence is. They stand in blocks of 64, where std::deque allocates each item of more than
// 256 bytes alone.
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_ID_DEQUE_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_ID_DEQUE_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace onnx_mem {

template <class I, class T>
class IdDeque {
 public:
  IdDeque() = default;
  explicit IdDeque(size_t n) {
    while (size_ < n) Add(T());
  }

  I Add(T item) {
    if (size_ % kBlock == 0) blocks_.emplace_back().reserve(kBlock);
    blocks_.back().push_back(std::move(item));
    return I(static_cast<int32_t>(size_++));
  }
  T& operator[](I id) {
    assert(contains(id));
    return blocks_[Index(id) / kBlock][Index(id) % kBlock];
  }
  const T& operator[](I id) const {
    assert(contains(id));
    return blocks_[Index(id) / kBlock][Index(id) % kBlock];
  }
  bool contains(I id) const { return id.valid() && Index(id) < size_; }
  I next_id() const { return I(static_cast<int32_t>(size_)); }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kBlock = 64;
  static size_t Index(I id) { return static_cast<size_t>(id.value()); }

  std::vector<std::vector<T>> blocks_;
  size_t size_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_ID_DEQUE_H_
