// The part of locals.h about values that meet: what waits for another value, and which name the result takes over.
#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/eager/locals.h"

namespace onnx_mem::eager {
namespace {

constexpr auto kViews = std::to_array<std::string_view>({"reshape", "permute", "unsqueeze", "squeeze"});
constexpr auto kReductions = std::to_array<std::string_view>({"sum", "mean"});

template <class Range>
bool Contains(const Range& range, std::string_view op) {
  return std::find(range.begin(), range.end(), op) != range.end();
}

}  // namespace

// out = (x * weights.view(...)).sum(dim=1): a weighted sum that shapes its weights on the way stands in one statement, and
// what it reads keeps its name until the sum is made (ResNeSt). Weights that a module returned in their shape are
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

// def forward(self, x1, x2): x1 = self.up(x1); x = torch.cat([x2, x1], dim=1); return self.conv(x): a module that joins an
// argument with what it made. The argument stands first, so the result has a name of its own (milesial's U-Net, the most
// copied one, and monai); x = torch.cat([x, skip], 1) takes over a name (segmentation_models_pytorch, diffusers).
int32_t Locals::HeldBesideSkip(TensorId id, const Home& home) const {
  const auto& readers = graph_.tensors[id].consumers;
  if (readers.size() != 1) return -1;
  const Node& node = graph_.nodes[readers[0]];
  if (node.op != "cat" || node.inputs.size() != 2 || node.inputs[0] == id || !node.inputs[0].valid()) return -1;
  if (calls_.of_node(readers[0].value()).size() != home.depth) return -1;
  const int32_t maker = graph_.tensors[id].producer.value();
  if (calls_.UnitEnd(maker, home.depth) + 1 != readers[0].value()) return -1;
  const Tensor& skip = graph_.tensors[node.inputs[0]];
  const bool is_older = home.frame >= 0 && skip.producer.valid() && skip.producer.value() < calls_.span(home.frame).begin;
  const auto& next = graph_.tensors[node.outputs[0]].consumers;
  if (!is_older || next.size() != 1 || calls_.UnitCall(next[0].value(), home.depth) < 0) return -1;
  return calls_.UnitEnd(next[0].value(), home.depth);
}

// square_of_sum = e.sum(1) ** 2; sum_of_squares = (e ** 2).sum(1); square_of_sum - sum_of_squares: operands that take
// several operators each stand in statements of their own.
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
      at = graph_.nodes[maker].inputs.empty() ? TensorId() : graph_.nodes[maker].inputs[0];
    }
  }
  return UntilRebound(id, home);
}

}  // namespace onnx_mem::eager
