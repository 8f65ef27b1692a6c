// How long local variables of forward code hold a value beyond its last reader. A file has no variables; these are the
// habits of the code that exports come from (torchvision, timm, transformers, and what is written like them). Likely,
// not certain: the certain part is in frames.h.
//
//   x1, x2 = x.chunk(2, 1)                  pieces of a split are names, until the function returns
//   feats = [f(x) for f in self.branches]   parts of a concatenation are a list that outlives it
//   q, k, v                                 what a matrix product of two activations reads has names
//   self.norm(a + b)                        a and b are names until the statement is done
//   x = F.relu(self.bn(self.conv(x)))       so is x
//   y, skip = block(y)                      so has what a call returns with another result
//   x = self.stem(x); e1 = self.enc1(x)     e1 is read again by the decoder: x and e1 are two names
//   mu, logvar = self.mu(h), self.var(h)    what several statements read is a name
//   a = f(x); b = g(x); h(a) + b          what cannot have been a part of one expression is a name
//   for conv in self.convs: y = conv(x)     a name ends when the next round of the loop assigns it
//   x1 = self.conv1(edges(x)) ... edges(x1)  names of a function that the code calls again go when it returns
#ifndef ONNX_MEM_ANALYZER_ASSUME_NAMES_LOCALS_H_
#define ONNX_MEM_ANALYZER_ASSUME_NAMES_LOCALS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/assume/names/calls.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem::names {

class Locals {
 public:
  // Both must outlive this.
  Locals(const Graph& graph, const Calls& calls);
  // The node after which the last variable that likely holds `id` goes; -1 if none is likely.
  int32_t HeldUntil(TensorId id) const;
  // The same if every value that modules do not pass straight on had a name, until a round of a loop assigns it anew.
  int32_t NamedUntil(TensorId id) const;

