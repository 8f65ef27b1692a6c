#include <array>

#include "report/explain/explain_part.h"

namespace onnx_mem {

void WriteExplained(JsonWriter& json, const ExplainedSnapshot& explained) {
  constexpr auto kMoments = std::to_array<std::string_view>({"failure", "peak", "end"});
  const Explanation& of = explained.explanation;
  const MemoryDivision& division = of.division;
  json.Key("snapshot").BeginObject();
  json.Add({{"path", explained.path},
            {"device", of.device},
            {"moment", kMoments[static_cast<size_t>(of.moment)]},
            {"events", of.events},
            {"backward_passes", of.passes},
            {"stacks", of.stacks},
            {"allocated_bytes", division.allocated_bytes},
            {"reserved_bytes", division.reserved_bytes},
            {"gap_bytes", division.gap_bytes},
            {"gaps", division.gaps},
            {"largest_gap_bytes", division.largest_gap_bytes},
            {"free_segment_bytes", division.free_segment_bytes},
            {"requested_bytes", division.requested_bytes},
            {"requested_line", NullIfEmpty(of.failed_line)},
            {"requested_function", NullIfEmpty(of.failed_function)},
            {"expandable_segments", of.expandable},
            {"configuration", NullIfEmpty(of.configuration)}});
  json.EndObject();
}

}  // namespace onnx_mem
