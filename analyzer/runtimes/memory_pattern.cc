#include "analyzer/runtimes/memory_pattern.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analyzer/allocators/rounding.h"

namespace onnx_mem {
namespace {

constexpr int64_t kAlignmentBytes = 256;

struct Placed {
  BufferId id;
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t end() const { return offset + bytes; }
};

// Blocks alive, by rising offset.
void Place(BufferId id, int64_t bytes, std::vector<Placed>& alive, int64_t& height) {
  int64_t offset = alive.empty() ? 0 : alive.back().end();
  size_t at = alive.size();
  std::optional<int64_t> least_waste;
  int64_t top = 0;
  for (size_t i = 0; i < alive.size(); ++i) {
    const int64_t gap = alive[i].offset - top;
    if (gap >= bytes && (!least_waste || gap - bytes < *least_waste)) {
      least_waste = gap - bytes;
      offset = top;
      at = i;
    }
    top = alive[i].end();
  }
  if (const int64_t rest = height - top; rest >= bytes && least_waste && rest - bytes < *least_waste) {
    offset = top;
    at = alive.size();
  }
  height = std::max(height, offset + bytes);
  alive.insert(alive.begin() + static_cast<std::ptrdiff_t>(at), {id, offset, bytes});
}

bool LivesThroughout(const MemoryProgram& program, const Buffer& buffer) {
  return buffer.begin.value() == 0 && buffer.end.index() == program.steps.size();
}

}  // namespace

bool IsTracedBySessions(const Buffer& buffer) {
  return buffer.category == Category::kTransientActivations && buffer.kept_by.empty();
}

MemoryPattern TracePattern(const MemoryProgram& program, const std::function<bool(const Buffer&)>& is_traced) {
  MemoryPattern pattern;
  pattern.program.steps = program.steps;
  std::vector<std::vector<BufferId>> begins(program.steps.size());
  for (BufferId id(0); program.buffers.contains(id); id = BufferId(id.value() + 1)) {
    const Buffer& buffer = program.buffers[id];
    if (is_traced(buffer) && !LivesThroughout(program, buffer)) {
      begins[buffer.begin.index()].push_back(id);
    } else {
      pattern.program.buffers.Add(buffer);
    }
  }
  std::vector<Placed> alive;
  for (size_t step = 0; step < begins.size(); ++step) {
    std::erase_if(alive, [&](const Placed& placed) { return program.buffers[placed.id].end.index() <= step; });
    for (BufferId id : begins[step])
      Place(id, RoundUp(program.buffers[id].bytes, kAlignmentBytes), alive, pattern.block_bytes);
  }
  if (pattern.block_bytes > 0) {
    Buffer block;
    block.name = "activations at planned offsets";
    block.category = Category::kTransientActivations;
    block.bytes = pattern.block_bytes;
    block.begin = StepId(0);
    block.end = StepId(static_cast<int>(program.steps.size()));
    pattern.program.buffers.Add(std::move(block));
  }
  return pattern;
}

}  // namespace onnx_mem
