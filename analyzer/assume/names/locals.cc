#include "analyzer/assume/names/locals.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/hash/hash.h"
#include "analyzer/assume/names/contains.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem::names {
namespace {

// A result that takes over the name of its operand: x = x + f(x), x = x.masked_fill(x == 0, y).
bool Rebinds(const OpName& op) {
  return IsTensorArithmetic(op) || op == "cat" || op == "mul_scalar" || op == "compare" || op == "where";
}

}  // namespace

Locals::Locals(const FrameworkGraph& graph, const Calls& calls, bool guess)
    : graph_(graph),
      calls_(calls),
      guess_(guess),
      output_number_(graph.tensors.size(), 0),
      takes_token_(graph.nodes.size(), false) {
  for (NodeId node(0); graph.nodes.contains(node); node = NodeId(node.value() + 1)) {
    const auto& inputs = graph.nodes[node].inputs;
    takes_token_[node] = std::any_of(inputs.begin(), inputs.end(), [&](TensorId input) { return IsToken(input); });
    int32_t number = 0;
    for (TensorId output : graph.nodes[node].outputs) {
      if (output.valid()) output_number_[output] = number;
      ++number;
    }
  }
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    if (!graph.tensors[id].producer.valid()) continue;
    const Home home = HomeOf(id);
    makers_[{home.frame, Signature(id, home.depth, 1)}].push_back(graph.tensors[id].producer.value());
    statements_[{home.frame, StatementSignature(id, home.depth)}].push_back(graph.tensors[id].producer.value());
  }
  for (auto& [key, nodes] : makers_) std::sort(nodes.begin(), nodes.end());
  for (auto& [key, nodes] : statements_) std::sort(nodes.begin(), nodes.end());
  FindWrappedNorms();
  FindSkipFrames();
  FindPoppedSkips();
  FindPossible();
}

bool Locals::IsProduct(const FrameworkNode& node) {
  const bool contracts = node.op == "einsum" && node.inputs.size() == 2;
  return contracts || node.op == "matmul" || node.op == "bmm" || node.op == "sdpa";
}

Locals::Home Locals::HomeOf(TensorId id) const { return HomeAt(id, calls_.CommonDepth(graph_, id)); }

Locals::Home Locals::HomeAt(TensorId id, size_t depth) const {
  return {depth, depth == 0 ? -1 : calls_.of_node(graph_.tensors[id].producer.value())[depth - 1]};
}

// What made the value, as seen from the frame at `depth`, and what made the first operand of that.
size_t Locals::Signature(TensorId id, size_t depth, int levels) const {
  const NodeId producer = graph_.tensors[id].producer;
  if (!producer.valid()) return 0;
  const FrameworkNode& node = graph_.nodes[producer];
  const int32_t call = calls_.UnitCall(producer.value(), depth);
  size_t hash =
      absl::HashOf(node.op, call < 0 ? std::string() : WithoutDigits(WithoutCallNumber(calls_.span(call).name)));
  hash = absl::HashOf(hash, output_number_[id]);
  if (levels > 0 && !node.inputs.empty() && node.inputs[0].valid()) {
    hash = absl::HashOf(hash, Signature(node.inputs[0], depth, levels - 1));
  }
  return hash;
}

// A name of the frame ends when the same statement assigns it again, else when the frame returns.
int32_t Locals::UntilRebound(TensorId id, const Home& home) const {
  const Tensor& tensor = graph_.tensors[id];
  int32_t last = tensor.producer.value();
  for (NodeId reader : tensor.consumers) last = std::max(last, reader.value());
  const int32_t end = calls_.EndOfFrameAt(tensor.producer.value(), home.depth);
  auto it = makers_.find({home.frame, Signature(id, home.depth, 1)});
  if (it == makers_.end()) return end;
  // x = x + f(x): what reads it last may be what assigns it.
  auto next = last > tensor.producer.value() ? std::lower_bound(it->second.begin(), it->second.end(), last)
                                             : std::upper_bound(it->second.begin(), it->second.end(), last);
  return next == it->second.end() ? end : std::min(end, *next);
}

// What made the value in the code of the frame at `depth`, back to the call that the statement began with: the name of
// that call tells q from k and v, where its number (self.layers[i].q) does not tell one round of a loop from the next.
size_t Locals::StatementSignature(TensorId id, size_t depth) const {
  constexpr int kMostSteps = 8;
  size_t hash = 0;
  for (int step = 0; step < kMostSteps && id.valid() && graph_.tensors[id].producer.valid(); ++step) {
    const int32_t maker = graph_.tensors[id].producer.value();
    const FrameworkNode& node = graph_.nodes[NodeId(maker)];
    hash = absl::HashOf(hash, node.op, output_number_[id]);
    if (calls_.of_node(maker).size() < depth) break;
    const int32_t call = calls_.UnitCall(maker, depth);
    if (call >= 0) return absl::HashOf(hash, WithoutElementNumbers(WithoutCallNumber(calls_.span(call).name)));
    id = node.inputs.empty() ? TensorId() : node.inputs[0];
  }
  return hash;
}

// for layer in self.layers: q, k = layer.q(x), layer.k(x); x = softmax(q @ k) @ ...: where the next round of a loop in
// the function assigns the name anew, after the node `last`; else where the function returns.
int32_t Locals::EndOfRound(TensorId id, int32_t last, const Home& home) const {
  const int32_t end = calls_.EndOfFrameAt(last, home.depth);
  const auto rounds = statements_.find({home.frame, StatementSignature(id, home.depth)});
  if (rounds == statements_.end()) return end;
  const auto next = std::upper_bound(rounds->second.begin(), rounds->second.end(), last);
  return next == rounds->second.end() ? end : std::min(end, *next);
}

