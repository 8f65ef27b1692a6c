// The free blocks of a pool in the order of best fit: by size, then by address. One sorted list for each power of two,
// as a replay takes blocks out and puts them back a few thousand times, and a pool has tens of them of one size.
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_BLOCK_RANKS_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_BLOCK_RANKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/graph/ids.h"

namespace onnx_mem {

using BlockId = Id<struct BlockTag>;

// Of a free block by size, of an unmapped one (bytes = 0) by address.
struct BlockRank {
  int64_t bytes;
  int64_t offset_bytes;
  int32_t segment;  // in the order of addresses
  BlockId id;
  friend bool operator<(const BlockRank& a, const BlockRank& b) {  // no two blocks have one address
    if (a.bytes != b.bytes) return a.bytes < b.bytes;
    return a.segment != b.segment ? a.segment < b.segment : a.offset_bytes < b.offset_bytes;
  }
};

class BlockRanks {
 public:
  void Insert(const BlockRank& rank);
  void Erase(const BlockRank& rank);  // it is there
  bool empty() const { return filled_ == 0; }
  // Pointers hold until the next change; null: there is none.
  const BlockRank* NotBefore(const BlockRank& rank) const;  // the first
  const BlockRank* Behind(const BlockRank& rank) const;     // the first
  const BlockRank* Before(const BlockRank& rank) const;     // the last
  const BlockRank* Last() const;
  std::vector<BlockId> Ids() const;  // in order

 private:
  static constexpr size_t kLists = 64;
  using List = std::vector<BlockRank>;
  const BlockRank* FirstFrom(size_t list) const;  // of lists from this one on
  const BlockRank* LastBelow(size_t list) const;  // of lists before this one

  std::array<List, kLists> lists_;  // by the width of the size in bits
  uint64_t filled_ = 0;             // a bit for each list that is not empty
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_BLOCK_RANKS_H_
