#include "planner/calls/skipped_calls.h"

#include <algorithm>

#include "analyzer/analysis/segments.h"
#include "analyzer/run/second_run.h"

namespace onnx_mem {

void NameSkipped(const FrameworkGraph& graph, const RegionCalls& calls, ModulePlan& plan) {
  const auto open = [](const PlannedSegment& planned) {
    const bool holds = !planned.segment.keep_calls.empty() || planned.segment.moves_some();
    return holds && planned.segment.skip.empty();
  };
  if (std::none_of(plan.segments.begin(), plan.segments.end(), open)) return;
  const ModuleNodes modules(graph);
  for (PlannedSegment& planned : plan.segments) {
    if (!open(planned)) continue;
    const auto ranges = RangesOf(graph, modules, planned.segment);
    if (!ranges.ok() || ranges->size() != 1) continue;
    const RegionCalls region = PartOf(calls, ranges->front().first, ranges->front().last);
    std::vector<KeptCall> held = planned.segment.keep_calls;
    held.insert(held.end(), planned.segment.host_calls.begin(), planned.segment.host_calls.end());
    const KeptInRegion kept = KeptIn(region, held);
    if (kept.error.empty()) planned.segment.skip = SkippedCalls(region, StatesOf(region, kept.outputs));
  }
}

}  // namespace onnx_mem
