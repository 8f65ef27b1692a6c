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
#include <optional>
#include <string>
#include <vector>

#include "analyzer/assume/names/calls.h"
#include "analyzer/assume/names/source_frames.h"
#include "analyzer/graph/framework_graph.h"

namespace onnx_mem::names {

class SourceNames {
 public:
  // Both must outlive this.
  SourceNames(const FrameworkGraph& graph, const Calls& calls) : graph_(graph), calls_(calls), frames_(graph, calls) {}
  // The node after which the last variable that holds `id` is freed; -1 if none does; nullopt if the lines do not tell.
  std::optional<int32_t> HeldUntil(TensorId id) const;
  // The node behind which no name holds `id`, as its own statement alone reads it and gives all its names to others; an
  // attribute or a list may. nullopt: the lines do not tell.
  std::optional<int32_t> HeldAtMostUntil(TensorId id) const;
  // The node after which a list that holds `id` is freed at the latest, where a loop over that list reads it; -1: no
  // line reads it so.
  int32_t ListMayHoldUntil(TensorId id) const;
  // The same for the results of a loop of which the caller reads the last of a list: self.encoder(x).all_outputs[-1],
  // or of which it may get a list beside another value: x, hidden = self.encoder(x).
  int32_t ReturnedListMayHoldUntil(TensorId id) const;
  // The node after which the caller has let it go at the latest, where the function returns it beside others.
  int32_t ReturnedMayHoldUntil(TensorId id) const;
  // Whether any node has lines.
  bool any() const { return frames_.any(); }

 private:
  using Name = std::string;

  bool IsResult(const SourceUnit& unit, TensorId id) const;
  const SourceFrame* HomeOf(TensorId id) const;
  // What made a tensor that nodes read: a run with a line, in the frame whose names it may have.
  struct Maker {
    const SourceFrame* frame = nullptr;
    size_t run = 0;
  };
  std::optional<Maker> MakerOf(TensorId id) const;
  size_t CountResults(int32_t begin, int32_t end) const;
  bool IsOfLoop(const SourceFrame& frame, size_t run) const;
  // null: the model's own forward, or no line of the caller is known.
  struct CallAndCaller {
    int32_t call = -1;
    const SourceFrame* caller = nullptr;
  };
  CallAndCaller CallOf(TensorId id) const;
  bool IsReturned(const SourceFrame& frame, size_t maker, TensorId id) const;
  bool HandsOutList(int32_t call, const SourceFrame& caller) const;
  bool ReturnsMore(int32_t call, const SourceFrame& caller) const;
  bool HasNameOfLoop(const SourceFrame& frame, size_t maker) const;
  int32_t UntilCalledAgain(const SourceFrame& caller, int32_t node) const;
  const SourceUnit& UnitOf(const SourceFrame& frame, int32_t node) const;
  size_t RunOf(const SourceFrame& frame, int32_t node) const { return UnitOf(frame, node).run; }
  std::vector<size_t> ReadingRuns(const SourceFrame& frame, TensorId id) const;
  std::optional<Name> NameOf(const SourceFrame& frame, TensorId id, const std::vector<size_t>& readers) const;
  std::optional<int32_t> EndOfRound(const SourceFrame& frame, size_t run) const;
  std::optional<size_t> Rebinds(const SourceFrame& frame, const Name& name, size_t after) const;
  std::optional<int32_t> EndOfName(const SourceFrame& frame, const Name& name, size_t after) const;
  std::optional<Name> AliasIn(const SourceFrame& frame, size_t reader, size_t maker) const;
  bool ReadsOlderLater(const SourceFrame& frame, const Name& alias, size_t reader, TensorId id) const;
  std::optional<int32_t> EndOfAppended(const SourceFrame& frame, size_t maker,
                                       const std::vector<size_t>& readers) const;
  std::optional<int32_t> EndOfAlias(const SourceFrame& frame, const Name& alias, size_t reader, TensorId id) const;

  const FrameworkGraph& graph_;
  const Calls& calls_;
  SourceFrames frames_;
  mutable std::map<int32_t, bool> hands_out_list_;  // by call
};

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_SOURCE_NAMES_H_
