#include "analyzer/snapshot/snapshot.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/whole_file.h"
#include "analyzer/snapshot/pickle.h"

namespace onnx_mem {
namespace {

using ValueId = PickledValues::Id;
using Kind = PickledValues::Kind;

constexpr int64_t kLastAddress = int64_t{1} << 62;   // the same for places
constexpr int64_t kMostSnapshot = int64_t{4} << 30;  // real ones have 10 to 500 MB
constexpr size_t kDeepest = 1000;                    // frames of a stack: Python's own limit of recursion

struct ActionRow {
  std::string_view name;
  MemoryAction action;
};
constexpr auto kActions = std::to_array<ActionRow>({
    {"alloc", MemoryAction::kAlloc},
    {"free_requested", MemoryAction::kFreeRequested},
    {"free_completed", MemoryAction::kFreeCompleted},
    {"segment_alloc", MemoryAction::kSegmentAlloc},
    {"segment_map", MemoryAction::kSegmentAlloc},
    {"segment_free", MemoryAction::kSegmentFree},
    {"segment_unmap", MemoryAction::kSegmentFree},
    {"oom", MemoryAction::kOom},
});

MemoryAction ActionNamed(std::string_view name) {
  for (const ActionRow& row : kActions) {
    if (row.name == name) return row.action;
  }
  return MemoryAction::kOther;
}

// Values of one pickle -> an AllocatorSnapshot.
class SnapshotReader {
 public:
  SnapshotReader(const PickledValues& values, AllocatorSnapshot& snapshot) : values_(values), into_(snapshot) {
    stacks_by_frames_.emplace(std::vector<FrameId>(), 0);
  }

  void Read() {
    for (ValueId segment : values_.ItemsOf(values_.At(values_.root(), "segments"))) {
      if (values_.IntOf(values_.At(segment, "device")) == into_.device) ReadSegment(segment);
    }
    const std::vector<ValueId>& traces = values_.ItemsOf(values_.At(values_.root(), "device_traces"));
    if (static_cast<size_t>(into_.device) < traces.size()) {
      const std::vector<ValueId>& events = values_.ItemsOf(traces[static_cast<size_t>(into_.device)]);
      into_.events.reserve(events.size());
      for (ValueId event : events) ReadEvent(event);
    }
    const ValueId settings = values_.At(values_.root(), "allocator_settings");
    for (std::string_view key : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
      if (into_.configuration.empty()) into_.configuration = values_.TextOf(values_.At(settings, key));
    }
    if (values_.IntOf(values_.At(settings, "expandable_segments")) != 0) into_.expandable = true;
  }

 private:
  int64_t SizeAt(ValueId dict, std::string_view key) const {
    return std::clamp<int64_t>(values_.IntOf(values_.At(dict, key)), 0, kMostDeviceBytes);
  }

  int64_t AddressAt(ValueId dict, std::string_view key, int64_t fallback = 0) const {
    return std::clamp<int64_t>(values_.IntOf(values_.At(dict, key), fallback), 0, kLastAddress);
  }

  FrameId FrameOf(ValueId value) {
    const auto [known, added] = frames_by_value_.try_emplace(value, 0);
    if (!added) return known->second;
    const StackFrame frame{values_.TextOf(values_.At(value, "filename")), values_.IntOf(values_.At(value, "line")),
                           values_.TextOf(values_.At(value, "name"))};
    const auto [same, fresh] =
        frames_.try_emplace({frame.file, frame.line, frame.name}, static_cast<FrameId>(into_.frames.size()));
    if (fresh) into_.frames.push_back(frame);
    return known->second = same->second;
  }

  StackId StackOf(ValueId owner) {
    const ValueId list = values_.At(owner, "frames");
    const auto [known, added] = stacks_by_value_.try_emplace(list, 0);
    if (!added) return known->second;
    std::vector<FrameId> frames;
    for (ValueId frame : values_.ItemsOf(list)) {
      if (frames.size() == kDeepest) break;
      if (values_.KindOf(frame) == Kind::kDict) frames.push_back(FrameOf(frame));
    }
    const auto [same, fresh] =
        stacks_by_frames_.try_emplace(std::move(frames), static_cast<StackId>(into_.stacks.size()));
    if (fresh) into_.stacks.push_back(same->first);
    return known->second = same->second;
  }

