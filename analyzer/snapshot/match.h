// Blocks of a run beside the buffers that were predicted: a block takes the name of a buffer of its size, if its owner
// can be what the buffer is. The run stood somewhere in the step: the step whose buffers explain most bytes is taken.
#ifndef ONNX_MEM_ANALYZER_SNAPSHOT_MATCH_H_
#define ONNX_MEM_ANALYZER_SNAPSHOT_MATCH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/memory/program.h"
#include "analyzer/snapshot/explain.h"

namespace onnx_mem {

struct NamedBlock {
  size_t block = 0;  // of Explanation::blocks
  std::string name;  // of the buffer
  std::string module;
  Category category = Category::kTransientActivations;
};

struct SnapshotMatch {
  int64_t step = 0;  // of the program
  std::string step_op;
  std::string step_module;
  Phase phase = Phase::kForward;
  int64_t named_bytes = 0;  // of blocks that have a name
  int64_t unexplained_bytes = 0;
  std::vector<NamedBlock> named;       // the largest first
  std::vector<OwnedLine> unexplained;  // by category and line, the largest first
};

SnapshotMatch MatchTo(const MemoryProgram& program, const Explanation& explanation);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_SNAPSHOT_MATCH_H_
