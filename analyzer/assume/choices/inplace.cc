#include "analyzer/assume/choices/inplace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/name_pattern.h"
#include "analyzer/lower/draft/source_inplace.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// When `auto` writes in place.
enum class Writes { kAlways, kAsModule, kInference, kIntoZeros, kNever };

struct WritesRow {
  std::string_view op;
  Writes writes;
};

// What `auto` does with the operators that have an in-place form: never write, but for these, and into zeros as graph
// networks do, torch.zeros(n, d).index_add_(0, target, messages). ReLU's output is all that its backward needs, so
// models write it in place; SiLU and its like save a copy of the input then, which leaves training memory as it was.
constexpr auto kWrites = std::to_array<WritesRow>({
    {"relu", Writes::kAlways},
    {"leaky_relu", Writes::kAsModule},
    {"relu6", Writes::kInference},
    {"silu", Writes::kInference},
    {"hardswish", Writes::kInference},
});

// Producers after which model zoos write `inplace=True`.
bool StandsBeforeActivation(const OpName& op) {
  return IsConvolution(op) || IsLinear(op) || IsChannelNorm(op) || op == "add" || op == "add_scalar";
}

// nullopt: the operator has no in-place form.
std::optional<Writes> WritesOf(const OpName& op) {
  if (!HasInPlaceForm(op)) return std::nullopt;
  if (WritesInto(op)) return Writes::kIntoZeros;
  auto it = std::find_if(kWrites.begin(), kWrites.end(), [&](const WritesRow& row) { return row.op == op; });
  return it == kWrites.end() ? Writes::kNever : it->writes;
}

// The node whose result `id` would overwrite, if it may.
NodeId Overwritable(const Draft& draft, NodeId id) {
  const FrameworkNode& node = draft.node(id);
  if (node.inputs.empty() || !node.inputs[0].valid() || draft.OnlyReader(node.inputs[0]) != id) return NodeId();
  const NodeId producer = draft.producer(node.inputs[0]);
  if (!producer.valid() || SavesResult(draft.node(producer).op)) return NodeId();
  const Tensor& input = draft.tensor(node.inputs[0]);
  const Tensor& output = draft.tensor(node.outputs[0]);
  return input.shape == output.shape && input.dtype == output.dtype ? producer : NodeId();
}

// True if the activation is a module of its own rather than a function called in the module of its producer.
bool IsOwnModule(const FrameworkNode& activation, const FrameworkNode& producer) {
  if (activation.calls.empty()) return producer.calls.empty();
  if (activation.calls.size() > producer.calls.size()) return true;
  return !std::equal(activation.calls.begin(), activation.calls.end(), producer.calls.begin());
}

// A linear layer over [batch, tokens, features] belongs to a transformer, whose ReLU is not in place
// (torch/nn/modules/transformer.py, transformers/activations.py), nor is that of a perceptron; classifiers behind
// convolutions are 2-D.
bool IsBeforeActivation(const Draft& draft, const FrameworkNode& before, bool convolutional) {
  if (!StandsBeforeActivation(before.op)) return false;
  // Behind an instance norm writing in place costs memory, for the result is a view. Code that trains the norm's scale
  // writes a new tensor (fast neural style), code without scale writes in place all the same (CycleGAN, pix2pix).
  if (before.op == "instance_norm" && before.inputs.size() > 1) return false;
  return !IsLinear(before.op) || (convolutional && draft.tensor(before.outputs[0]).shape.rank() <= 2);
}

bool StartsWith(const std::vector<std::string>& calls, const std::vector<std::string>& frame) {
  return calls.size() >= frame.size() && std::equal(frame.begin(), frame.end(), calls.begin());
}

// x = self.bn(self.conv(x)); return F.relu(x, inplace=True): a layer that is a module of its own
// (torchvision/models/googlenet.py, inception.py, BasicConv2d). Elsewhere a function makes a new tensor, its default.
bool EndsALayer(const Draft& draft, NodeId activation, NodeId norm) {
  const std::vector<std::string>& frame = draft.node(activation).calls;
  if (draft.node(norm).op != "batch_norm" || frame.empty()) return false;
  const NodeId conv = draft.producer(draft.node(norm).inputs[0]);
  if (!conv.valid() || draft.node(conv).op != "conv" || !StartsWith(draft.node(conv).calls, frame)) return false;
  const NodeId before = draft.producer(draft.node(conv).inputs[0]);
  if (before.valid() && StartsWith(draft.node(before).calls, frame)) return false;
  const NodeIds& readers = draft.readers(draft.node(activation).outputs[0]);
  return std::none_of(readers.begin(), readers.end(),
                      [&](NodeId reader) { return StartsWith(draft.node(reader).calls, frame); });
}

