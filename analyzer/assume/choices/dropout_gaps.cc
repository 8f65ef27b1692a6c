#include "analyzer/assume/choices/dropout_gaps.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/call_name.h"
#include "analyzer/lower/draft/transformer_parts.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

struct Child {
  NodeId first, last;
};
// Of a module: its numbered children that have operators, by number.
using Children = std::map<int, Child>;

// Enters `id` for every numbered module that its path runs through: blocks.3.mlp.1 is of child 3 of blocks and of child
// 1 of blocks.3.mlp.
void Enter(const std::string& path, NodeId id, std::map<std::string, Children, std::less<>>& modules) {
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    const size_t end = std::min(path.find('.', dot + 1), path.size());
    int number = 0;
    if (!absl::SimpleAtoi(absl::string_view(path.data() + dot + 1, end - dot - 1), &number)) continue;
    Child& child = modules[path.substr(0, dot)][number];
    if (!child.first.valid()) child.first = id;
    child.last = id;
  }
}

bool MayHoldBatchNorm(const FrameworkNode& node) {
  return IsLinear(node.op) || IsConvolution(node.op) || node.op == "batch_norm";
}

// The node whose result `next` reads across the gap; invalid if it is no chain there.
NodeId DroppedNode(const Draft& draft, const Child* before, const Child& next) {
  const TensorId x = draft.node(next.first).inputs.empty() ? TensorId() : draft.node(next.first).inputs[0];
  const NodeId maker = x.valid() ? draft.producer(x) : NodeId();
  if (!maker.valid() || draft.OnlyReader(x) != next.first || MayHoldBatchNorm(draft.node(maker))) return NodeId();
  return before == nullptr || before->last == maker ? maker : NodeId();
}

// The number of a child, "mlp.1" -> 1; nullopt for modules without one.
std::optional<int> NumberOf(const std::string& module) {
  int number = 0;
  const size_t dot = module.rfind('.');
  if (dot == std::string::npos || !absl::SimpleAtoi(module.substr(dot + 1), &number)) return std::nullopt;
  return number;
}

bool NamesDropout(const SourceLine& line) { return absl::StrContains(absl::AsciiStrToLower(line.text), "drop"); }

bool IsOfTorch(const SourceLine& line) { return absl::StrContains(line.file, "torch/nn/modules/"); }

// The call that gives the result ends with it: return F.relu(x).
bool EndsCalls(const SourceLines& lines, size_t depth) {
  for (size_t i = depth; i < lines.size(); ++i) {
    if (lines[i] == nullptr || IsContainersLoop(*lines[i]) || NamesDropout(*lines[i])) return false;
    if (!IsOfTorch(*lines[i]) && lines[i]->statement.kind != StatementKind::kReturn) return false;
  }
  return true;
}

// Layers of torch read what they are given.
bool BeginsCalls(const SourceLines& lines, size_t depth) {
  for (size_t i = depth; i < lines.size(); ++i) {
    if (lines[i] == nullptr || !IsOfTorch(*lines[i]) || IsContainersLoop(*lines[i])) return false;
  }
  return true;
}

// The same statement, or two that stand one below the other.
bool AreNeighbours(const SourceLine& made, const SourceLine& read) {
  if (made.file != read.file || !made.statement.whole || IsContainersLoop(made) || IsContainersLoop(read)) return false;
  return (read.line == made.line || read.line == made.line + 1) && !NamesDropout(made) && !NamesDropout(read);
}

// The line calls the module or the function itself: not a helper, whose body may drop.
bool CallsItself(const SourceLine& line, const FrameworkNode& node, size_t depth) {
  std::string_view name = depth < node.calls.size() ? WithoutCallNumber(node.calls[depth]) : std::string_view(node.op);
  name = name.substr(name.rfind('.') + 1);
  return absl::StrContains(line.text, absl::StrCat(std::string(name), "("));
}

// relu(norm(x)) of the sum or the joined features that a stream of images' blocks continues as, in front of a block's
// first convolution: blocks that normalize ahead drop inside or at their end (Zagoruyko and Komodakis 2016, 3.3:
// between the convolutions; Huang et al. 2017, 3: behind each convolution).
bool IsPreActivationOfStream(const Draft& draft, NodeId norm) {
  const FrameworkNode& node = draft.node(norm);
  constexpr int kImage = 4;
  if (!IsNorm(node.op) || draft.tensor(node.inputs[0]).shape.rank() < kImage) return false;
  return draft.ProducerIf(node.inputs[0], "add").valid() || draft.ProducerIf(node.inputs[0], "cat").valid();
}

