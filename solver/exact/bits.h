// Sets of small integers as rows of 64-bit words; rows of one width, stored anywhere.
#ifndef ONNX_MEM_SOLVER_EXACT_BITS_H_
#define ONNX_MEM_SOLVER_EXACT_BITS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace onnx_mem {

using Word = uint64_t;

inline int WordsFor(int bits) { return (bits + 63) / 64; }
inline bool TestBit(const Word* row, int bit) { return (row[bit >> 6] >> (bit & 63)) & 1; }
inline void SetBit(Word* row, int bit) { row[bit >> 6] |= Word{1} << (bit & 63); }
inline void ClearBit(Word* row, int bit) { row[bit >> 6] &= ~(Word{1} << (bit & 63)); }

template <class F>
void ForEachBit(const Word* row, int words, F f) {
  for (int w = 0; w < words; ++w) {
    for (Word left = row[w]; left != 0; left &= left - 1) f(w * 64 + std::countr_zero(left));
  }
}

// `count` rows of `words` words each, all zero at first.
class BitRows {
 public:
  BitRows() = default;
  BitRows(int count, int words) : words_(words), data_(static_cast<size_t>(count) * static_cast<size_t>(words), 0) {}
  Word* operator[](int row) { return data_.data() + static_cast<size_t>(row) * static_cast<size_t>(words_); }
  const Word* operator[](int row) const {
    return data_.data() + static_cast<size_t>(row) * static_cast<size_t>(words_);
  }
  int words() const { return words_; }

 private:
  int words_ = 0;
  std::vector<Word> data_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EXACT_BITS_H_