Locals::Units Locals::ReadingUnits(TensorId id, const Home& home) const {
  Units units;
  const int32_t maker = calls_.UnitEnd(graph_.tensors[id].producer.value(), home.depth);
  for (NodeId reader : graph_.tensors[id].consumers) {
    const int32_t unit = calls_.UnitEnd(reader.value(), home.depth);
    if (unit != maker) units.push_back(unit);
  }
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  return units;
}

// The one value that the unit which ends at `unit_end` hands to the frame at `depth`; invalid if none or several.
TensorId Locals::OnlyResult(int32_t unit_end, size_t depth) const {
  const int32_t call = calls_.UnitCall(unit_end, depth);
  if (call < 0) return OnlyResultFrom(unit_end, unit_end);
  const std::pair<int32_t, int32_t> unit(calls_.span(call).begin, unit_end);
  const auto known = only_results_.find(unit);
  if (known != only_results_.end()) return known->second;
  return only_results_.emplace(unit, OnlyResultFrom(unit.first, unit_end)).first->second;
}

TensorId Locals::OnlyResultFrom(int32_t begin, int32_t unit_end) const {
  TensorId result;
  for (int32_t i = begin; i <= unit_end; ++i) {
    for (TensorId output : graph_.nodes[NodeId(i)].outputs) {
      if (!output.valid()) continue;
      const auto& readers = graph_.tensors[output].consumers;
      if (std::none_of(readers.begin(), readers.end(), [&](NodeId r) { return r.value() > unit_end; })) continue;
      if (result.valid()) return TensorId();
      result = output;
    }
  }
  return result;
}

// adjacency @ self.linear(x): what a call hands straight to the product needs no name.
bool Locals::StandsInProduct(TensorId id, int32_t product) const {
  const int32_t maker = graph_.tensors[id].producer.value();
  const size_t depth = calls_.of_node(product).size();
  return calls_.UnitCall(maker, depth) >= 0 && calls_.UnitEnd(maker, depth) + 1 == product;
}

// logvar -> exp(0.5 * logvar): the deviation of a Gaussian.
bool Locals::IsExponentiated(TensorId id) const {
  constexpr int kMostSteps = 2;
  for (int step = 0; step < kMostSteps && id.valid() && graph_.tensors[id].consumers.size() == 1; ++step) {
    const FrameworkNode& reader = graph_.nodes[graph_.tensors[id].consumers[0]];
    if (reader.op == "exp") return true;
    if (reader.op != "mul_scalar" && reader.op != "div_scalar") return false;
    id = reader.outputs[0];
  }
  return false;
}

// What the two heads of a variational encoder read, one of which is exponentiated.
bool Locals::FeedsGaussian(TensorId id) const {
  const auto& readers = graph_.tensors[id].consumers;
  if (readers.size() != 2) return false;
  const TensorId mean = graph_.nodes[readers[0]].outputs[0], spread = graph_.nodes[readers[1]].outputs[0];
  return mean.valid() && spread.valid() && graph_.tensors[mean].shape == graph_.tensors[spread].shape &&
         (IsExponentiated(mean) || IsExponentiated(spread));
}

// Several statements read it, and the last does not assign its name anew.
bool Locals::IsNamed(TensorId id, const Home& home) const {
  const Units units = ReadingUnits(id, home);
  if (units.size() < 2 || FeedsGaussian(id) || IsEncodingArgument(id)) return false;
  if (IsSkip(id, home, units)) return true;
  const TensorId last = OnlyResult(units.back(), home.depth), other = OnlyResult(units[units.size() - 2], home.depth);
  if (!last.valid() || !other.valid()) return false;
  if (Rebinds(graph_.nodes[NodeId(units.back())].op)) return false;
  // x = self.conv(x), the last of several: a result of its shape takes the name over, one of another shape
  // does not.
  if (graph_.tensors[last].shape != graph_.tensors[id].shape) return true;
  return graph_.tensors[last].shape == graph_.tensors[other].shape;
}

int32_t Locals::HeldUntil(TensorId id) const {
  const Tensor& tensor = graph_.tensors[id];
  if (!tensor.producer.valid()) return -1;
  const Home home = HomeOf(id);
  int32_t last = guess_ ? HeldBySumInCall(id) : -1;
  if (guess_ && IsSplitPiece(id)) {
    const size_t depth = calls_.of_node(tensor.producer.value()).size();
    last = std::max(last, UntilRebound(id, {depth, calls_.FrameOf(tensor.producer.value())}));
  }
  for (NodeId reader : tensor.consumers) {
    const FrameworkNode& node = graph_.nodes[reader];
    const bool is_operand = IsProduct(node) && !StandsInProduct(id, reader.value());
    const bool is_own = calls_.of_node(reader.value()).size() == home.depth;
    if (is_operand)
      last = std::max(last, is_own ? EndOfRound(id, reader.value(), home) : calls_.EndOfFrame(reader.value()));
    if (node.op == "cat" && IsNamedPart(id, node)) last = std::max(last, EndOfList(id, reader));
  }
  if (IsNamed(id, home)) last = std::max(last, UntilRebound(id, home));
  last = std::max({last, EndOfStatement(id, home), EndOfPreactivation(id, home)});
  return last;
}

}  // namespace onnx_mem::names
