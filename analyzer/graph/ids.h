// Strong ids over dense vectors: a NodeId never stands where a TensorId is meant.
#ifndef ONNX_MEM_ANALYZER_GRAPH_IDS_H_
#define ONNX_MEM_ANALYZER_GRAPH_IDS_H_

#include <cassert>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace onnx_mem {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;  // the invalid id
  constexpr explicit Id(int32_t value) : value_(value) {}
  constexpr int32_t value() const { return value_; }
  constexpr bool valid() const { return value_ >= 0; }
  constexpr size_t index() const { return static_cast<size_t>(value_); }  // in a vector; of a valid id
  friend constexpr auto operator<=>(Id, Id) = default;
  template <class H>
  friend H AbslHashValue(H h, Id id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  int32_t value_ = -1;
};

// A vector indexed by one kind of id.
template <class I, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(size_t n, const T& value = T()) : items_(n, value) {}

  I Add(T item) {
    items_.push_back(std::move(item));
    return I(static_cast<int32_t>(items_.size()) - 1);
  }
  typename std::vector<T>::reference operator[](I id) {
    assert(contains(id));
    return items_[id.index()];
  }
  typename std::vector<T>::const_reference operator[](I id) const {
    assert(contains(id));
    return items_[id.index()];
  }
  bool contains(I id) const { return id.valid() && id.index() < items_.size(); }
  I next_id() const { return I(static_cast<int32_t>(items_.size())); }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void reserve(size_t n) { items_.reserve(n); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  friend bool operator==(const IdVector&, const IdVector&) = default;

 private:
  std::vector<T> items_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_IDS_H_