 private:
  // The frame in whose code a tensor is a value: the innermost that encloses its maker and all its readers.
  struct Home {
    size_t depth = 0;
    int32_t frame = -1;
  };
  Home HomeOf(TensorId id) const;
  size_t Signature(TensorId id, size_t depth, int levels) const;
  int32_t UntilRebound(TensorId id, const Home& home) const;
  size_t StatementSignature(TensorId id, size_t depth) const;
  int32_t EndOfRound(TensorId id, int32_t last, const Home& home) const;
  // The units of `home` that read `id`, each once, in order: nodes of its own code by index, calls by their last node.
  std::vector<int32_t> ReadingUnits(TensorId id, const Home& home) const;
  TensorId OnlyResult(int32_t unit_end, size_t depth) const;
  bool IsTurnedForProduct(TensorId id, int32_t product) const;
  bool StandsInProduct(TensorId id, int32_t product) const;
  bool IsExponentiated(TensorId id) const;
  bool FeedsGaussian(TensorId id) const;
  bool IsGaussianName(TensorId id) const;
  bool IsPassedOn(int32_t call, const Home& home) const;
  bool IsLayer(int32_t unit, const Home& home) const;
  bool IsNamed(TensorId id, const Home& home) const;
  // local_statements.cc
  void FindWrappedNorms();
  bool Wraps(int32_t unit, size_t depth) const;
  bool Prepares(int32_t unit, size_t depth) const;
  int32_t NextInStatement(int32_t unit, const Home& home) const;
  bool IsScaledForSkip(int32_t maker, int32_t reader, const Home& home) const;
  bool IsJoinedApart(TensorId id, int32_t reader, const Home& home) const;
  int32_t EndOfStatement(TensorId id, const Home& home) const;
  int32_t EndOfPreactivation(TensorId id, const Home& home) const;
  int32_t HeldAcrossCall(TensorId id, const Home& home) const;
  int32_t EndOfNestedCalls(int32_t unit, const Home& home) const;
  bool IsWrappedElsewhere(int32_t norm, const Home& home) const;
  // local_sums.cc
  bool IsResidual(NodeId sum) const;
  int32_t HeldBySumInCall(TensorId id) const;
  int32_t HeldBySum(TensorId id, const Home& home) const;
  // local_lists.cc
  bool NamesItsParts(int32_t cat, int32_t call, const Home& home) const;
  bool IsSplitPiece(TensorId id) const;
  bool IsToken(TensorId id) const;
  bool StandsInList(TensorId id, const Node& cat) const;
  bool IsEncoding(TensorId id) const;
  bool IsEncodingArgument(TensorId id) const;
  bool ComparesParts(TensorId id, const Node& cat) const;
  bool IsNamedPart(TensorId id, const Node& cat) const;
  int32_t EndOfList(TensorId id, NodeId cat) const;
  bool IsLookedUp(TensorId id) const;
  int32_t HeldByCallersList(NodeId cat) const;
  bool IsRebound(TensorId id, const Node& cat) const;
  bool TakesInSkip(TensorId id, const Node& cat) const;
  void FindPoppedSkips();
  // local_attention.cc
  static bool IsProduct(const Node& node);
  const Node* Maker(TensorId id) const;
  bool IsNormalized(TensorId id) const;
  bool ProjectsApart(int32_t softmax, const Home& home) const;
  int32_t HeldAsNormalized(TensorId id, const Home& home) const;
  bool IsSoftmaxOfSum(TensorId id) const;
  bool IsScaledInProduct(TensorId id) const;
  int32_t EndOfAttention(int32_t node, const Home& home) const;
  int32_t HeldByProjection(TensorId id, const Home& home) const;
  bool ActivatesBesideAttention(int32_t linear, int32_t activation, const Home& home) const;
  int32_t HeldAsScores(TensorId id, const Home& home) const;
  int32_t EndOfAttentionMethod(TensorId id, const Home& home) const;
  // local_helpers.cc
  void FindHelpers();
  int32_t EndOfHelper(TensorId id) const;
  // local_order.cc
  bool IsLeaf(TensorId id, const Home& home) const;
  bool TakesTwoNames(int32_t unit_end, const Home& home) const;
  int32_t EndOfExpression(int32_t unit, const Home& home) const;
  int32_t NextInExpression(int32_t unit, const Home& home) const;
  int32_t HeldByHead(TensorId id, const Home& home) const;
  bool IsJoinedList(TensorId id, const Home& home) const;
  int32_t HeldOutOfOrder(TensorId id, const Home& home) const;
  // local_joins.cc
  int32_t HeldByWeightedSum(TensorId id, const Home& home) const;
  int32_t HeldByLongOperands(TensorId id, const Home& home) const;
  int32_t EndOfNextRound(int32_t call, const Home& home) const;
  int32_t HeldAsUnpacked(TensorId id, const Home& home) const;
  int32_t HeldAsPreactivation(TensorId id, const Home& home) const;
  int32_t HeldAsTrunk(TensorId id, const Home& home) const;
  // local_skips.cc
  bool IsSkip(TensorId id, const Home& home, const std::vector<int32_t>& units) const;
  int32_t HeldBesideSkip(TensorId id, const Home& home) const;
  bool ReadsSkip(int32_t unit_end, const Home& home) const;
  int32_t HeldByNewName(TensorId id, const Home& home) const;
  int32_t HeldByLevel(TensorId id, const Home& home) const;
  int32_t HeldAsDeepest(TensorId id, const Home& home) const;
  int32_t HeldAsGatedSkip(TensorId id, const Home& home) const;
  void FindNumberedJoins();
  void FindSkipFrames();
  int32_t HeldByNumbers(TensorId id, const Home& home) const;

  const Graph& graph_;
  const Calls& calls_;
  IdVector<TensorId, bool> needs_name_;  // expressions.h
  IdVector<TensorId, int32_t> output_number_;  // among the results of its maker
  IdVector<NodeId, bool> takes_token_;         // among its operands
  // By frame and signature, the nodes that make such values, in order.
  std::map<std::pair<int32_t, size_t>, std::vector<int32_t>> makers_;
  std::map<std::pair<int32_t, size_t>, std::vector<int32_t>> statements_;  // the same by StatementSignature
  std::vector<int32_t> products_;  // nodes of attention's kind of product, in order
  // Frames and names (without digits) of norms whose result a function wraps: F.relu(self.bn1(self.conv1(x))).
  std::set<std::pair<int32_t, std::string>> wrapped_norms_;
  std::set<int32_t> numbered_joins_, skip_frames_;  // frames
  std::map<int32_t, int32_t> helpers_;              // runs of nodes that are one function: first and last
  std::set<TensorId> popped_;                       // skips that a stack hands out once
  // By unit and depth, what was found once: all parts of a long expression ask for its end and for what it takes.
  mutable absl::flat_hash_map<std::pair<int32_t, size_t>, int32_t> ends_;
  mutable absl::flat_hash_map<std::pair<int32_t, size_t>, bool> takes_two_names_;
};

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_LOCALS_H_
