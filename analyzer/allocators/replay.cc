#include "analyzer/allocators/replay.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

size_t Index(StepId id) { return static_cast<size_t>(id.value()); }

// A program with more buffers behind its own.
struct Played {
  const MemoryProgram& program;
  std::span<const Buffer> more;

  size_t steps() const { return program.steps.size(); }
  size_t size() const { return program.buffers.size() + more.size(); }
  BufferId end() const { return BufferId(static_cast<int32_t>(size())); }
  const Buffer& operator[](BufferId id) const {
    return program.buffers.contains(id) ? program.buffers[id]
                                        : more[static_cast<size_t>(id.value()) - program.buffers.size()];
  }
};

bool IsFixed(const Played& played, const Buffer& buffer) {
  if (buffer.begin.value() != 0 || Index(buffer.end) != played.steps()) return false;
  switch (buffer.category) {
    case Category::kParameters:
    case Category::kBuffers:
    case Category::kInputs:
    case Category::kOptimizerState: return true;
    default: return false;
  }
}

// Kept from step 1 to the steps after it. State that appears late in step 1 is fixed in all others.
bool Survives(const Played& played, const Buffer& buffer) {
  return IsFixed(played, buffer) ||
         (buffer.category == Category::kOptimizerState && Index(buffer.end) == played.steps());
}

// The buffers that something happens to at each step, those of one step in their order.
class ByStep {
 public:
  // `step_of` gives a buffer's step, or one past the last: nothing happens to it.
  template <class StepOf>
  ByStep(const Played& played, StepOf step_of) : begins_(played.steps() + 2, 0) {
    const auto place = [&](BufferId id) { return std::min(step_of(played[id]), played.steps()); };
    for (BufferId id(0); id < played.end(); id = BufferId(id.value() + 1)) ++begins_[place(id) + 1];
    for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    buffers_.resize(played.size());
    std::vector<size_t> next(begins_.begin(), begins_.end() - 1);
    for (BufferId id(0); id < played.end(); id = BufferId(id.value() + 1)) buffers_[next[place(id)]++] = id;
  }
  std::span<const BufferId> At(StepId step) const {
    const size_t begin = begins_[Index(step)];
    return {buffers_.data() + begin, begins_[Index(step) + 1] - begin};
  }

 private:
  std::vector<size_t> begins_;  // by step, of its part of buffers_
  std::vector<BufferId> buffers_;
};

struct Events {
  explicit Events(const Played& played)
      : frees(played, [&](const Buffer& b) { return IsFixed(played, b) ? played.steps() : Index(b.end); }),
        allocs(played, [&](const Buffer& b) { return IsFixed(played, b) ? played.steps() : Index(b.begin); }) {}

  ByStep frees;
  ByStep allocs;
};

// By what a buffer of one run is known in the next; refers to the program that it is of.
using FixedKey = std::tuple<Category, std::string_view, int64_t>;
FixedKey KeyOf(const Buffer& buffer) { return {buffer.category, buffer.name, buffer.bytes}; }

constexpr int64_t kNone = -1;

struct Kept {
  FixedKey key;
  int64_t allocation = kNone;
};

// What stayed alive of one run, to be found by the next: of equal ones the first. The next run mostly asks in the same
// order.
class Remaining {
 public:
  explicit Remaining(std::vector<Kept> kept) : kept_(std::move(kept)) {}

  int64_t Take(const FixedKey& key) {
    while (next_ < kept_.size() && kept_[next_].allocation == kNone) ++next_;
    if (next_ < kept_.size() && kept_[next_].key == key) return std::exchange(kept_[next_++].allocation, kNone);
    if (places_.empty()) {
      for (size_t i = kept_.size(); i-- > next_;) places_[kept_[i].key].push_back(i);
    }
    const auto found = places_.find(key);
    if (found == places_.end()) return kNone;
    while (!found->second.empty()) {
      const size_t place = found->second.back();
      found->second.pop_back();
      if (kept_[place].allocation != kNone) return std::exchange(kept_[place].allocation, kNone);
    }
    return kNone;
  }

