// A snapshot -> who holds the memory, what is wrong with that, and what failed: everything that a report shows.
#ifndef ONNX_MEM_ANALYZER_SNAPSHOT_EXPLAIN_H_
#define ONNX_MEM_ANALYZER_SNAPSHOT_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/snapshot/findings.h"
#include "analyzer/snapshot/snapshot.h"

namespace onnx_mem {

enum class SnapshotMoment : uint8_t { kFailure, kPeak, kEnd };  // kEnd: there is no history

struct OwnedBlock {
  int64_t bytes = 0;
  Owner owner = Owner::kUnknown;
  int64_t event = -1;    // that allocated it; -1: before the history
  std::string line;      // "model.py:41", "" unknown
  std::string function;  // "forward"
};

// Blocks of one category and line.
struct OwnedLine {
  Owner owner = Owner::kUnknown;
  std::string line;
  std::string function;
  int64_t bytes = 0;
  int64_t blocks = 0;
  int64_t largest_bytes = 0;
};

void AddTo(OwnedLine& line, const OwnedBlock& block);
std::vector<OwnedLine> LargestFirst(std::vector<OwnedLine> lines);

struct ExplainedFinding {
  FindingKind kind = FindingKind::kKeptGraph;
  int64_t bytes = 0;
  int64_t blocks = 0;
  int64_t rounds = 0;
  std::string line, function;              // of the user's program
  std::string inner_line, inner_function;  // where most of it is made, if that is another one
};

struct Explanation {
  int64_t device = 0;
  SnapshotMoment moment = SnapshotMoment::kEnd;
  int64_t events = 0;
  int64_t passes = 0;   // backward passes before the moment
  bool stacks = false;  // that were recorded
  MemoryDivision division;
  std::string failed_line, failed_function;  // who made the request that failed
  std::string configuration;                 // PYTORCH_ALLOC_CONF
  bool expandable = false;
  std::vector<OwnedBlock> blocks;  // the largest first
  std::vector<OwnedLine> lines;    // the largest first
  std::vector<ExplainedFinding> findings;
};

Explanation Explain(const AllocatorSnapshot& snapshot);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_SNAPSHOT_EXPLAIN_H_
