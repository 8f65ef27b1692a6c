// Numbers for the states of a search: a state is a moment and a row of items; the same state gets the same number.
#ifndef ONNX_MEM_SOLVER_EXACT_STATE_TABLE_H_
#define ONNX_MEM_SOLVER_EXACT_STATE_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "solver/exact/bits.h"
#include "solver/exact/row_map.h"

namespace onnx_mem {

class StateTable {
 public:
  explicit StateTable(int words) : words_(words), index_(1024) {}

  int32_t size() const { return static_cast<int32_t>(moments_.size()); }
  const Word* Row(int32_t id) const { return rows_.data() + static_cast<size_t>(id) * static_cast<size_t>(words_); }
  int32_t MomentOf(int32_t id) const { return moments_[id]; }

  // The state's number, and whether it is new. Rows move when one is added.
  std::pair<int32_t, bool> FindOrAdd(int32_t moment, const Word* row) {
    const uint64_t hash = HashRow(row, words_, static_cast<uint64_t>(moment));
    const size_t mask = index_.size() - 1;
    size_t slot = hash & mask;
    for (; index_[slot].id >= 0; slot = (slot + 1) & mask) {
      const Known& known = index_[slot];
      if (known.tag == Tag(hash) && moments_[known.id] == moment && std::equal(row, row + words_, Row(known.id))) {
        return {known.id, false};
      }
    }
    const int32_t id = size();
    index_[slot] = {Tag(hash), id};
    rows_.insert(rows_.end(), row, row + words_);
    moments_.push_back(moment);
    if (3 * moments_.size() > 2 * index_.size()) Grow();
    return {id, true};
  }

 private:
  struct Known {
    uint32_t tag = 0;  // of the hash
    int32_t id = -1;
  };

  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  void Grow() {
    std::vector<Known> old(2 * index_.size());
    old.swap(index_);
    const size_t mask = index_.size() - 1;
    for (const Known& known : old) {
      if (known.id < 0) continue;
      size_t slot = HashRow(Row(known.id), words_, static_cast<uint64_t>(moments_[known.id])) & mask;
      while (index_[slot].id >= 0) slot = (slot + 1) & mask;
      index_[slot] = known;
    }
  }

  int words_;
  std::vector<Word> rows_;
  std::vector<int32_t> moments_;
  std::vector<Known> index_;  // open addressing; its size is a power of two
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EXACT_STATE_TABLE_H_