  void ReadSegment(ValueId value) {
    MemorySegment segment;
    segment.address = AddressAt(value, "address");
    segment.size = SizeAt(value, "total_size");
    if (values_.IntOf(values_.At(value, "is_expandable")) != 0) into_.expandable = true;
    int64_t address = segment.address;
    for (ValueId item : values_.ItemsOf(values_.At(value, "blocks"))) {
      MemoryBlock block;
      block.size = SizeAt(item, "size");
      block.address = AddressAt(item, "address", address);
      block.used = values_.TextOf(values_.At(item, "state")) == "active_allocated";
      const ValueId requested = values_.At(item, "requested_size");
      block.requested = values_.KindOf(requested) == Kind::kInt ? SizeAt(item, "requested_size") : block.size;
      block.stack = StackOf(item);
      address = std::min(kLastAddress, block.address + block.size);
      segment.blocks.push_back(block);
    }
    into_.segments.push_back(std::move(segment));
  }

  void ReadEvent(ValueId value) {
    MemoryEvent event;
    event.action = ActionNamed(values_.TextOf(values_.At(value, "action")));
    event.address = AddressAt(value, "addr");
    event.bytes = SizeAt(value, "size");
    event.stack = StackOf(value);
    into_.events.push_back(event);
  }

  const PickledValues& values_;
  AllocatorSnapshot& into_;
  absl::flat_hash_map<ValueId, FrameId> frames_by_value_;
  absl::flat_hash_map<ValueId, StackId> stacks_by_value_;
  absl::flat_hash_map<std::tuple<std::string_view, int64_t, std::string_view>, FrameId> frames_;
  absl::flat_hash_map<std::vector<FrameId>, StackId> stacks_by_frames_;
};

// The device of most memory; a trace alone counts too.
std::map<int64_t, int64_t> ReservedByDevice(const PickledValues& values) {
  std::map<int64_t, int64_t> reserved;
  for (ValueId segment : values.ItemsOf(values.At(values.root(), "segments"))) {
    int64_t& sum = reserved[values.IntOf(values.At(segment, "device"))];
    const int64_t size = std::clamp<int64_t>(values.IntOf(values.At(segment, "total_size")), 0, kMostDeviceBytes);
    sum = std::min(kMostDeviceBytes, sum + size);
  }
  const std::vector<ValueId>& traces = values.ItemsOf(values.At(values.root(), "device_traces"));
  for (size_t i = 0; i < traces.size(); ++i) {
    if (!values.ItemsOf(traces[i]).empty()) reserved.try_emplace(static_cast<int64_t>(i), 0);
  }
  return reserved;
}

}  // namespace

absl::StatusOr<AllocatorSnapshot> ParseSnapshot(std::string text, const std::string& path) {
  AllocatorSnapshot snapshot;
  snapshot.text = std::make_shared<const std::string>(std::move(text));
  ASSIGN_OR_RETURN(const PickledValues values, ReadPickle(*snapshot.text, path));
  const ValueId segments = values.At(values.root(), "segments"), traces = values.At(values.root(), "device_traces");
  if (values.KindOf(segments) != Kind::kList || values.KindOf(traces) != Kind::kList) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadPickle,
                       absl::StrFormat("'%s' is no snapshot of PyTorch's allocator: no segments and traces", path),
                       {"way out: torch.cuda.memory._record_memory_history(), a step, then "
                        "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")"});
  }
  const std::map<int64_t, int64_t> reserved = ReservedByDevice(values);
  if (reserved.empty()) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadPickle,
                       absl::StrFormat("'%s' holds no allocation: nothing was recorded", path),
                       {"try: torch.cuda.memory._record_memory_history()   # before the step"});
  }
  snapshot.device = std::max_element(reserved.begin(), reserved.end(), [](const auto& a, const auto& b) {
                      return a.second < b.second;
                    })->first;
  SnapshotReader(values, snapshot).Read();
  return snapshot;
}

absl::StatusOr<AllocatorSnapshot> ReadSnapshot(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, ReadWholeFile(path, kMostSnapshot));
  return ParseSnapshot(std::move(text), path);
}

}  // namespace onnx_mem
