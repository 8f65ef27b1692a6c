// How long local variables of forward code hold a value beyond its last reader. A file has no variables; these are the
// few conventions of forward code that also held in models that no rule was made for (docs/explanation/accuracy.md).
// Likely, not certain: calls.h has the certain part, and the interval of a peak is computed without these.
//
//   x1, x2 = x.chunk(2, 1)                  pieces of a split are names, until the function returns
//   feats = [f(x) for f in self.branches]   named parts of a concatenation outlive it
//   q, k, v                                 what a matrix product of two activations reads has names
//   self.norm(a + b)                        a and b are names until the statement is done
//   x = F.relu(self.bn(self.conv(x)))       so is x
//   x + self.drop(self.mlp(self.norm(x)))   a sum in a call holds its operands until the call returns
//   mu, logvar = self.mu(h), self.var(h)    what several statements read is a name
//   for conv in self.convs: y = conv(x)     a name ends when the next round of the loop assigns it
#ifndef ONNX_MEM_ANALYZER_ASSUME_NAMES_LOCALS_H_
#define ONNX_MEM_ANALYZER_ASSUME_NAMES_LOCALS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "analyzer/assume/names/calls.h"
#include "analyzer/graph/framework_graph.h"

namespace onnx_mem::names {

class Locals {
 public:
  // Both must outlive this. `guess`: beyond what statements tell, pieces of a split and the operands of a sum in a call
  // have names.
  Locals(const FrameworkGraph& graph, const Calls& calls, bool guess = true);
  // The node after which the last variable that likely holds `id` is freed; -1 if none is likely.
  int32_t HeldUntil(TensorId id) const;
  // The node after which a name of its own is freed at the latest, in the function that hands `id` around: possible. -1
  // where none can be, as a container passes it on. `lists`: that function may have a list of all its values.
  int32_t PossibleNameOf(TensorId id, bool lists) const;
  // The list of a caller that may hold `id`, which source lines do not tell of: outs.append(x) is no operator. -1:
  // none.
  int32_t CallersListOf(TensorId id) const;
  // The end of the function that may have a list of an image at all scales, of which `id` is one and the next is made;
  // -1: it is none. No operator and no line tells.
  int32_t ScalesHoldUntil(TensorId id) const;

 private:
  // The frame in whose code a tensor is a value: the innermost that encloses its maker and all its readers.
  struct Home {
    size_t depth = 0;
    int32_t frame = -1;
  };
  Home HomeOf(TensorId id) const;
  // The frame at `depth` around its maker.
  Home HomeAt(TensorId id, size_t depth) const;
  size_t Signature(TensorId id, size_t depth, int levels) const;
  int32_t UntilRebound(TensorId id, const Home& home) const;
  size_t StatementSignature(TensorId id, size_t depth) const;
  int32_t EndOfRound(TensorId id, int32_t last, const Home& home) const;
  // The units of `home` that read `id`, each once, in order: nodes of its own code by index, calls by their last node.
  using Units = absl::InlinedVector<int32_t, 4>;
  Units ReadingUnits(TensorId id, const Home& home) const;
  TensorId OnlyResult(int32_t unit_end, size_t depth) const;
  TensorId OnlyResultFrom(int32_t begin, int32_t unit_end) const;
  static bool IsProduct(const FrameworkNode& node);
  bool StandsInProduct(TensorId id, int32_t product) const;
  bool IsExponentiated(TensorId id) const;
  bool FeedsGaussian(TensorId id) const;
  bool IsPassedOn(int32_t call, const Home& home) const;
  bool IsNamed(TensorId id, const Home& home) const;
  // local_statements.cc
  void FindWrappedNorms();
  bool Wraps(int32_t unit, size_t depth) const;
  bool Prepares(int32_t unit, size_t depth) const;
  int32_t NextInStatement(int32_t unit, const Home& home) const;
  bool IsScaledForSkip(int32_t maker, int32_t reader, const Home& home) const;
  int32_t EndOfStatement(TensorId id, const Home& home) const;
  int32_t EndOfPreactivation(TensorId id, const Home& home) const;
  int32_t EndOfNestedCalls(int32_t unit, const Home& home) const;
  bool IsWrappedElsewhere(int32_t norm, const Home& home) const;
  // local_sums.cc
  bool IsResidual(NodeId sum) const;
  bool IsNormCall(int32_t unit, const Home& home) const;
  int32_t HeldBySumInCall(TensorId id) const;
  // local_lists.cc
  bool NamesItsParts(int32_t cat, int32_t call, const Home& home) const;
  bool IsSplitPiece(TensorId id) const;
  bool IsCutUp(TensorId id) const;
  bool IsToken(TensorId id) const;
  bool StandsInList(TensorId id, const FrameworkNode& cat) const;
  bool IsEncoding(TensorId id) const;
  bool IsEncodingArgument(TensorId id) const;
  bool IsNamedPart(TensorId id, const FrameworkNode& cat) const;
  int32_t EndOfList(TensorId id, NodeId cat) const;
  bool IsLookedUp(TensorId id) const;
  bool IsRebound(TensorId id, const FrameworkNode& cat) const;
  bool TakesInSkip(TensorId id, const FrameworkNode& cat) const;
  void FindPoppedSkips();
  // local_possible.cc
  using Round = std::pair<int32_t, size_t>;  // a frame, and what its code does in each round of a loop
  size_t RoundSignature(TensorId id) const;
  bool StartsSum(const TensorIds& values) const;
  void FindBatches(const TensorIds& values);
  void FindCollected(const Round& round, TensorIds values);
  void FindPossible();
  bool IsNumbered(int32_t call) const;
  bool IsPadOfCall(TensorId id, const Home& home) const;
  TensorId NextScale(TensorId id) const;
  bool IsNormedBeside(TensorId id, const Home& home, const Units& units) const;
  bool IsTakenApart(int32_t unit, const Home& home) const;
  bool IsHandedIn(TensorId id, int32_t call, const Home& home) const;
  // local_skips.cc
  bool IsSkip(TensorId id, const Home& home, const Units& units) const;
  void FindSkipFrames();

  const FrameworkGraph& graph_;
  const Calls& calls_;
  bool guess_;
  IdVector<TensorId, int32_t> output_number_;  // among the results of its maker
  IdVector<NodeId, bool> takes_token_;         // among its operands
  // By frame and signature, the nodes that make such values, in order.
  using Makers = absl::flat_hash_map<std::pair<int32_t, size_t>, std::vector<int32_t>>;
  Makers makers_;
  Makers statements_;  // the same by StatementSignature
  // Frames and names (without digits) of norms whose result a function wraps: F.relu(self.bn1(self.conv1(x))).
  std::set<std::pair<int32_t, std::string>> wrapped_norms_;
  std::set<int32_t> skip_frames_;
  std::set<Round> collected_;                           // whose results may all be in a list
  absl::flat_hash_map<TensorId, int32_t> batch_ends_;   // of such a list, where the next one takes its name
  std::set<TensorId> popped_;                           // skips that a stack hands out once
  mutable absl::flat_hash_map<TensorId, bool> cut_up_;  // whose slices are as large as it is
  mutable absl::flat_hash_map<std::pair<int32_t, int32_t>, TensorId> only_results_;  // by first and last node of a call
};

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_LOCALS_H_
