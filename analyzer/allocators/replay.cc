#include "analyzer/allocators/replay.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

size_t Index(StepId id) { return static_cast<size_t>(id.value()); }

bool IsFixed(const MemoryProgram& program, const Buffer& buffer) {
  if (buffer.begin.value() != 0 || Index(buffer.end) != program.steps.size()) return false;
  switch (buffer.category) {
    case Category::kParameters:
    case Category::kBuffers:
    case Category::kInputs:
    case Category::kOptimizerState: return true;
    default: return false;
  }
}

// Kept from step 1 to the steps after it. State that appears late in step 1 is fixed in all others.
bool Survives(const MemoryProgram& program, const Buffer& buffer) {
  return IsFixed(program, buffer) ||
         (buffer.category == Category::kOptimizerState && Index(buffer.end) == program.steps.size());
}

struct StepEvents {
  std::vector<BufferId> frees;
  std::vector<BufferId> allocs;
};

std::vector<StepEvents> EventsOf(const MemoryProgram& program) {
  std::vector<StepEvents> events(program.steps.size());
  for (BufferId id(0); program.buffers.contains(id); id = BufferId(id.value() + 1)) {
    const Buffer& buffer = program.buffers[id];
    if (IsFixed(program, buffer)) continue;
    events[Index(buffer.begin)].allocs.push_back(id);
    if (Index(buffer.end) < events.size()) events[Index(buffer.end)].frees.push_back(id);
  }
  return events;
}

using FixedKey = std::tuple<Category, std::string, int64_t>;
FixedKey KeyOf(const Buffer& buffer) { return {buffer.category, buffer.name, buffer.bytes}; }

// One address for every place: segments one behind the other, pool by pool. A segment reaches as far as its memory, or
// as far as blocks lay in it where it is address space without end.
std::vector<int64_t> AddressesOf(const std::vector<std::optional<BlockPlace>>& places) {
  constexpr int64_t kMostSegmentBytes = int64_t{1} << 50;
  std::map<std::pair<int, int64_t>, int64_t> extents, bases;
  for (const std::optional<BlockPlace>& place : places) {
    if (!place) continue;
    int64_t& extent = extents[{place->pool, place->segment}];
    extent = std::max(extent, place->segment_bytes <= kMostSegmentBytes ? place->segment_bytes
                                                                        : place->offset_bytes + place->bytes);
  }
  if (extents.empty()) return {};
  int64_t base = 0;
  for (const auto& [segment, bytes] : extents) {
    bases[segment] = base;
    base += bytes;
  }
  std::vector<int64_t> addresses;
  for (const std::optional<BlockPlace>& place : places) {
    addresses.push_back(place ? bases[{place->pool, place->segment}] + place->offset_bytes : -1);
  }
  return addresses;
}

class Replayer {
 public:
  Replayer(std::unique_ptr<Allocator> allocator, bool per_step, bool addresses)
      : allocator_(std::move(allocator)), per_step_(per_step), with_addresses_(addresses) {}

