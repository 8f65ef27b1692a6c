// Which statements of forward code ran which nodes: of each call of a module, a frame with its lines in order.
#ifndef ONNX_MEM_ANALYZER_ASSUME_NAMES_SOURCE_FRAMES_H_
#define ONNX_MEM_ANALYZER_ASSUME_NAMES_SOURCE_FRAMES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "analyzer/assume/names/calls.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/graph/framework_graph.h"

namespace onnx_mem::names {

// What a line of a frame runs at a time: an operator of its own, or a call of a module.
struct SourceUnit {
  int32_t begin = 0;
  int32_t end = 0;
  int32_t call = -1;  // -1: an operator
  const SourceLine* line = nullptr;
  size_t run = 0;
  bool repeated = false;  // perhaps several calls, one after the other, which the file does not tell apart
};

// Units one after the other on one line: one execution of a statement, or rounds of a loop over it.
struct SourceRun {
  size_t first = 0;
  size_t last = 0;
  size_t units_a_round = 0;  // 0: the line does not say which of its parts a unit is
  const SourceLine* line = nullptr;
};

struct SourceFrame {
  int32_t end = 0;
  std::vector<SourceUnit> units;
  std::vector<SourceRun> runs;
};

inline bool Binds(const Statement& statement) {
  return statement.kind == StatementKind::kAssign || statement.kind == StatementKind::kAugmented;
}

class SourceFrames {
 public:
  // Both must outlive this.
  SourceFrames(const FrameworkGraph& graph, const Calls& calls);
  // Whether any node has lines.
  bool any() const { return any_; }
  // Of a call, or with -1 of the model's own forward; null: none.
  const SourceFrame* Find(int32_t call) const;

 private:
  void AddUnits();
  void FindArguments(SourceFrame& frame);
  bool IsOneOperator(const SourceUnit& unit) const;
  void FindLinesOfFolded(SourceFrame& frame);
  bool MayBeSeveralCalls(int32_t call) const;
  void FindRuns(SourceFrame& frame) const;
  bool IteratesOverTensor(const SourceFrame& frame, const SourceRun& run) const;
  bool Repeats(const SourceFrame& frame, const SourceRun& run, size_t period) const;
  bool CallsOwnFunction(const SourceFrame& frame, const SourceRun& run) const;
  size_t UnitsARound(const SourceFrame& frame, const SourceRun& run) const;
  size_t Signature(const SourceUnit& unit) const;

  const FrameworkGraph& graph_;
  const Calls& calls_;
  SourceTraceReader traces_;
  std::vector<std::unique_ptr<const SourceLine>> made_;  // lines that stand for others
  std::map<int32_t, SourceFrame> frames_;                // by call; -1 is the model's own forward
  bool any_ = false;
};

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_SOURCE_FRAMES_H_
