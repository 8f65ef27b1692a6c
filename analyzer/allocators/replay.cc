#include "analyzer/allocators/replay.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/allocators/kept_buffers.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

// The buffers that something happens to at each step, those of one step in their order.
class ByStep {
 public:
  // `step_of` gives a buffer's step, or one past the last: nothing happens to it.
  template <class StepOf>
  ByStep(const ReplayScript& script, StepOf step_of) : begins_(script.num_steps() + 2, 0) {
    const auto place = [&](BufferId id) { return std::min(step_of(script[id]), script.num_steps()); };
    for (BufferId id(0); id < script.end(); id = BufferId(id.value() + 1)) ++begins_[place(id) + 1];
    for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    buffers_.resize(script.size());
    std::vector<uint32_t> next(begins_.begin(), begins_.end() - 1);
    for (BufferId id(0); id < script.end(); id = BufferId(id.value() + 1)) buffers_[next[place(id)]++] = id;
  }
  std::span<const BufferId> At(StepId step) const {
    const size_t begin = begins_[step.index()];
    return {buffers_.data() + begin, begins_[step.index() + 1] - begin};
  }

 private:
  std::vector<uint32_t> begins_;  // by step, of its part of buffers_
  std::vector<BufferId> buffers_;
};

struct Events {
  explicit Events(const ReplayScript& script)
      : frees(script, [&](const ReplayedLife& life) { return life.fixed ? script.num_steps() : life.end.index(); }),
        allocs(script, [&](const ReplayedLife& life) { return life.fixed ? script.num_steps() : life.begin.index(); }) {
  }

  ByStep frees;
  ByStep allocs;
};

