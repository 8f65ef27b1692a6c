#include "analyzer/snapshot/peak.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

namespace onnx_mem {
namespace {

void Note(const UndoneHistory& history, SnapshotPeak& peak) {
  peak.reserved_bytes = std::max(peak.reserved_bytes, history.reserved_bytes());
  peak.allocated_bytes = std::max(peak.allocated_bytes, history.allocated_bytes());
  if (history.requested_bytes() <= peak.requested_bytes) return;
  peak.requested_bytes = history.requested_bytes();
  peak.event = history.event();
}

}  // namespace

int64_t InBlocks(int64_t bytes) { return (bytes + 511) / 512 * 512; }

UndoneHistory::UndoneHistory(const AllocatorSnapshot& snapshot) : snapshot_(&snapshot), event_(snapshot.events.size()) {
  for (const MemorySegment& segment : snapshot.segments) {
    segments_[segment.address] = segment.size;
    reserved_ = std::min(kMostDeviceBytes, reserved_ + segment.size);
    for (const MemoryBlock& block : segment.blocks) {
      if (block.used) Add(block.address, block.requested, block.stack);
    }
  }
  absl::flat_hash_map<int64_t, StackId> made_by;
  made_by_.resize(snapshot.events.size());
  for (size_t i = 0; i < snapshot.events.size(); ++i) {
    const MemoryEvent& event = snapshot.events[i];
    if (event.action == MemoryAction::kFreeRequested) freed_ = MemoryAction::kFreeRequested;
    if (event.action == MemoryAction::kAlloc) made_by[event.address] = event.stack;
    const auto made = made_by.find(event.address);
    if (made != made_by.end()) made_by_[i] = made->second;
  }
}

void UndoneHistory::Add(int64_t address, int64_t bytes, StackId stack) {
  Remove(address);
  if (requested_ > kMostDeviceBytes) return;
  live_[address] = {bytes, stack};
  requested_ += bytes;
  allocated_ += InBlocks(bytes);
}

void UndoneHistory::Remove(int64_t address) {
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  requested_ -= found->second.bytes;
  allocated_ -= InBlocks(found->second.bytes);
  live_.erase(found);
}

void UndoneHistory::Undo() {
  const MemoryEvent& event = snapshot_->events[--event_];
  if (event.action == MemoryAction::kAlloc) Remove(event.address);
  if (event.action == freed_) Add(event.address, event.bytes, made_by_[event_]);
  if (event.action == MemoryAction::kSegmentAlloc) {
    segments_.erase(event.address);
    reserved_ = std::max<int64_t>(0, reserved_ - event.bytes);
  }
  if (event.action == MemoryAction::kSegmentFree) {
    segments_[event.address] = event.bytes;
    reserved_ = std::min(kMostDeviceBytes, reserved_ + event.bytes);
  }
}

std::string WhereText(const AllocatorSnapshot& snapshot, StackId stack) {
  std::string innermost;
  for (FrameId id : snapshot.stacks[stack]) {
    const StackFrame& frame = snapshot.frames[id];
    if (frame.file.empty() && frame.name.empty()) continue;
    const std::string_view file = frame.file.substr(frame.file.rfind('/') + 1);
    const std::string shown = absl::StrFormat("%s:%d %s", file, frame.line, frame.name);
    if (innermost.empty()) innermost = shown;
    if (frame.file.ends_with(".py") && frame.file.find("/torch/") == std::string_view::npos) return shown;
  }
  return innermost;
}

SnapshotPeak PeakOf(const AllocatorSnapshot& snapshot) {
  SnapshotPeak peak;
  UndoneHistory history(snapshot);
  for (Note(history, peak); history.event() > 0; Note(history, peak)) history.Undo();
  // Once more, as far as the peak, to see who was there.
  UndoneHistory at_peak(snapshot);
  while (at_peak.event() > peak.event) at_peak.Undo();
  for (const auto& [address, live] : at_peak.live()) peak.blocks.push_back({live.bytes, live.stack});
  std::sort(peak.blocks.begin(), peak.blocks.end(), [](const PeakBlock& a, const PeakBlock& b) {
    return std::pair(b.bytes, a.stack) < std::pair(a.bytes, b.stack);
  });
  return peak;
}

}  // namespace onnx_mem
