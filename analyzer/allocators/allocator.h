// What real allocators make of a run: they round sizes up, cut blocks out of segments, and keep freed segments.
// An Allocator answers an explicit sequence of calls; Replay (replay.h) makes that sequence from a MemoryProgram.
//
//   auto allocator = (*FindAllocator("pytorch"))->make({});
//   allocator->Alloc(1, 6 << 20);      // State(): 6 MiB allocated, 20 MiB reserved
//   allocator->Free(1);                //          0 MiB allocated, 20 MiB reserved
//   allocator->EmptyCache();           //          0 MiB allocated,  0 MiB reserved
//
// Always: bytes requested and not yet freed <= allocated <= reserved <= capacity.
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_ALLOCATOR_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_ALLOCATOR_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_mem {

struct AllocatorState {
  int64_t allocated_bytes = 0;     // blocks in use, with rounding
  int64_t reserved_bytes = 0;      // taken from the device
  int64_t largest_free_bytes = 0;  // largest block that is reserved but not in use
  int64_t device_allocations = 0;  // calls to cudaMalloc (for expandable segments: mappings) that succeeded
  int64_t retries = 0;             // times that everything cached was given back before trying again
  int64_t touched_bytes = 0;       // of the reserved ones, in pages ever handed out: resident on the CPU; arena only
  friend bool operator==(const AllocatorState&, const AllocatorState&) = default;
};

// Where an allocation lies: for pictures. An allocator that keeps no addresses has none.
struct BlockPlace {
  int pool = 0;
  int64_t segment = 0;        // in its pool; a larger one was made later
  int64_t offset_bytes = 0;   // from the start of the segment
  int64_t bytes = 0;          // of the block, with rounding
  int64_t segment_bytes = 0;  // may be address space without memory behind it
};

// A region that an arena took from the system, and how much of it was ever handed out.
struct RegionUse {
  int64_t bytes = 0;
  int64_t touched_bytes = 0;
};

class Allocator {
 public:
  virtual ~Allocator() = default;

  // `id` must not be in use, and is best small: tables are as long as the largest. 0 bytes take no memory. False when
  // the device has no more to give: nothing is allocated then, though what was cached may have been given back on the
  // way.
  virtual bool Alloc(int64_t id, int64_t bytes) = 0;
  // The same for memory that is never given back (weights): an arena takes it straight from the device.
  virtual bool Reserve(int64_t id, int64_t bytes) { return Alloc(id, bytes); }
  // `id` must be in use.
  virtual void Free(int64_t id) = 0;
  // Gives back what can be given back (torch.cuda.empty_cache, the arena's Shrink).
  virtual void EmptyCache() = 0;
  virtual AllocatorState State() const = 0;
  // nullopt: 0 bytes, memory beside the arena, or no addresses at all.
  virtual std::optional<BlockPlace> PlaceOf(int64_t) const { return std::nullopt; }
  // Of an arena, in the order in which they were taken.
  virtual std::vector<RegionUse> Regions() const { return {}; }
};

// PYTORCH_ALLOC_CONF; see cuda_allocator.h for the rules.
struct CudaAllocatorOptions {
  // Steps between two powers of two that sizes are rounded up to, by the power of two below the size: 1 MiB (and
  // less), 2 MiB, ..., 32 GiB (and more). 0 and 1: round to 512 bytes.
  std::array<int64_t, 16> roundup_power2_divisions = {};
  std::optional<int64_t> max_split_size_bytes;               // larger blocks are not split; nullopt: all may be
  int64_t max_non_split_rounding_bytes = int64_t{20} << 20;  // how much larger than requested an unsplit block may be
  int64_t large_segment_bytes = int64_t{20} << 20;           // segments for sizes from 1 to 10 MiB
};

// OrtArenaCfg; see bfc_arena.cc for the rules.
struct ArenaOptions {
  enum class Extend { kNextPowerOfTwo, kSameAsRequested };
  Extend extend = Extend::kNextPowerOfTwo;
  int64_t initial_chunk_bytes = int64_t{1} << 20;
  int64_t initial_growth_chunk_bytes = int64_t{2} << 20;  // after a Shrink
  int64_t max_dead_bytes_per_chunk = int64_t{128} << 20;
  int64_t max_power_of_two_extend_bytes = int64_t{1} << 30;
  bool later_below = false;  // regions of Linux's mmap, which come from the top down; the arena prefers low addresses
  std::optional<int64_t> memory_limit_bytes;  // gpu_mem_limit: the arena never takes more, though the device has it
};

struct AllocatorOptions {
  std::optional<int64_t> capacity_bytes = {};  // what the device can give; nullopt: without end
  CudaAllocatorOptions cuda = {};
  ArenaOptions arena = {};
};

// A framework asks as it runs, a session as it planned before; figures of one in the other's allocator are nobody's.
enum class Client : uint8_t { kFramework, kSession };

struct AllocatorRow {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<Allocator> (*make)(const AllocatorOptions& options);
  Client client = Client::kFramework;
  std::string_view also = {};     // what others call it, separated by spaces
  std::string_view setting = {};  // of PYTORCH_ALLOC_CONF, for PyTorch to hand out memory so; "": none
  // How much larger than a request of more than 1 MiB a cached block may be that is handed out whole, and counts whole.
  int64_t uncut_bytes = 0;
};

// What a process's environment has to say, {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}; empty: nothing.
using Settings = std::map<std::string, std::string>;

// What PyTorch needs in `variable` (AllocatorVariable of its version) to hand out memory as that allocator does.
Settings SettingsOf(std::string_view allocator, std::string_view variable = "PYTORCH_ALLOC_CONF");

// The framework's allocator that needs these settings, which are not empty; nullopt: none does.
std::optional<std::string> AllocatorWith(const Settings& settings);

// "PYTORCH_ALLOC_CONF=expandable_segments:True", as a shell takes it before a command.
std::string TextOf(const Settings& settings);

// All allocators, sorted by name.
std::span<const AllocatorRow> Allocators();

// Error (usage) lists the known names.
absl::StatusOr<const AllocatorRow*> FindAllocator(std::string_view name);

// What makes each: MakeExactAllocator(options) and so on.
#define ROW(make, name, description, client, also, setting, uncut) \
  std::unique_ptr<Allocator> make(const AllocatorOptions& options);
#include "analyzer/allocators/allocator_table.inc"
#undef ROW

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_ALLOCATOR_H_
