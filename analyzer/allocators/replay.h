// MemoryProgram -> what an allocator makes of it: the program's buffers are allocated and freed in the order of the
// run, several steps in a row, since what step 1 left in the cache decides what step 2 must take from the device.
//
//   step       0          1          2          3
//   param w    |==============================================|  fixed: reserved before the first step, kept
//   y          |=====================|                           Alloc at step 0, Free at step 2
//   dy                               |========================|  Alloc at step 2 (after y went), Free at the end
//
// Within a step: first the buffers that end there are freed, then those that begin there are allocated, both in the
// order of the program's buffers. At the end of a repetition everything that is not fixed is freed.
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_REPLAY_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_REPLAY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/allocators/replay_script.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

struct ReplayOptions {
  std::string_view allocator = "pytorch";  // a row of Allocators()
  AllocatorOptions options = {};
  int repetitions = 2;     // of the last run; at least 1. One that ended where it began is not run once more
  bool per_step = false;   // fill AllocatorUsage::steps
  bool addresses = false;  // fill AllocatorUsage::addresses
};

struct StepUsage {
  int64_t live_bytes = 0;       // exact sizes
  int64_t allocated_bytes = 0;  // after the step's allocations
  int64_t reserved_bytes = 0;
  friend bool operator==(const StepUsage&, const StepUsage&) = default;
};

// Where memory ran out. `repetition` counts all runs, from 0.
struct Moment {
  int repetition = 0;
  StepId step;
  friend bool operator==(const Moment&, const Moment&) = default;
};

struct OutOfMemory {
  Moment moment;
  BufferId buffer;       // of the program that was running; could not be allocated
  AllocatorState state;  // after the allocator had given back what it could
  friend bool operator==(const OutOfMemory&, const OutOfMemory&) = default;
};

struct AllocatorUsage {
  int64_t peak_live_bytes = 0;  // exact sizes
  int64_t peak_allocated_bytes = 0;
  int64_t peak_reserved_bytes = 0;
  int64_t touched_bytes = 0;       // AllocatorState::touched_bytes, at the end
  std::vector<RegionUse> regions;  // Allocator::Regions, at the end
  int64_t device_allocations = 0;
  int64_t retries = 0;
  int64_t last_retries = 0;                  // of the last repetition: what a step costs once the cache has settled
  std::optional<OutOfMemory> out_of_memory;  // the replay ended there; the figures are those up to it
  std::vector<StepUsage> steps;              // of the last repetition
  // Of the last repetition, by buffer: where it begins if the segments lie one behind the other in the order in which
  // they were made. -1: the allocator keeps no address for it. Empty where it keeps none at all.
  std::vector<int64_t> addresses;
};

// `program` must be valid (VerifyProgram). Error (usage): no such allocator.
absl::StatusOr<AllocatorUsage> Replay(const MemoryProgram& program, const ReplayOptions& options = {});

// `runs` of one process in a row, each once and the last options.repetitions times: the steps that begin a training,
// or steps whose sizes differ. What a run leaves behind of its fixed buffers (same name, category and size) the next
// one takes over, and allocates the others: step 1 makes optimizer state in the optimizer's own step. Moments count the
// runs.
absl::StatusOr<AllocatorUsage> Replay(std::span<const ReplayScript* const> runs, const ReplayOptions& options);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_REPLAY_H_
