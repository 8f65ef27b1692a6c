// The events of a snapshot up to one moment, with two clocks that tell rounds of a program apart:
//
//   pass    the backward passes that have begun. What a forward makes has the number of the pass that follows it.
//   round   how often the lines of the program outside modules have gone back: a loop was run again.
//
//     line   31 x.to   32 model(x)   33 loss   34 backward   31 x.to   32 model(x) ...
//     pass   0         0             0         0             1         1
//     round  0         0             0         0             1         1
//
// A stack's blocks that are alive from several rounds are what a program holds on to.
#ifndef ONNX_MEM_ANALYZER_SNAPSHOT_HISTORY_H_
#define ONNX_MEM_ANALYZER_SNAPSHOT_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analyzer/snapshot/snapshot.h"
#include "analyzer/snapshot/stacks.h"

namespace onnx_mem {

// A block that is alive at the moment.
struct HeldBlock {
  int64_t address = 0;
  int64_t bytes = 0;  // as requested
  StackId stack = 0;
  int64_t event = -1;  // that allocated it; -1: before the history began
  int64_t pass = -1;
  int64_t round = -1;
  int64_t ordinal = 0;    // among those that its stack made
  bool outlives = false;  // events follow, up to the end, and none frees it
};

// The blocks that one stack made, in order.
struct Series {
  int64_t made = 0;
  int64_t grown = 0;   // larger ones, made while a smaller one of the same pass was alive
  int64_t shrunk = 0;  // smaller than the one before
  int64_t last_bytes = 0;
  int64_t last_pass = 0;
};

struct HistoryView {
  size_t moment = 0;            // events before it have happened
  std::vector<HeldBlock> held;  // by address
  int64_t passes = 0;           // backward passes that have begun
  bool in_backward = false;
  int64_t optimizer_event = -1;                       // the last one of an optimizer; -1: none
  int64_t last_event = -1;                            // the last one that allocated
  std::vector<int64_t> bytes_of_round;                // that modules and own code allocated, by round
  absl::flat_hash_set<FrameId> trained;               // calls of whose blocks backward freed some
  absl::flat_hash_map<FrameId, int64_t> most_rounds;  // of a call in one pass that ended
  absl::flat_hash_set<StackId> freed_in_backward;     // stacks of which a block was
  absl::flat_hash_map<StackId, Series> series;
};

HistoryView ViewAt(const AllocatorSnapshot& snapshot, const std::vector<StackFacts>& facts, size_t moment);

// The last request that failed, by its event; the number of events if none did.
size_t FailedRequest(const AllocatorSnapshot& snapshot);

// Whether what the stack made is part of a forward: neither a weight nor made by backward or an optimizer.
bool IsForward(const StackFacts& facts);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_SNAPSHOT_HISTORY_H_