// nn.LeakyReLU() with its default slope was given no arguments, inplace=True neither. Only a norm that activates by
// itself gives its activation that alone (timm/layers/norm_act.py).
bool HasOnlyDefaults(const FrameworkNode& activation, const FrameworkNode& before) {
  constexpr double kDefaultSlope = 0.01, kTolerance = 1e-6;
  const bool is_default = std::abs(FloatAttribute(activation, "alpha", kDefaultSlope) - kDefaultSlope) < kTolerance;
  return is_default && (before.calls.empty() || !StartsWith(activation.calls, before.calls));
}

bool WritesHere(const Draft& draft, Writes writes, NodeId id, NodeId producer, const Run& run, bool convolutional) {
  const FrameworkNode& before = draft.node(producer);
  switch (writes) {
    case Writes::kAlways:
      return IsBeforeActivation(draft, before, convolutional) &&
             (IsOwnModule(draft.node(id), before) || EndsALayer(draft, id, producer));
    case Writes::kAsModule:
      return StandsBeforeActivation(before.op) && before.op != "add" && IsOwnModule(draft.node(id), before) &&
             !HasOnlyDefaults(draft.node(id), before);
    case Writes::kInference:
      return !run.training && (before.op == "batch_norm" || before.op == "add") && IsOwnModule(draft.node(id), before);
    case Writes::kIntoZeros: return before.op == "full";
    case Writes::kNever: return false;
  }
  return false;
}

// Before its views, what made the storage that `id` would overwrite keeps no result of its own for backward, and nobody
// but `id` reads any of it.
bool IsFreeBelowViews(const Draft& draft, NodeId id) {
  NodeId maker = Overwritable(draft, id);
  while (maker.valid() && IsWholeView(draft.node(maker).op)) {
    const TensorId base = draft.node(maker).inputs[0];
    if (draft.OnlyReader(base) != maker) return false;
    maker = draft.producer(base);
  }
  return maker.valid() && !SavesResult(draft.node(maker).op) && !IsView(draft.node(maker).op);
}

// True for an activation that may legally write over what it read, of which no source line tells. ReLU and its like
// (torch/nn/modules/activation.py, dropout.py) have inplace=True; code has it as often as not.
bool MayWriteOver(const Draft& draft, NodeId id) {
  const FrameworkNode& node = draft.node(id);
  const std::optional<Writes> writes = WritesOf(node.op);
  if (!writes || *writes == Writes::kIntoZeros || node.attributes.contains("inplace")) return false;
  return IsFreeBelowViews(draft, id);
}

// What a residual block adds to its branch came into the block from outside, perhaps through a projection. A sum of two
// branches of a value that the block itself made (RepVGG, RepGhost) is a new tensor.
bool AddsWhatCameIn(const Draft& draft, NodeId sum) {
  constexpr int kMostSteps = 8;
  const std::vector<std::string>& frame = draft.node(sum).calls;
  TensorId id = draft.node(sum).inputs[1];
  for (int step = 0; step < kMostSteps && !frame.empty() && id.valid(); ++step) {
    const NodeId maker = draft.producer(id);
    if (!maker.valid() || !StartsWith(draft.node(maker).calls, frame)) return true;
    if (draft.readers(id).size() > 1) return false;
    id = draft.node(maker).inputs.empty() ? TensorId() : draft.node(maker).inputs[0];
  }
  return true;
}

// `out += identity; out = relu(out)`: the sum may overwrite the branch's BatchNorm output.
bool MarkSum(Draft& draft, SourceInPlace& source, NodeId sum) {
  if (source.Writes(sum)) return false;
  if (draft.node(sum).op != "add" || Overwritable(draft, sum) == NodeId()) return false;
  if (draft.node(Overwritable(draft, sum)).op != "batch_norm" || !AddsWhatCameIn(draft, sum)) return false;
  draft.mutable_node(sum).attributes["inplace"] = int64_t{1};
  return true;
}

int64_t MarkAuto(Draft& draft, const Run& run) {
  int64_t count = 0;
  SourceInPlace source(draft);
  const NodeIds order = draft.InOrder();
  const bool convolutional =
      std::any_of(order.begin(), order.end(), [&](NodeId id) { return draft.node(id).op == "conv"; });
  for (NodeId id : order) {
    const OpName op = draft.node(id).op;
    const std::optional<Writes> writes = WritesOf(op);
    if (source.NamesSecond(id)) draft.SetInputs(id, {draft.node(id).inputs[1], draft.node(id).inputs[0]});
    if (const std::optional<bool> by_source = source.Writes(id)) {
      draft.mutable_node(id).attributes["inplace"] = *by_source ? kInPlaceBySource : int64_t{0};
      if (!*by_source) continue;
      const NodeId sum = op == "relu" ? Overwritable(draft, id) : NodeId();
      if (sum.valid() && MarkSum(draft, source, sum)) ++count;
      continue;
    }
    if (!writes) continue;
    const NodeId producer = Overwritable(draft, id);
    if (!producer.valid() || !WritesHere(draft, *writes, id, producer, run, convolutional)) continue;
    draft.mutable_node(id).attributes["inplace"] = int64_t{1};
    ++count;
    if (op == "relu" && MarkSum(draft, source, producer)) ++count;
  }
  return count;
}