// One address for every place: segments one behind the other, pool by pool. A segment reaches as far as its memory, or
// as far as blocks lay in it where it is address space without end.
std::vector<int64_t> AddressesOf(const std::vector<std::optional<BlockPlace>>& places) {
  constexpr int64_t kMostSegmentBytes = int64_t{1} << 50;
  std::map<std::pair<int, int64_t>, int64_t> extents, bases;
  for (const std::optional<BlockPlace>& place : places) {
    if (!place) continue;
    int64_t& extent = extents[{place->pool, place->segment}];
    extent = std::max(
        extent, place->segment_bytes <= kMostSegmentBytes ? place->segment_bytes : place->offset_bytes + place->bytes);
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
  bool RunOnce(const ReplayScript& script, const Events& events) {
    if (script.num_steps() == 0) return true;
    const int64_t retries = allocator_->State().retries;
    ids_.assign(script.size(), kNoAllocation);
    usage_.steps.clear();
    places_.assign(with_addresses_ ? script.size() : 0, std::nullopt);
    moment_.step = StepId(0);
    if (!TakeFixed(script)) return false;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (ids_[i] != kNoAllocation) places_[i] = allocator_->PlaceOf(ids_[i]);
    }
    const AllocatorState begin = allocator_->State();
    for (StepId step(0); step.index() < script.num_steps(); step = StepId(step.value() + 1)) {
      moment_.step = step;
      for (BufferId id : events.frees.At(step)) Free(script, id);
      for (BufferId id : events.allocs.At(step)) {
        if (!Alloc(script, id, /*fixed=*/false)) return false;
      }
      if (per_step_) RecordStep();
    }
    FinishRun(script);
    settled_ = kept_for_good_ && allocator_->State() == begin;
    usage_.last_retries = allocator_->State().retries - retries;
    ++moment_.repetition;
    return true;
  }

  // Whether the same program, run once more, would do what it just did. At its ends nothing lies in the allocator but
  // what is fixed, and free neighbours are one block: without a call to the device, all is as it was.
  bool settled() const { return settled_; }

  AllocatorUsage TakeUsage() {
    const AllocatorState state = allocator_->State();
    usage_.device_allocations = state.device_allocations;
    usage_.retries = state.retries;
    usage_.touched_bytes = state.touched_bytes;
    usage_.regions = allocator_->Regions();
    usage_.addresses = AddressesOf(places_);
    return std::move(usage_);
  }

 private:
  // Gives the fixed buffers of `program` memory: that of an equal fixed buffer of the run before, else new memory.
  bool TakeFixed(const ReplayScript& script) {
    RemainingBuffers before(std::exchange(kept_, {}));
    std::vector<BufferId> missing;
    for (BufferId id(0); id < script.end(); id = BufferId(id.value() + 1)) {
      if (!script[id].fixed) continue;
      const int64_t allocation = before.Take(KeyOf(script, script[id]));
      ids_[id.index()] = allocation;
      if (allocation == kNoAllocation) missing.push_back(id);
    }
    for (const KeptBuffer& one : before.Rest()) {
      FreeAllocation(one.allocation);
      live_bytes_ -= one.key.bytes;
    }
    for (BufferId id : missing) {
      if (!Alloc(script, id, /*fixed=*/true)) return false;
    }
    return true;
  }

  void FinishRun(const ReplayScript& script) {
    kept_for_good_ = true;
    for (BufferId id(0); id < script.end(); id = BufferId(id.value() + 1)) {
      const ReplayedLife& life = script[id];
      if (life.end.index() != script.num_steps()) continue;
      if (life.survives) {
        kept_.push_back({KeyOf(script, life), ids_[id.index()]});
        kept_for_good_ = kept_for_good_ && life.fixed;
      } else {
        Free(script, id);
      }
    }
  }

  bool Alloc(const ReplayScript& script, BufferId id, bool fixed) {
    const ReplayedLife& life = script[id];
    const int64_t allocation = NewAllocation();
    const bool weights = life.category == Category::kParameters || life.category == Category::kBuffers;
    const bool done =
        fixed && weights ? allocator_->Reserve(allocation, life.bytes) : allocator_->Alloc(allocation, life.bytes);
    if (!done) {
      usage_.out_of_memory = OutOfMemory{moment_, id, allocator_->State()};
      return false;
    }
    ids_[id.index()] = allocation;
    if (with_addresses_) places_[id.index()] = allocator_->PlaceOf(allocation);
    live_bytes_ += life.bytes;
    RecordPeaks();
    return true;
  }

  // A number that no allocation has now, the one last given up first: what is kept of it is still at hand.
  int64_t NewAllocation() {
    if (unused_.empty()) return next_allocation_++;
    const int64_t allocation = unused_.back();
    unused_.pop_back();
    return allocation;
  }

  void FreeAllocation(int64_t allocation) {
    allocator_->Free(allocation);
    unused_.push_back(allocation);
  }

  void Free(const ReplayScript& script, BufferId id) {
    FreeAllocation(std::exchange(ids_[id.index()], kNoAllocation));
    live_bytes_ -= script[id].bytes;
  }

  void RecordPeaks() {
    const AllocatorState state = allocator_->State();
    usage_.peak_live_bytes = std::max(usage_.peak_live_bytes, live_bytes_);
    usage_.peak_allocated_bytes = std::max(usage_.peak_allocated_bytes, state.allocated_bytes);
    usage_.peak_reserved_bytes = std::max(usage_.peak_reserved_bytes, state.reserved_bytes);
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
  std::vector<int64_t> ids_;                       // allocation of each buffer of the program that runs
  std::vector<std::optional<BlockPlace>> places_;  // of each buffer of the program that runs
  std::vector<KeptBuffer> kept_;                   // what stays alive between runs
  bool kept_for_good_ = false;                     // the next run of the same program begins with all of it
  bool settled_ = false;
  int64_t next_allocation_ = 0;
  std::vector<int64_t> unused_;  // numbers below it that no allocation has
  int64_t live_bytes_ = 0;
};

}  // namespace

absl::StatusOr<AllocatorUsage> Replay(std::span<const ReplayScript* const> runs, const ReplayOptions& options) {
  ASSIGN_OR_RETURN(const AllocatorRow* row, FindAllocator(options.allocator));
  Replayer replayer(row->make(options.options), options.per_step, options.addresses);
  std::map<const ReplayScript*, Events> events;
  bool fits = true;
  const auto run = [&](const ReplayScript* script) {
    fits = fits && replayer.RunOnce(*script, events.try_emplace(script, *script).first->second);
  };
  for (const ReplayScript* script : runs) run(script);
  for (int i = 1; i < options.repetitions && fits && !replayer.settled(); ++i) run(runs.back());
  return replayer.TakeUsage();
}

absl::StatusOr<AllocatorUsage> Replay(const MemoryProgram& program, const ReplayOptions& options) {
  const ReplayScript script(program);
  return Replay(std::to_array({&script}), options);
}

}  // namespace onnx_mem
