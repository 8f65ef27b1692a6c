#include "planner/advice/segment_flags.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx_mem {

bool IsForFlags(const ModulePlan& plan) {
  return std::all_of(plan.segments.begin(), plan.segments.end(), [](const PlannedSegment& s) {
    return !s.segment.modules.empty() && s.segment.nodes.empty() && !s.segment.is_selective();
  });
}

void AddSegments(const ModulePlan& plan, Proposal& change) {
  for (const PlannedSegment& planned : plan.segments) {
    const Segment& segment = planned.segment;
    change.workload.run.segments.push_back(segment);
    const std::string modules = absl::StrJoin(segment.modules, ",");
    change.flags.insert(change.flags.end(),
                        {"--segment", absl::StrCat(modules, std::string(FlagSuffixOf(segment.offload)))});
  }
}

}  // namespace onnx_mem