  // Runs the program once. False when memory ran out.
  bool RunOnce(const MemoryProgram& program) {
    if (program.steps.empty()) return true;
    const int64_t retries = allocator_->State().retries;
    ids_.assign(program.buffers.size(), kNone);
    usage_.steps.clear();
    places_.assign(with_addresses_ ? program.buffers.size() : 0, std::nullopt);
    moment_.step = StepId(0);
    if (!TakeFixed(program)) return false;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (ids_[i] != kNone) places_[i] = allocator_->PlaceOf(ids_[i]);
    }
    const std::vector<StepEvents> events = EventsOf(program);
    for (StepId step(0); program.steps.contains(step); step = StepId(step.value() + 1)) {
      moment_.step = step;
      for (BufferId id : events[Index(step)].frees) Free(program, id);
      for (BufferId id : events[Index(step)].allocs) {
        if (!Alloc(program, id, /*fixed=*/false)) return false;
      }
      if (per_step_) RecordStep();
    }
    FinishRun(program);
    usage_.last_retries = allocator_->State().retries - retries;
    ++moment_.repetition;
    return true;
  }

  AllocatorUsage TakeUsage() {
    const AllocatorState state = allocator_->State();
    usage_.device_allocations = state.device_allocations;
    usage_.retries = state.retries;
    usage_.touched_bytes = state.touched_bytes;
    usage_.addresses = AddressesOf(places_);
    return std::move(usage_);
  }

 private:
  static constexpr int64_t kNone = -1;

  // Gives the fixed buffers of `program` memory: that of an equal fixed buffer of the run before, else new memory.
  bool TakeFixed(const MemoryProgram& program) {
    std::multimap<FixedKey, int64_t> before = std::exchange(kept_, {});
    std::vector<BufferId> missing;
    for (BufferId id(0); program.buffers.contains(id); id = BufferId(id.value() + 1)) {
      if (!IsFixed(program, program.buffers[id])) continue;
      const auto entry = before.find(KeyOf(program.buffers[id]));
      if (entry == before.end()) {
        missing.push_back(id);
        continue;
      }
      ids_[static_cast<size_t>(id.value())] = entry->second;
      before.erase(entry);
    }
    for (const auto& [key, id] : before) {
      allocator_->Free(id);
      live_bytes_ -= std::get<2>(key);
    }
    for (BufferId id : missing) {
      if (!Alloc(program, id, /*fixed=*/true)) return false;
    }
    return true;
  }

  void FinishRun(const MemoryProgram& program) {
    for (BufferId id(0); program.buffers.contains(id); id = BufferId(id.value() + 1)) {
      const Buffer& buffer = program.buffers[id];
      if (Index(buffer.end) != program.steps.size()) continue;
      if (Survives(program, buffer)) {
        kept_.emplace(KeyOf(buffer), ids_[static_cast<size_t>(id.value())]);
      } else {
        Free(program, id);
      }
    }
  }

  bool Alloc(const MemoryProgram& program, BufferId id, bool fixed) {
    const Buffer& buffer = program.buffers[id];
    const int64_t allocation = next_allocation_++;
    const bool weights = buffer.category == Category::kParameters || buffer.category == Category::kBuffers;
    const bool done = fixed && weights ? allocator_->Reserve(allocation, buffer.bytes)
                                       : allocator_->Alloc(allocation, buffer.bytes);
    if (!done) {
      usage_.out_of_memory = OutOfMemory{moment_, id, allocator_->State()};
      return false;
    }
    ids_[static_cast<size_t>(id.value())] = allocation;
    if (with_addresses_) places_[static_cast<size_t>(id.value())] = allocator_->PlaceOf(allocation);
    live_bytes_ += buffer.bytes;
    RecordPeaks();
    return true;
  }

  void Free(const MemoryProgram& program, BufferId id) {
    allocator_->Free(std::exchange(ids_[static_cast<size_t>(id.value())], kNone));
    live_bytes_ -= program.buffers[id].bytes;
  }

  void RecordPeaks() {
    const AllocatorState state = allocator_->State();
    usage_.peak_live_bytes = std::max(usage_.peak_live_bytes, live_bytes_);
    if (state.allocated_bytes > usage_.peak_allocated_bytes) {
      usage_.peak_allocated_bytes = state.allocated_bytes;
      usage_.peak_allocated_at = moment_;
      usage_.unused_bytes = state.reserved_bytes - state.allocated_bytes;
      usage_.largest_unused_block_bytes = state.largest_free_bytes;
    }
    if (state.reserved_bytes > usage_.peak_reserved_bytes) {
      usage_.peak_reserved_bytes = state.reserved_bytes;
      usage_.peak_reserved_at = moment_;
    }
  }

  void RecordStep() {
    const AllocatorState state = allocator_->State();
    usage_.steps.push_back({live_bytes_, state.allocated_bytes, state.reserved_bytes});
  }

  std::unique_ptr<Allocator> allocator_;
  bool per_step_;
  bool with_addresses_;
  AllocatorUsage usage_;
  Moment moment_;
  std::vector<int64_t> ids_;  // allocation of each buffer of the program that runs
  std::vector<std::optional<BlockPlace>> places_;  // of each buffer of the program that runs
  std::multimap<FixedKey, int64_t> kept_;
  int64_t next_allocation_ = 0;
  int64_t live_bytes_ = 0;
};

}  // namespace

absl::StatusOr<AllocatorUsage> Replay(const MemoryProgram& program, const ReplayOptions& options) {
  ASSIGN_OR_RETURN(const AllocatorRow* row, FindAllocator(options.allocator));
  Replayer replayer(row->make(options.options), options.per_step, options.addresses);
  bool fits = options.first_step == nullptr || replayer.RunOnce(*options.first_step);
  for (int i = 0; fits && i < options.repetitions; ++i) fits = replayer.RunOnce(program);
  return replayer.TakeUsage();
}

}  // namespace onnx_mem
