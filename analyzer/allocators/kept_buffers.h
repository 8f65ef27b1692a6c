// What stays in an allocator between two runs of a program.
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_KEPT_BUFFERS_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_KEPT_BUFFERS_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/allocators/replay_script.h"

namespace onnx_mem {

// By what a buffer of one run is known in the next; refers to the script that it is of.
struct FixedKey {
  Category category;
  const std::string* name;
  int64_t bytes;

  friend bool operator==(const FixedKey& a, const FixedKey& b) {
    return a.category == b.category && a.bytes == b.bytes && (a.name == b.name || *a.name == *b.name);
  }
  friend bool operator<(const FixedKey& a, const FixedKey& b) {
    return std::tie(a.category, *a.name, a.bytes) < std::tie(b.category, *b.name, b.bytes);
  }
  template <class H>
  friend H AbslHashValue(H h, const FixedKey& key) {
    return H::combine(std::move(h), key.category, *key.name, key.bytes);
  }
};

FixedKey KeyOf(const ReplayScript& script, const ReplayedLife& life);

inline constexpr int64_t kNoAllocation = -1;

struct KeptBuffer {
  FixedKey key;
  int64_t allocation = kNoAllocation;
};

// What stayed alive of one run, to be found by the next: of equal ones the first. The next run mostly asks in the same
// order.
class RemainingBuffers {
 public:
  explicit RemainingBuffers(std::vector<KeptBuffer> kept) : kept_(std::move(kept)) {}

  int64_t Take(const FixedKey& key);  // kNoAllocation: none is left
  std::vector<KeptBuffer> Rest();     // what nobody took, by key

 private:
  std::vector<KeptBuffer> kept_;
  size_t next_ = 0;                                            // all before it are taken
  absl::flat_hash_map<FixedKey, std::vector<size_t>> places_;  // by key, last first; filled when first needed
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_KEPT_BUFFERS_H_
