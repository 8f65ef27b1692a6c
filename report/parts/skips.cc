#include "report/parts/skips.h"

#include <algorithm>
#include <string>

#include "analyzer/memory/timeline.h"
#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

constexpr int64_t kLongShare = 10;  // of the steps, one in so many
constexpr int64_t kLeastSteps = 4;
constexpr int64_t kEdgeSteps = 2;  // at either end, in which it is made and used

bool IsActivation(const Buffer& buffer) {
  return buffer.category == Category::kTransientActivations || buffer.category == Category::kSavedActivations;
}

int64_t PeakOf(const std::vector<int64_t>& live_bytes) {
  return live_bytes.empty() ? 0 : *std::max_element(live_bytes.begin(), live_bytes.end());
}

// The peak if `buffer` were away between the first and the last steps of its life.
int64_t PeakWithout(std::vector<int64_t> live_bytes, const Buffer& buffer) {
  for (int64_t step = buffer.begin.value() + kEdgeSteps; step < buffer.end.value() - kEdgeSteps; ++step) {
    live_bytes[static_cast<size_t>(step)] -= buffer.bytes;
  }
  return PeakOf(live_bytes);
}

}  // namespace

std::vector<Skip> FindSkips(const MemoryProgram& program) {
  const auto steps = static_cast<int64_t>(program.steps.size());
  const std::vector<int64_t> live_bytes = ComputeTimeline(program).live_bytes;
  const int64_t peak = PeakOf(live_bytes);
  std::vector<Skip> skips;
  for (BufferId id(0); program.buffers.contains(id); id = BufferId(id.value() + 1)) {
    const Buffer& buffer = program.buffers[id];
    const int64_t held = buffer.end.value() - buffer.begin.value();
    // What lives to the end is an output.
    const bool ends = buffer.end.index() < program.steps.size();
    if (!IsActivation(buffer) || !ends) continue;
    if (held < kLeastSteps + 2 * kEdgeSteps || held < steps / kLongShare) continue;
    skips.push_back({id, buffer.bytes, held, peak - PeakWithout(live_bytes, buffer)});
  }
  StableSort(skips, [](const Skip& a, const Skip& b) { return a.bytes > b.bytes; });
  return skips;
}

Table SkipTable(const MemoryProgram& program) {
  Table table{"skips",
              "Held long in inference (skip connections, arguments of calls)",
              {{"name", "tensor"},
               {"module", "module"},
               {"bytes", "bytes", ColumnKind::kBytes},
               {"held_steps", "held for steps", ColumnKind::kStep},
               {"steps", "of", ColumnKind::kStep},
               {"saves_bytes", "peak less", ColumnKind::kBytes}},
              {},
              2};
  table.has_total = false;
  for (const Skip& skip : FindSkips(program)) {
    const Buffer& buffer = program.buffers[skip.buffer];
    table.rows.push_back({buffer.name.str(), buffer.module.str(), skip.bytes, skip.held_steps,
                          static_cast<int64_t>(program.steps.size()), skip.saves_bytes});
  }
  return table;
}

}  // namespace onnx_mem
