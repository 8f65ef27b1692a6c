// What a snapshot suffers from: rules over what is held at one moment. Each finding has the bytes at stake, the line of
// code and what to do (finding_kinds.inc); where stacks do not tell, there is none.
#ifndef ONNX_MEM_ANALYZER_SNAPSHOT_FINDINGS_H_
#define ONNX_MEM_ANALYZER_SNAPSHOT_FINDINGS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/snapshot/history.h"
#include "analyzer/snapshot/owners.h"
#include "analyzer/snapshot/snapshot.h"
#include "analyzer/snapshot/stacks.h"

namespace onnx_mem {

enum class FindingKind : uint8_t {
#define ONNX_MEM_FINDING(id, ...) id,
#include "analyzer/snapshot/finding_kinds.inc"
};
struct CauseRow {
  std::string_view code;
  std::string_view what;
  std::string_view known_by;
  std::string_view remedy;
};
const CauseRow& RowOf(FindingKind kind);

struct SnapshotFinding {
  FindingKind kind = FindingKind::kKeptGraph;
  int64_t bytes = 0;
  int64_t blocks = 0;
  int64_t rounds = 0;        // from which they are; 0: it is not about rounds
  FrameId call = kNoFrame;   // the user's line
  FrameId where = kNoFrame;  // the innermost line that is not the framework's, where it is another one
};

// How a device's memory is divided at the moment.
struct MemoryDivision {
  int64_t reserved_bytes = 0;
  int64_t allocated_bytes = 0;
  int64_t gap_bytes = 0;  // free in segments that are partly used
  int64_t gaps = 0;
  int64_t largest_gap_bytes = 0;
  int64_t usable_gap_bytes = 0;            // of those whose segments serve requests of the size that failed
  int64_t free_segment_bytes = 0;          // of segments that nobody uses
  std::optional<int64_t> requested_bytes;  // that failed
};

struct FindingQuestion {
  const AllocatorSnapshot& snapshot;
  const std::vector<StackFacts>& facts;
  const HistoryView& view;
  const std::vector<Owner>& owners;
  const MemoryDivision& division;
};

// The one with most at stake first.
std::vector<SnapshotFinding> FindingsOf(const FindingQuestion& question);

// The rules, each a file's: what is kept from earlier rounds; what is there too long; the sizes alone.
void AddKept(const FindingQuestion& question, std::vector<SnapshotFinding>& findings);
void AddHeld(const FindingQuestion& question, std::vector<SnapshotFinding>& findings);
void AddSizes(const FindingQuestion& question, std::vector<SnapshotFinding>& findings);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_SNAPSHOT_FINDINGS_H_
