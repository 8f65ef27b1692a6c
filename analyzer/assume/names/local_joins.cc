// The part of locals.h about values that meet: what waits for another value has a name.
#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/assume/names/contains.h"
#include "analyzer/assume/names/locals.h"

namespace onnx_mem::names {
namespace {

constexpr auto kViews = std::to_array<std::string_view>({"reshape", "permute", "unsqueeze", "squeeze"});
constexpr auto kReductions = std::to_array<std::string_view>({"sum", "mean"});
constexpr auto kActivatedNorms = std::to_array<std::string_view>({"batch_norm", "group_norm", "layer_norm"});
constexpr auto kActivations =
    std::to_array<std::string_view>({"relu", "leaky_relu", "relu6", "elu", "gelu", "silu", "mish", "hardswish"});

}  // namespace

// out = (x * weights.view(...)).sum(dim=1): a weighted sum that shapes its weights on the way stands in one statement,
// and what it reads keeps its name until the sum is made (ResNeSt). Weights that a module returned in their shape are
// multiplied in a statement of its own, x = x * weights; x = x.sum(1) (SKNet).
int32_t Locals::HeldByWeightedSum(TensorId id, const Home& home) const {
  int32_t last = -1;
  const auto is_own = [&](NodeId node) { return calls_.of_node(node.value()).size() == home.depth; };
  for (NodeId reader : graph_.tensors[id].consumers) {
    const Node& node = graph_.nodes[reader];
    if (node.op != "mul" || !is_own(reader)) continue;
    const NodeId shaped = graph_.tensors[node.inputs[1]].producer;
    if (!shaped.valid() || shaped.value() + 1 != reader.value() || !is_own(shaped)) continue;
    if (!Contains(kViews, graph_.nodes[shaped].op)) continue;
    const auto& next = graph_.tensors[node.outputs[0]].consumers;
    if (next.size() != 1 || !Contains(kReductions, graph_.nodes[next[0]].op) || !is_own(next[0])) continue;
    last = std::max(last, next[0].value());
  }
  return last;
}

// square_of_sum = e.sum(1) ** 2; sum_of_squares = (e ** 2).sum(1); square_of_sum - sum_of_squares: operands that take
// several operators each stand in statements of their own. A sum of them, a + b - 2 * c, is one expression.
int32_t Locals::HeldByLongOperands(TensorId id, const Home& home) const {
  const auto& readers = graph_.tensors[id].consumers;
  if (readers.size() != 1) return -1;
  constexpr int kLong = 2;  // operators
  const Node& node = graph_.nodes[readers[0]];
  if (node.op != "sub" || calls_.of_node(readers[0].value()).size() != home.depth) return -1;
  for (TensorId operand : node.inputs) {
    TensorId at = operand;
    for (int step = 0; step < kLong; ++step) {
      if (!at.valid() || !graph_.tensors[at].producer.valid()) return -1;
      const NodeId maker = graph_.tensors[at].producer;
      if (calls_.of_node(maker.value()).size() != home.depth || HomeOf(at).frame != home.frame) return -1;
      if (graph_.tensors[at].consumers.size() != 1) return -1;
      const auto& inputs = graph_.nodes[maker].inputs;
      if (std::count_if(inputs.begin(), inputs.end(), [](TensorId input) { return input.valid(); }) > 1) return -1;
      at = inputs.empty() ? TensorId() : inputs[0];
    }
  }
  return UntilRebound(id, home);
}

// for block in self.blocks: y, skip = block(y): the end of the next call of an element of the same list in the frame;
// the frame's own where none follows.
int32_t Locals::EndOfNextRound(int32_t call, const Home& home) const {
  const CallSpan& span = calls_.span(call);
  const int32_t end = calls_.EndOfFrameAt(span.begin, home.depth);
  if (!IsElement(span.name)) return end;
  for (int32_t unit = span.end + 1; unit <= end; unit = calls_.UnitEnd(unit, home.depth) + 1) {
    const int32_t next = calls_.UnitCall(unit, home.depth);
    if (next >= 0 && WithoutElementNumbers(calls_.span(next).name) == WithoutElementNumbers(span.name))
      return calls_.span(next).end;
  }
  return end;
}

// y, skip = block(y): what a call gives together with another result is unpacked into names, which the next round of
// a loop assigns anew, whatever that ran last: z, logdet = step(z).
int32_t Locals::HeldAsUnpacked(TensorId id, const Home& home) const {
  const int32_t call = calls_.UnitCall(graph_.tensors[id].producer.value(), home.depth);
  if (call < 0) return -1;
  const CallSpan& span = calls_.span(call);
  int results = 0;
  for (int32_t i = span.begin; i <= span.end; ++i) {
    for (TensorId output : graph_.nodes[NodeId(i)].outputs) {
      if (!output.valid()) continue;
      const auto& readers = graph_.tensors[output].consumers;
      results += std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return r.value() > span.end; });
    }
  }
  if (results < 2) return -1;
  return std::min(UntilRebound(id, home), EndOfNextRound(call, home));
}

