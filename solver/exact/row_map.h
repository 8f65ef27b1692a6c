// A map from rows of words (of one width) to numbers, for memoization.
#ifndef ONNX_MEM_SOLVER_EXACT_ROW_MAP_H_
#define ONNX_MEM_SOLVER_EXACT_ROW_MAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "solver/exact/bits.h"

namespace onnx_mem {

inline uint64_t HashRow(const Word* row, int words, uint64_t seed) {
  uint64_t h = seed * 0x9E3779B97F4A7C15u + 1;
  for (int w = 0; w < words; ++w) {
    h = (h ^ row[w]) * 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
  }
  return h;
}

class RowMap {
 public:
  explicit RowMap(int words = 0) : words_(words), slots_(64, -1) {}

  // The value under `row`, or nullptr. Valid until the next Insert.
  const int64_t* Find(const Word* row) const {
    const int32_t entry = slots_[Slot(row)];
    return entry < 0 ? nullptr : &values_[static_cast<size_t>(entry)];
  }

  // `row` must not be in the map.
  void Insert(const Word* row, int64_t value) {
    if (2 * (values_.size() + 1) > slots_.size()) Grow();
    slots_[Slot(row)] = static_cast<int32_t>(values_.size());
    rows_.insert(rows_.end(), row, row + words_);
    values_.push_back(value);
  }

  size_t size() const { return values_.size(); }

 private:
  size_t Slot(const Word* row) const {
    const size_t mask = slots_.size() - 1;
    for (size_t slot = HashRow(row, words_, 0) & mask;; slot = (slot + 1) & mask) {
      const int32_t entry = slots_[slot];
      if (entry < 0 || std::equal(row, row + words_, Row(entry))) return slot;
    }
  }
  const Word* Row(int32_t entry) const {
    return rows_.data() + static_cast<size_t>(entry) * static_cast<size_t>(words_);
  }
  void Grow() {
    slots_.assign(slots_.size() * 2, -1);
    for (size_t i = 0; i < values_.size(); ++i) slots_[Slot(Row(static_cast<int32_t>(i)))] = static_cast<int32_t>(i);
  }

  int words_;
  std::vector<int32_t> slots_;
  std::vector<Word> rows_;
  std::vector<int64_t> values_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EXACT_ROW_MAP_H_
