// What torch.cuda.memory._dump_snapshot wrote, or our own -o x.pickle, as plain values: of the device that holds most.
// Nothing of the file is executed (pickle.h). Frames and stacks that are equal stand there once.
//
//   segments   what the allocator took from the card      blocks   how a segment is divided, used or free
//   events     what the allocator did, oldest first       stacks   who made it do so, innermost frame first
//
// The form: torch/csrc/cuda/memory_snapshot.cpp and the comment of torch.cuda.memory._snapshot. Events end at the
// moment of the snapshot; where the history was limited (max_entries) its beginning is missing.
#ifndef ONNX_MEM_ANALYZER_SNAPSHOT_SNAPSHOT_H_
#define ONNX_MEM_ANALYZER_SNAPSHOT_SNAPSHOT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_mem {

inline constexpr int64_t kMostDeviceBytes = int64_t{1} << 50;  // no device has more, and beyond it sums could overflow

struct StackFrame {
  std::string_view file;
  int64_t line = 0;
  std::string_view name;  // of the function
  friend bool operator==(const StackFrame&, const StackFrame&) = default;
};

using FrameId = uint32_t;
using StackId = uint32_t;  // 0: no stack was recorded

enum class MemoryAction : uint8_t {
  kOther,
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kSegmentAlloc,  // or mapped
  kSegmentFree,   // or unmapped
  kOom,
};

struct MemoryEvent {
  MemoryAction action = MemoryAction::kOther;
  StackId stack = 0;
  int64_t address = 0;
  int64_t bytes = 0;  // as requested
};

struct MemoryBlock {
  int64_t address = 0;
  int64_t size = 0;       // that it takes
  int64_t requested = 0;  // that a tensor needs
  bool used = false;      // by a tensor
  StackId stack = 0;
};

struct MemorySegment {
  int64_t address = 0;
  int64_t size = 0;
  std::vector<MemoryBlock> blocks;
};

struct AllocatorSnapshot {
  std::shared_ptr<const std::string> text;  // that frames are views of
  int64_t device = 0;
  std::vector<StackFrame> frames;
  std::vector<std::vector<FrameId>> stacks = {{}};
  std::vector<MemorySegment> segments;
  std::vector<MemoryEvent> events;
  std::string configuration;  // PYTORCH_ALLOC_CONF
  bool expandable = false;    // its segments are
};

// `path` is for messages. Error: bad-pickle.
absl::StatusOr<AllocatorSnapshot> ParseSnapshot(std::string text, const std::string& path);

// Errors also: those of ReadWholeFile.
absl::StatusOr<AllocatorSnapshot> ReadSnapshot(const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_SNAPSHOT_SNAPSHOT_H_