// shortcut = x; x_preact = self.norm1(x); x = self.conv1(x_preact): a norm with its activation that opens a function
// whose argument is needed again. Code that calls the activation itself writes out = self.relu(self.bn1(x)); out =
// self.conv1(out).
int32_t Locals::HeldAsPreactivation(TensorId id, const Home& home) const {
  const int32_t maker = graph_.tensors[id].producer.value();
  const int32_t call = calls_.UnitCall(maker, home.depth);
  if (call < 0 || home.frame < 0) return -1;
  const CallSpan& norm = calls_.span(call);
  if (norm.begin + 1 != norm.end || norm.begin != calls_.span(home.frame).begin) return -1;
  const bool activates = Contains(kActivatedNorms, graph_.nodes[NodeId(norm.begin)].op) &&
                         Contains(kActivations, graph_.nodes[NodeId(norm.end)].op);
  if (!activates) return -1;
  const TensorId argument = graph_.nodes[NodeId(norm.begin)].inputs[0];
  const auto& readers = graph_.tensors[argument].consumers;
  const int32_t end = calls_.EndOfFrameAt(maker, home.depth);
  const auto in_frame = [&](NodeId reader) { return reader.value() >= norm.begin && reader.value() <= end; };
  const bool again = std::count_if(readers.begin(), readers.end(), in_frame) > 1 ||
                     graph_.tensors[id].consumers.size() > 1;
  return again ? end : -1;
}

// feat = self.conv_first(x); body_feat = self.conv_body(self.body(feat)); feat = feat + body_feat: the sum around the
// whole body of a model. In blocks, and in sums that a loop makes, x = x + self.f(x) is one statement.
int32_t Locals::HeldAsTrunk(TensorId id, const Home& home) const {
  const auto& readers = graph_.tensors[id].consumers;
  if (home.depth != 0 || readers.size() != 1 || graph_.nodes[readers[0]].op != "add") return -1;
  const Node& sum = graph_.nodes[readers[0]];
  const TensorId head = sum.inputs[0];
  if (sum.inputs[1] != id || !head.valid()) return -1;
  const int32_t maker = calls_.UnitEnd(graph_.tensors[id].producer.value(), 0);
  const int32_t call = calls_.UnitCall(maker, 0);
  if (call < 0 || maker + 1 != readers[0].value() || IsElement(calls_.span(call).name)) return -1;
  const auto rounds = makers_.find({-1, Signature(sum.outputs[0], 0, 1)});
  if (rounds == makers_.end() || rounds->second.size() != 1) return -1;
  const std::vector<int32_t> units = ReadingUnits(head, home);
  return units.size() == 2 && units[0] < calls_.span(call).begin ? UntilRebound(id, home) : -1;
}

}  // namespace onnx_mem::names
