// How long the variables of forward code hold a value, where the file has the source line of every node (graph/
// source_line.h): what locals.h guesses from conventions is read here.
//
//   93  out = self.conv1(x)        conv1's result is "out" until line 94 assigns it anew
//   94  out = self.relu(out)
//   97  y = self.act(self.bn(out)) bn's result has no name: the statement uses it up
//   98  out = residual + out       "residual" was given to something that no longer has its own name
//
// A line that does not tell (a part of a longer statement, a helper function's whole body on the line of its call)
// gives no answer, and locals.h decides. Assignments that run no operator, `residual = x`, leave no line: they show
// where a statement reads what the name of its value no longer stands for.
#ifndef ONNX_MEM_ANALYZER_ASSUME_NAMES_SOURCE_NAMES_H_
#define ONNX_MEM_ANALYZER_ASSUME_NAMES_SOURCE_NAMES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/assume/names/calls.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/graph/framework_graph.h"

namespace onnx_mem::names {

class SourceNames {
 public:
  // Both must outlive this.
  SourceNames(const FrameworkGraph& graph, const Calls& calls);
  // The node after which the last variable that holds `id` is freed; -1 if none does; nullopt if the lines do not tell.
  std::optional<int32_t> HeldUntil(TensorId id) const;
  // The node behind which no name holds `id`, as its own statement alone reads it and gives all its names to others; an
  // attribute or a list may. nullopt: the lines do not tell.
  std::optional<int32_t> HeldAtMostUntil(TensorId id) const;
  // Whether any node has lines.
  bool any() const { return any_; }

 private:
  // What a line of a frame runs at a time: an operator of its own, or a call of a module.
  struct Unit {
    int32_t begin = 0;
    int32_t end = 0;
    int32_t call = -1;  // -1: an operator
    const SourceLine* line = nullptr;
    size_t run = 0;
    bool repeated = false;  // perhaps several calls, one after the other, which the file does not tell apart
  };
  // Units one after the other on one line: one execution of a statement, or rounds of a loop over it.
  struct Run {
    size_t first = 0;
    size_t last = 0;
    size_t units_a_round = 0;  // 0: the line does not say which of its parts a unit is
    const SourceLine* line = nullptr;
  };
  struct Frame {
    int32_t end = 0;
    std::vector<Unit> units;
    std::vector<Run> runs;
  };
  using Name = std::string;

  void AddUnits();
  void FindArguments(Frame& frame);
  void FindLinesOfFolded(Frame& frame);
  bool MayBeSeveralCalls(int32_t call) const;
  bool IsResult(const Unit& unit, TensorId id) const;
  void FindRuns(Frame& frame) const;
  size_t UnitsARound(const Frame& frame, const Run& run) const;
  size_t Signature(const Unit& unit) const;
  const Frame* HomeOf(TensorId id) const;
  // What made a tensor that nodes read: a run with a line, in the frame whose names it may have.
  struct Maker {
    const Frame* frame = nullptr;
    size_t run = 0;
  };
  std::optional<Maker> MakerOf(TensorId id) const;
  size_t CountResults(int32_t begin, int32_t end) const;
  const Unit& UnitOf(const Frame& frame, int32_t node) const;
  size_t RunOf(const Frame& frame, int32_t node) const { return UnitOf(frame, node).run; }
  std::vector<size_t> ReadingRuns(const Frame& frame, TensorId id) const;
  std::optional<Name> NameOf(const Frame& frame, TensorId id, const std::vector<size_t>& readers) const;
  std::optional<int32_t> EndOfRound(const Frame& frame, size_t run) const;
  std::optional<size_t> Rebinds(const Frame& frame, const Name& name, size_t after) const;
  std::optional<int32_t> EndOfName(const Frame& frame, const Name& name, size_t after) const;
  std::optional<Name> AliasIn(const Frame& frame, size_t reader, size_t maker) const;
  std::optional<int32_t> EndOfAlias(const Frame& frame, const Name& alias, size_t reader, TensorId id) const;

  const FrameworkGraph& graph_;
  const Calls& calls_;
  SourceTraceReader traces_;
  std::vector<std::unique_ptr<const SourceLine>> made_;  // lines that stand for others
  std::map<int32_t, Frame> frames_;                      // by call; -1 is the model's own forward
  bool any_ = false;
};

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_SOURCE_NAMES_H_
