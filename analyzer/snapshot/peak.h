// The moment at which most was allocated, found by undoing events from the end, whose blocks are listed. That also
// holds where the history is cut at its beginning.
#ifndef ONNX_MEM_ANALYZER_SNAPSHOT_PEAK_H_
#define ONNX_MEM_ANALYZER_SNAPSHOT_PEAK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/snapshot/snapshot.h"

namespace onnx_mem {

// What was allocated before event `event`, undone from the end.
class UndoneHistory {
 public:
  struct Live {
    int64_t bytes = 0;  // as requested
    StackId stack = 0;
  };

  explicit UndoneHistory(const AllocatorSnapshot& snapshot);

  size_t event() const { return event_; }
  void Undo();  // one event; event() > 0

  const absl::flat_hash_map<int64_t, Live>& live() const { return live_; }             // by address
  const absl::flat_hash_map<int64_t, int64_t>& segments() const { return segments_; }  // sizes by address
  int64_t requested_bytes() const { return requested_; }
  int64_t allocated_bytes() const { return allocated_; }
  int64_t reserved_bytes() const { return reserved_; }

 private:
  void Add(int64_t address, int64_t bytes, StackId stack);
  void Remove(int64_t address);

  const AllocatorSnapshot* snapshot_;
  absl::flat_hash_map<int64_t, Live> live_;
  absl::flat_hash_map<int64_t, int64_t> segments_;
  MemoryAction freed_ = MemoryAction::kFreeCompleted;
  std::vector<StackId> made_by_;  // of the block that an event frees, by event
  size_t event_ = 0;
  int64_t requested_ = 0;
  int64_t allocated_ = 0;
  int64_t reserved_ = 0;
};

// `bytes` in blocks of 512.
int64_t InBlocks(int64_t bytes);

// "model.py:41 forward": the innermost Python line outside the framework; failing that the innermost frame; "" for
// none.
std::string WhereText(const AllocatorSnapshot& snapshot, StackId stack);

struct PeakBlock {
  int64_t bytes = 0;
  StackId stack = 0;
};

struct SnapshotPeak {
  int64_t requested_bytes = 0;    // the most that was requested at once
  int64_t allocated_bytes = 0;    // the same in blocks of 512 bytes: torch.cuda.max_memory_allocated()
  int64_t reserved_bytes = 0;     // torch.cuda.max_memory_reserved()
  size_t event = 0;               // before which it was reached; without a history 0, the moment of the snapshot
  std::vector<PeakBlock> blocks;  // alive there, the largest first
};
SnapshotPeak PeakOf(const AllocatorSnapshot& snapshot);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_SNAPSHOT_PEAK_H_
