#include "analyzer/memory/timeline.h"

#include <algorithm>

#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
Timeline ComputeTimeline(const MemoryProgram& program) {
  Timeline timeline;
  if (program.steps.empty()) return timeline;
  std::vector<int64_t> change(program.steps.size() + 1, 0);
  for (const Buffer& buffer : program.buffers) {
    change[buffer.begin.index()] += buffer.bytes;
    change[buffer.end.index()] -= buffer.bytes;
  }
  timeline.live_bytes.resize(program.steps.size());
  int64_t live = 0;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    live += change[i];
    timeline.live_bytes[i] = live;
  }
  const auto peak = std::max_element(timeline.live_bytes.begin(), timeline.live_bytes.end());
  timeline.peak_step = StepId(static_cast<int32_t>(peak - timeline.live_bytes.begin()));
  timeline.peak_bytes = *peak;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.begin <= timeline.peak_step && timeline.peak_step < buffer.end) {
      timeline.at_peak[static_cast<size_t>(buffer.category)] += buffer.bytes;
    }
  }
  return timeline;
}

std::vector<BufferId> LiveAt(const MemoryProgram& program, StepId step) {
  std::vector<BufferId> live;
  for (BufferId id(0); program.buffers.contains(id); id = BufferId(id.value() + 1)) {
    const Buffer& buffer = program.buffers[id];
    if (buffer.begin <= step && step < buffer.end) live.push_back(id);
  }
  StableSort(live, [&](BufferId a, BufferId b) { return program.buffers[a].bytes > program.buffers[b].bytes; });
  return live;
}

std::vector<BytesByCategory> BytesPerStep(const MemoryProgram& program) {
  std::vector<BytesByCategory> bytes(program.steps.size() + 1, BytesByCategory{});
  for (const Buffer& buffer : program.buffers) {
    const auto category = static_cast<size_t>(buffer.category);
    bytes[buffer.begin.index()][category] += buffer.bytes;
    bytes[buffer.end.index()][category] -= buffer.bytes;
  }
  for (size_t i = 1; i < bytes.size(); ++i) {
    for (size_t c = 0; c < kNumCategories; ++c) bytes[i][c] += bytes[i - 1][c];
  }
  bytes.pop_back();
  return bytes;
}

}  // namespace onnx_mem