  // What nobody took, by key.
  std::vector<Kept> Rest() {
    std::erase_if(kept_, [](const Kept& one) { return one.allocation == kNone; });
    std::stable_sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.key < b.key; });
    return std::move(kept_);
  }

 private:
  std::vector<Kept> kept_;
  size_t next_ = 0;  // all before it are taken
  absl::flat_hash_map<FixedKey, std::vector<size_t>> places_;  // by key, last first; filled when first needed
};

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
  bool RunOnce(const Played& played) {
    if (played.steps() == 0) return true;
    const int64_t retries = allocator_->State().retries;
    ids_.assign(played.size(), kNone);
    usage_.steps.clear();
    places_.assign(with_addresses_ ? played.size() : 0, std::nullopt);
    moment_.step = StepId(0);
    if (!TakeFixed(played)) return false;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (ids_[i] != kNone) places_[i] = allocator_->PlaceOf(ids_[i]);
    }
    const AllocatorState begin = allocator_->State();
    const Events events(played);
    for (StepId step(0); played.program.steps.contains(step); step = StepId(step.value() + 1)) {
      moment_.step = step;
      for (BufferId id : events.frees.At(step)) Free(played, id);
      for (BufferId id : events.allocs.At(step)) {
        if (!Alloc(played, id, /*fixed=*/false)) return false;
      }
      if (per_step_) RecordStep();
    }
    FinishRun(played);
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
    usage_.addresses = AddressesOf(places_);
    return std::move(usage_);
  }

 private:
  // Gives the fixed buffers of `program` memory: that of an equal fixed buffer of the run before, else new memory.
  bool TakeFixed(const Played& played) {
    Remaining before(std::exchange(kept_, {}));
    std::vector<BufferId> missing;
    for (BufferId id(0); id < played.end(); id = BufferId(id.value() + 1)) {
      if (!IsFixed(played, played[id])) continue;
      const int64_t allocation = before.Take(KeyOf(played[id]));
      ids_[static_cast<size_t>(id.value())] = allocation;
      if (allocation == kNone) missing.push_back(id);
    }
    for (const Kept& one : before.Rest()) {
      allocator_->Free(one.allocation);
      live_bytes_ -= std::get<2>(one.key);
    }
    for (BufferId id : missing) {
      if (!Alloc(played, id, /*fixed=*/true)) return false;
    }
    return true;
  }

  void FinishRun(const Played& played) {
    kept_for_good_ = true;
    for (BufferId id(0); id < played.end(); id = BufferId(id.value() + 1)) {
      const Buffer& buffer = played[id];
      if (Index(buffer.end) != played.steps()) continue;
      if (Survives(played, buffer)) {
        kept_.push_back({KeyOf(buffer), ids_[static_cast<size_t>(id.value())]});
        kept_for_good_ = kept_for_good_ && IsFixed(played, buffer);
      } else {
        Free(played, id);
      }
    }
  }

  bool Alloc(const Played& played, BufferId id, bool fixed) {
    const Buffer& buffer = played[id];
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

  void Free(const Played& played, BufferId id) {
    allocator_->Free(std::exchange(ids_[static_cast<size_t>(id.value())], kNone));
    live_bytes_ -= played[id].bytes;
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
  std::vector<Kept> kept_;      // what stays alive between runs
  bool kept_for_good_ = false;  // the next run of the same program begins with all of it
  bool settled_ = false;
  int64_t next_allocation_ = 0;
  int64_t live_bytes_ = 0;
};

}  // namespace

absl::StatusOr<AllocatorUsage> Replay(const MemoryProgram& program, const ReplayOptions& options) {
  ASSIGN_OR_RETURN(const AllocatorRow* row, FindAllocator(options.allocator));
  Replayer replayer(row->make(options.options), options.per_step, options.addresses);
  bool fits = options.first_step == nullptr || replayer.RunOnce({*options.first_step, options.first_more});
  for (int i = 0; fits && i < options.repetitions && (i == 0 || !replayer.settled()); ++i) {
    fits = replayer.RunOnce({program, options.more});
  }
  return replayer.TakeUsage();
}

}  // namespace onnx_mem
