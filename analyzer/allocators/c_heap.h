// What the C library's heap (glibc's malloc) keeps of the large requests of a program, in resident bytes. It does not
// give back what was freed below something that is still in use, so a process shows the most that was alive at once
// long after it is gone.
//
//   string 9 MiB      | mapped apart |          each large request has a mapping of its own, until one was freed: then
//   copy 9 MiB        | heap         |          requests of up to that size come from the heap
//   string freed      gone from the process     a mapping is returned at once
//   copy freed        | heap: free   |          still resident, and the next request that fits in it costs nothing
//
// Source: glibc, malloc/malloc.c (_int_malloc: best fit; sysmalloc: mappings; free: the threshold of mappings follows
// what is freed; systrim: the end of the heap is returned where it is larger than twice the threshold; _int_memalign:
// an aligned block is cut out of a larger one).
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_C_HEAP_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_C_HEAP_H_

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace onnx_mem {

// Of small requests only some are made here. What a small one leaves is taken to be filled by another at once.
class CHeap {
 public:
  using Block = int64_t;

  // Both write to all of it unless `written_bytes` says less. Sizes are checked by the caller: of a model, not of an
  // attacker's number.
  Block Malloc(int64_t bytes);
  Block Aligned(int64_t bytes, int64_t written_bytes);  // posix_memalign with 64
  Block Aligned(int64_t bytes) { return Aligned(bytes, bytes); }
  void Free(Block block);
  // What is cut off an aligned block is a few bytes, which some small request takes before it can merge with what lies
  // beside it.
  void SetPiecesAreTaken(bool taken) { pieces_are_taken_ = taken; }

  int64_t resident_bytes() const { return written_end_ + mapped_bytes_; }

 private:
  int64_t Take(int64_t bytes, int64_t written_bytes);
  void Write(Block block, int64_t bytes);
  void FreeRange(int64_t begin, int64_t bytes);
  void Merge(int64_t begin, int64_t bytes);

  std::map<int64_t, int64_t> free_;                                // begin -> bytes, apart from each other
  std::set<std::pair<int64_t, int64_t>> by_size_;                  // (bytes, begin) of the same
  std::unordered_map<Block, int64_t> used_;                        // of the heap
  std::unordered_map<Block, std::pair<int64_t, int64_t>> mapped_;  // bytes, of which written
  int64_t top_ = 0;                                                // where the heap's unused end begins
  int64_t end_ = 0;                                                // of the heap
  int64_t written_end_ = 0;                                        // of what was ever written to
  int64_t mapped_bytes_ = 0;
  int64_t next_mapping_ = int64_t{1} << 56;
  int64_t mmap_threshold_ = int64_t{128} << 10;
  int64_t trim_threshold_ = int64_t{128} << 10;
  bool pieces_are_taken_ = false;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_C_HEAP_H_