// BatchNorms that write over their input and keep the result of the activation behind them in its place, from which the
// backward works the input out again (Rota Bulo, Porzi, Kontschieder, "In-Place Activated BatchNorm", 2018).
int64_t MarkNorms(Draft& draft) {
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "batch_norm" || !Overwritable(draft, id).valid()) continue;
    const NodeId activation = draft.OnlyReader(draft.node(id).outputs[0]);
    if (!activation.valid() || !ActivatesNormInPlace(draft.node(activation).op)) continue;
    if (Overwritable(draft, activation) != id) continue;
    draft.mutable_node(id).attributes["inplace"] = int64_t{1};
    draft.mutable_node(activation).attributes["inplace"] = int64_t{1};
    ++count;
  }
  return count;
}

// What code writes in place where nothing shows it: x += y, and activations whose modules take inplace=True. nn.Sigmoid
// and nn.Tanh take none (torch/nn/modules/activation.py); torch.sigmoid_ is nearly never written. Nor does a
// transformer's feed-forward (IsBeforeActivation).
bool IsWrittenInPlace(const FrameworkGraph& graph, const FrameworkNode& node) {
  if (node.op == "add") return true;  // over either operand
  if (node.op == "sigmoid" || node.op == "tanh") return false;
  const Tensor& input = graph.tensors[node.inputs[0]];
  return input.shape.rank() <= 2 || graph.nodes[input.producer].op != "linear";
}

// True if nothing else needs the operand, which some operator made, as it is.
bool MayWriteOver(const FrameworkGraph& graph, const FrameworkNode& node, size_t operand) {
  const TensorId id = node.inputs[operand];
  if (!id.valid()) return false;
  const Tensor &input = graph.tensors[id], &output = graph.tensors[node.outputs[0]];
  if (!input.producer.valid() || input.consumers.size() != 1) return false;
  if (SavesResult(graph.nodes[input.producer].op)) return false;
  if (std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end()) return false;
  return input.shape == output.shape && input.dtype == output.dtype && IsWrittenInPlace(graph, node);
}

}  // namespace

int64_t MarkAllInPlace(FrameworkGraph& graph) {
  int64_t count = 0;
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    FrameworkNode& node = graph.nodes[id];
    const std::optional<Writes> writes = WritesOf(node.op);
    if (node.op != "add" && (!writes || *writes == Writes::kIntoZeros)) continue;
    if (node.attributes.contains("inplace") || node.inputs.empty() || !node.inputs[0].valid()) continue;
    const bool second = node.op == "add" && node.inputs.size() == 2 && !MayWriteOver(graph, node, 0);
    if (!MayWriteOver(graph, node, second ? 1 : 0)) continue;
    if (second) std::swap(node.inputs[0], node.inputs[1]);
    node.attributes["inplace"] = int64_t{1};
    ++count;
  }
  return count;
}

NodeIds PossiblyInPlace(const Draft& draft) {
  NodeIds found = draft.InOrder();
  EraseIf(found, [&](NodeId id) { return !SavesResultInPlaceAlone(draft.node(id).op) || !MayWriteOver(draft, id); });
  return found;
}

absl::StatusOr<int64_t> MarkInPlace(Draft& draft, const Run& run) {
  if (run.inplace == "none") return 0;
  if (run.inplace == "norms") {
    const int64_t activations = MarkAuto(draft, run);
    return activations + MarkNorms(draft);
  }
  if (run.inplace == "auto" || run.inplace.empty()) return MarkAuto(draft, run);
  if (run.inplace == "all") {
    const int64_t automatic = MarkAuto(draft, run);
    int64_t others = 0;
    for (NodeId id : draft.InOrder()) {
      if (!MayWriteOver(draft, id)) continue;
      draft.mutable_node(id).attributes["inplace"] = int64_t{1};
      ++others;
    }
    return automatic + others;
  }
  const std::optional<NamePattern> pattern = NamePattern::Compile(run.inplace);
  if (!pattern) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                       absl::StrCat("--inplace: '", run.inplace, "' is not a regular expression"));
  }
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
    if (!HasInPlaceForm(node.op) && node.op != "add" && node.op != "mul") continue;
    if (!pattern->FoundIn(node.name) && !pattern->FoundIn(node.module)) continue;
    if (!Overwritable(draft, id).valid()) continue;
    draft.mutable_node(id).attributes["inplace"] = int64_t{1};
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