// Whether the tensor is a layer's result, or elementwise steps of one operand each lead from one to it.
bool IsMadeOfLayer(const Draft& draft, TensorId id) {
  constexpr int kMostSteps = 8;
  NodeId maker = MakerBeforeViews(draft, id);
  for (int step = 0; step < kMostSteps && maker.valid(); ++step) {
    const FrameworkNode& node = draft.node(maker);
    if (IsLinear(node.op) || node.op == "conv" || IsNorm(node.op)) return true;
    const OpFacts& facts = node.op;
    if (facts.family != OpFamily::kUnary && facts.family != OpFamily::kScalar) return false;
    maker = MakerBeforeViews(draft, node.inputs[0]);
  }
  return false;
}

// What code spells an activation out in, sin(30 * x), between two layers.
bool IsWrittenOutActivation(const Draft& draft, NodeId id) {
  const FrameworkNode& node = draft.node(id);
  const NodeId reader = ReaderAfterViews(draft, node.outputs[0]);
  if (!IsCurve(node.op) || !reader.valid()) return false;
  const OpName& next = draft.node(reader).op;
  return (IsLinear(next) || next == "conv") && IsMadeOfLayer(draft, node.inputs[0]);
}

}  // namespace

bool IsFollowedAtOnce(const Draft& draft, NodeId id) {
  const NodeId reader = ReaderAfterViews(draft, draft.node(id).outputs[0]);
  if (!reader.valid()) return false;
  const std::string &module = draft.node(id).module, &next = draft.node(reader).module;
  const std::optional<int> number = NumberOf(module), next_number = NumberOf(next);
  return number && next_number && *next_number == *number + 1 &&
         module.substr(0, module.rfind('.')) == next.substr(0, next.rfind('.'));
}

bool MayDropBehind(const Draft& draft, NodeId id) {
  const FrameworkNode& node = draft.node(id);
  if (IsFollowedAtOnce(draft, id)) return false;
  if (!IsActivation(node.op)) return IsWrittenOutActivation(draft, id);
  const NodeId maker = MakerBeforeViews(draft, node.inputs[0]);
  if (!maker.valid()) return false;
  if (IsPreActivationOfStream(draft, maker)) return false;
  const FrameworkNode& before = draft.node(maker);
  return IsLinear(before.op) || before.op == "conv" || IsNorm(before.op);
}

NodeIds FindSequentialGaps(const Draft& draft) {
  std::map<std::string, Children, std::less<>> modules;
  for (NodeId id : draft.InOrder()) Enter(draft.node(id).module, id, modules);
  NodeIds dropped;
  for (const auto& [path, children] : modules) {
    int expected = 0;
    const Child* before = nullptr;
    for (const auto& [number, child] : children) {
      const NodeId node = number == expected + 1 ? DroppedNode(draft, before, child) : NodeId();
      if (node.valid()) dropped.push_back(node);
      expected = number + 1;
      before = &child;
    }
  }
  std::sort(dropped.begin(), dropped.end(), [&](NodeId a, NodeId b) { return draft.rank(a) < draft.rank(b); });
  dropped.erase(std::unique(dropped.begin(), dropped.end()), dropped.end());
  return dropped;
}

bool DropoutLines::LeaveNoRoom(NodeId id) {
  const NodeId reader = ReaderAfterViews(draft_, draft_.node(id).outputs[0]);
  if (!reader.valid()) return false;
  const FrameworkNode &maker = draft_.node(id), &next = draft_.node(reader);
  const SourceLines made = traces_.Read(maker), read = traces_.Read(next);
  size_t depth = 0;  // of the function that hands the value on
  while (depth < maker.calls.size() && depth < next.calls.size() && maker.calls[depth] == next.calls[depth]) ++depth;
  if (depth >= made.size() || depth >= read.size() || made[depth] == nullptr || read[depth] == nullptr) return false;
  const bool is_sum = IsTensorArithmetic(next.op) && depth == next.calls.size();  // u + F.relu(x)
  return AreNeighbours(*made[depth], *read[depth]) && CallsItself(*made[depth], maker, depth) &&
         (is_sum || CallsItself(*read[depth], next, depth)) && EndsCalls(made, depth + 1) &&
         BeginsCalls(read, depth + 1);
}

}  // namespace onnx_mem
