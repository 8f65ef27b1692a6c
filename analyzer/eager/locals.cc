#include "analyzer/eager/locals.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "analyzer/eager/expressions.h"

namespace onnx_mem::eager {
namespace {

template <class Range>
bool Contains(const Range& range, std::string_view op) {
  return std::find(range.begin(), range.end(), op) != range.end();
}

// Functions that are written around the call whose result they take: F.relu(self.conv(x)).
constexpr auto kWrapping = std::to_array<std::string_view>({
    "relu", "leaky_relu", "relu6", "elu", "selu", "celu", "gelu", "silu", "mish", "hardswish", "hardsigmoid", "sigmoid",
    "tanh", "softplus", "max_pool", "avg_pool", "slice", "reshape", "permute", "unsqueeze", "squeeze", "mul_scalar",
    "div_scalar",
});
// Functions that are written inside the argument list of a call: self.conv(F.interpolate(x)).
constexpr auto kPreparing = std::to_array<std::string_view>({"upsample", "cat", "pad"});
// A result that takes over the name of its operand: x = x + f(x), x = x.masked_fill(x == 0, y).
constexpr auto kRebinding = std::to_array<std::string_view>({"add", "sub", "mul", "div", "cat", "mul_scalar", "compare", "where"});
// Layers whose call stands inside another call's argument list: F.relu(self.bn(self.conv(x))).
constexpr auto kNorms =
    std::to_array<std::string_view>({"batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm"});

bool IsProduct(const Node& node) { return node.op == "matmul" || node.op == "bmm" || node.op == "sdpa"; }

}  // namespace

Locals::Locals(const Graph& graph, const Calls& calls)
    : graph_(graph), calls_(calls), needs_name_(NeedNames(graph, calls)) {
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    if (!graph.tensors[id].producer.valid()) continue;
    const Home home = HomeOf(id);
    makers_[{home.frame, Signature(id, home.depth, 1)}].push_back(graph.tensors[id].producer.value());
  }
  for (auto& [key, nodes] : makers_) std::sort(nodes.begin(), nodes.end());
  for (const CallSpan& call : calls.spans()) {
    if (call.begin != call.end || !Contains(kNorms, graph.nodes[NodeId(call.begin)].op)) continue;
    const TensorId result = graph.nodes[NodeId(call.begin)].outputs[0];
    const size_t depth = calls.of_node(call.begin).size() - 1;
    const Home home = HomeOf(result);
    const auto& readers = graph.tensors[result].consumers;
    if (home.depth != depth || readers.size() != 1 || !Wraps(readers[0].value(), depth)) continue;
    wrapped_norms_.insert({home.frame, WithoutDigits(call.name)});
  }
  FindNumberedJoins();
  FindSkipFrames();
}

// out = F.relu(self.bn1(self.conv1(x))); out = self.bn2(self.conv2(out)): code that nests one layer nests the others.
bool Locals::IsWrappedElsewhere(int32_t norm, const Home& home) const {
  const std::string& name = calls_.span(calls_.UnitCall(norm, home.depth)).name;
  return wrapped_norms_.contains({home.frame, WithoutDigits(name)});
}

Locals::Home Locals::HomeOf(TensorId id) const {
  const Tensor& tensor = graph_.tensors[id];
  const std::span<const int32_t> maker = calls_.of_node(tensor.producer.value());
  size_t depth = maker.size();
  for (NodeId reader : tensor.consumers) {
    const std::span<const int32_t> inside = calls_.of_node(reader.value());
    size_t common = 0;
    while (common < depth && common < inside.size() && inside[common] == maker[common]) ++common;
    depth = common;
  }
  return {depth, depth == 0 ? -1 : maker[depth - 1]};
}

// What made the value, as seen from the frame at `depth`, and what made the first operand of that.
size_t Locals::Signature(TensorId id, size_t depth, int levels) const {
  const NodeId producer = graph_.tensors[id].producer;
  if (!producer.valid()) return 0;
  const Node& node = graph_.nodes[producer];
  const int32_t call = calls_.UnitCall(producer.value(), depth);
  size_t hash = absl::HashOf(node.op, call < 0 ? std::string() : WithoutDigits(calls_.span(call).name));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == id) hash = absl::HashOf(hash, i);
  }
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

std::vector<int32_t> Locals::ReadingUnits(TensorId id, const Home& home) const {
  std::vector<int32_t> units;
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
  const int32_t begin = call < 0 ? unit_end : calls_.span(call).begin;
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

// A function, rather than a module, that the code of the frame calls on the result of `unit`.
bool Locals::Wraps(int32_t unit, size_t depth) const {
  return calls_.UnitCall(unit, depth) < 0 && Contains(kWrapping, graph_.nodes[NodeId(unit)].op);
}

// x = torch.cat([token, x], 1) with a learned token is a statement of its own.
bool Locals::Prepares(int32_t unit, size_t depth) const {
  const Node& node = graph_.nodes[NodeId(unit)];
  if (calls_.UnitCall(unit, depth) >= 0 || !Contains(kPreparing, node.op)) return false;
  return std::none_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) { return IsToken(input); });
}

// The unit of `home` that goes on with the only result of `unit`, and with no other statement in between; -1 if none.
int32_t Locals::NextInStatement(int32_t unit, const Home& home) const {
  const auto only_reader = [&](int32_t of) {
    const TensorId result = OnlyResult(of, home.depth);
    if (!result.valid() || HomeOf(result).frame != home.frame) return -1;
    const std::vector<int32_t> readers = ReadingUnits(result, home);
    return readers.size() == 1 ? readers[0] : -1;
  };
  const auto is_call = [&](int32_t of) { return of >= 0 && calls_.UnitCall(of, home.depth) >= 0; };
  const int32_t next = only_reader(unit);
  if (next < 0) return -1;
  const auto is_product = [&](int32_t of) {
    return calls_.UnitCall(of, home.depth) < 0 && IsProduct(graph_.nodes[NodeId(of)]);
  };
  if (is_call(unit)) {
    if (Wraps(next, home.depth)) return next;
    if (is_product(next)) return StandsInProduct(OnlyResult(unit, home.depth), next) ? next : -1;
    if (Prepares(next, home.depth)) {
      return !NamesItsParts(next, unit, home) && is_call(only_reader(next)) ? next : -1;
    }
    if (ActivatesBesideAttention(unit, next, home)) return next;
    if (!is_call(next) || !Contains(kNorms, graph_.nodes[NodeId(next)].op)) return -1;
    const int32_t after = only_reader(next);
    return (after >= 0 && Wraps(after, home.depth)) || IsWrappedElsewhere(next, home) ? next : -1;
  }
  if (Prepares(unit, home.depth)) return is_call(next) ? next : -1;
  return (is_product(unit) || Wraps(unit, home.depth)) && Wraps(next, home.depth) ? next : -1;
}

// `x = F.relu(self.conv(F.interpolate(x)))`: x has its name until the whole right-hand side is done. What is made on
// the way has none.
int32_t Locals::EndOfStatement(TensorId id, const Home& home) const {
  const std::vector<int32_t> units = ReadingUnits(id, home);
  const int32_t maker = calls_.UnitEnd(graph_.tensors[id].producer.value(), home.depth);
  if (units.empty() || FeedsGaussian(id)) return -1;
  if (units.size() == 1 && NextInStatement(maker, home) == units[0]) return -1;
  if (StandsInList(id, graph_.nodes[NodeId(units[0])]) || IsRebound(id, graph_.nodes[NodeId(units.back())])) return -1;
  int32_t end = -1;
  for (int32_t unit = units.back(); unit >= 0; unit = NextInStatement(unit, home)) {
    if (calls_.UnitCall(unit, home.depth) < 0 && !Prepares(unit, home.depth) && end < 0) return -1;
    end = unit;
  }
  return end;
}

// adjacency @ self.linear(x): what a call hands straight to the product needs no name.
bool Locals::StandsInProduct(TensorId id, int32_t product) const {
  if (IsNormalized(id) || IsScaledInProduct(id)) return true;
  if (IsSoftmaxOfSum(id)) return false;
  const int32_t maker = graph_.tensors[id].producer.value();
  const size_t depth = calls_.of_node(product).size();
  return calls_.UnitCall(maker, depth) >= 0 && calls_.UnitEnd(maker, depth) + 1 == product;
}

// logvar -> exp(0.5 * logvar): the deviation of a Gaussian.
bool Locals::IsExponentiated(TensorId id) const {
  constexpr int kMostSteps = 2;
  for (int step = 0; step < kMostSteps && id.valid() && graph_.tensors[id].consumers.size() == 1; ++step) {
    const Node& reader = graph_.nodes[graph_.tensors[id].consumers[0]];
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

// mu, logvar = self.encode(x); z = self.reparameterize(mu, logvar); return self.decode(z): names of the model's
// forward, while what the heads read was one of encode(), a method that has returned (pytorch/examples/vae).
bool Locals::IsGaussianName(TensorId id) const {
  const Node& node = graph_.nodes[graph_.tensors[id].producer];
  if (node.op == "add") {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) {
      return input.valid() && graph_.tensors[input].producer.valid() &&
             graph_.nodes[graph_.tensors[input].producer].op != "add" && IsGaussianName(input);
    });
  }
  return !node.inputs.empty() && node.inputs[0].valid() && node.inputs[0] != id && FeedsGaussian(node.inputs[0]);
}

// x1 = self.inc(x); x2 = self.down(x1); ...; x = self.up(x, x1): what a later call takes beside a newer value that ends
// there, whose name the result takes over.
bool Locals::IsSkip(TensorId id, const Home& home, const std::vector<int32_t>& units) const {
  const int32_t call = calls_.UnitCall(units.back(), home.depth);
  if (call < 0 || calls_.span(call).begin <= units[units.size() - 2] + 1) return false;
  const int32_t before = calls_.UnitCall(units[units.size() - 2], home.depth);
  if (before >= 0 && WithoutCallNumber(calls_.span(before).name) == WithoutCallNumber(calls_.span(call).name)) return false;
  if (!OnlyResult(units.back(), home.depth).valid()) return false;
  const CallSpan& span = calls_.span(call);
  for (int32_t i = span.begin; i <= span.end; ++i) {
    for (TensorId other : graph_.nodes[NodeId(i)].inputs) {
      if (!other.valid() || !graph_.tensors[other].producer.valid()) continue;
      const int32_t made = graph_.tensors[other].producer.value();
      if (made >= span.begin || made <= graph_.tensors[id].producer.value() || HomeOf(other).frame != home.frame) continue;
      const auto& readers = graph_.tensors[other].consumers;
      if (std::all_of(readers.begin(), readers.end(), [&](NodeId r) { return r.value() <= span.end; })) return true;
    }
  }
  return false;
}

// Several statements read it, and the last does not assign its name anew.
bool Locals::IsNamed(TensorId id, const Home& home) const {
  const std::vector<int32_t> units = ReadingUnits(id, home);
  if (units.size() < 2 || FeedsGaussian(id)) return false;
  if (IsSkip(id, home, units)) return true;
  const TensorId last = OnlyResult(units.back(), home.depth), other = OnlyResult(units[units.size() - 2], home.depth);
  if (!last.valid() || !other.valid()) return false;
  if (Contains(kRebinding, graph_.nodes[NodeId(units.back())].op)) return false;
  return graph_.tensors[last].shape == graph_.tensors[other].shape;
}

// joined = torch.cat(features, 1); return self.conv(self.relu(self.norm(joined))): a joined list has a name, and the
// layer that is normalized before it is convolved stands in one statement. The end of that statement, -1 if there is none.
int32_t Locals::EndOfPreactivation(TensorId id, const Home& home) const {
  const NodeId maker = graph_.tensors[id].producer;
  if (graph_.nodes[maker].op != "cat" || calls_.UnitCall(maker.value(), home.depth) >= 0) return -1;
  const auto next = [&](TensorId value) {
    const std::vector<int32_t> units = value.valid() ? ReadingUnits(value, home) : std::vector<int32_t>();
    return units.size() == 1 && calls_.UnitCall(units[0], home.depth) >= 0 ? units[0] : -1;
  };
  int32_t unit = next(id);
  if (unit < 0) return -1;
  const int32_t call = calls_.UnitCall(unit, home.depth);
  if (!Contains(kNorms, graph_.nodes[NodeId(calls_.span(call).begin)].op)) return -1;
  unit = next(OnlyResult(unit, home.depth));
  if (unit >= 0 && Contains(kWrapping, graph_.nodes[NodeId(unit)].op)) unit = next(OnlyResult(unit, home.depth));
  return unit >= 0 && graph_.nodes[NodeId(unit)].op == "conv" ? unit : -1;
}

// y = self.a(x); z = self.b(x); return self.act(y) * z: what waits for another call before a call reads it alone has a
// name. The name goes on only where that call's result waits as well: y = self.act(y).
int32_t Locals::HeldAcrossCall(TensorId id, const Home& home) const {
  const int32_t maker = graph_.tensors[id].producer.value();
  const auto begin = [&](int32_t unit) {
    const int32_t call = calls_.UnitCall(unit, home.depth);
    return call < 0 ? unit : calls_.span(call).begin;
  };
  if (calls_.UnitCall(maker, home.depth) < 0) return -1;
  const std::vector<int32_t> units = ReadingUnits(id, home);
  if (units.size() != 1 || begin(units[0]) == calls_.UnitEnd(maker, home.depth) + 1) return -1;
  if (calls_.UnitCall(units[0], home.depth) < 0 || begin(units[0]) != units[0]) return -1;
  const TensorId result = OnlyResult(units[0], home.depth);
  const std::vector<int32_t> next = result.valid() ? ReadingUnits(result, home) : std::vector<int32_t>();
  if (next.size() != 1 || begin(next[0]) != units[0] + 1) return -1;
  return UntilRebound(id, home);
}

// x = x + f(x), x = x + self.position: the sum takes over the name of its operand.
bool Locals::IsResidual(NodeId sum) const {
  const Node& node = graph_.nodes[sum];
  for (size_t i : {0, 1}) {
    const TensorId x = node.inputs[i], branch = node.inputs[1 - i];
    if (!x.valid() || !branch.valid() || !graph_.tensors[x].producer.valid()) return true;
    const int32_t made = graph_.tensors[branch].producer.value();
    const auto& readers = graph_.tensors[x].consumers;
    const auto is_before = [&](NodeId reader) { return reader < sum && reader.value() <= made; };
    if (std::any_of(readers.begin(), readers.end(), is_before)) return true;
  }
  return false;
}

// LayerNorm(a + b): the operands of a sum that is itself the argument of the next module call.
int32_t Locals::HeldBySumInCall(TensorId id) const {
  int32_t last = -1;
  for (NodeId reader : graph_.tensors[id].consumers) {
    const Node& node = graph_.nodes[reader];
    if (node.op != "add" || !node.outputs[0].valid()) continue;
    const std::vector<NodeId>& next = graph_.tensors[node.outputs[0]].consumers;
    if (next.size() != 1) continue;
    if (IsResidual(reader) && !Contains(kNorms, graph_.nodes[next[0]].op)) continue;
    const std::span<const int32_t> outer = calls_.of_node(reader.value()), inner = calls_.of_node(next[0].value());
    if (inner.size() < outer.size() || !std::equal(outer.begin(), outer.end(), inner.begin())) continue;
    last = std::max(last, calls_.EndOfCallEntered(reader.value(), next[0].value()).value_or(-1));
  }
  return last;
}

// x = self.head(x); out = self.body(x); out += x; return self.tail(out): the sum takes over the name of its first operand,
// the second keeps its own. -1 for sums that a loop makes again and again.
int32_t Locals::HeldBySum(TensorId id, const Home& home) const {
  for (NodeId reader : graph_.tensors[id].consumers) {
    const Node& node = graph_.nodes[reader];
    if (node.op != "add" || calls_.of_node(reader.value()).size() != home.depth || !node.outputs[0].valid()) continue;
    const TensorId other = node.inputs[0];
    if (!other.valid() || other == id || !graph_.tensors[other].producer.valid()) continue;
    if (graph_.tensors[other].producer < graph_.tensors[id].producer) continue;
    if (graph_.tensors[other].shape != graph_.tensors[id].shape || HomeOf(other).frame != home.frame) continue;
    const Home sum_home = HomeOf(node.outputs[0]);
    auto it = makers_.find({sum_home.frame, Signature(node.outputs[0], sum_home.depth, 1)});
    if (it != makers_.end() && it->second.size() == 1) return calls_.EndOfFrameAt(reader.value(), home.depth);
  }
  return -1;
}

int32_t Locals::HeldUntil(TensorId id) const {
  const Tensor& tensor = graph_.tensors[id];
  if (!tensor.producer.valid()) return -1;
  const Home home = HomeOf(id);
  int32_t last = HeldBySumInCall(id);
  last = std::max(last, HeldBySum(id, home));
  if (IsSplitPiece(id)) {
    const size_t depth = calls_.of_node(tensor.producer.value()).size();
    last = std::max(last, UntilRebound(id, {depth, depth == 0 ? -1 : calls_.of_node(tensor.producer.value()).back()}));
  }
  for (NodeId reader : tensor.consumers) {
    const Node& node = graph_.nodes[reader];
    const bool is_operand = IsProduct(node) && !StandsInProduct(id, reader.value());
    if (is_operand || (node.op == "cat" && IsNamedPart(id, node))) {
      last = std::max(last, calls_.EndOfFrame(reader.value()));
    }
    if (node.op == "cat") last = std::max(last, HeldByCallersList(reader));
  }
  if (IsGaussianName(id) || IsNamed(id, home)) last = std::max(last, UntilRebound(id, home));
  last = std::max({last, EndOfStatement(id, home), EndOfPreactivation(id, home), HeldAcrossCall(id, home),
                   HeldOutOfOrder(id, home), HeldByHead(id, home), HeldByProjection(id, home), HeldAsScores(id, home),
                   HeldAsNormalized(id, home), HeldByWeightedSum(id, home), HeldByLongOperands(id, home),
                   HeldAsPreactivation(id, home), HeldAsTrunk(id, home), HeldAsUnpacked(id, home),
                   HeldBesideSkip(id, home), HeldByNewName(id, home), HeldAsGatedSkip(id, home),
                   HeldByNumbers(id, home)});
  const int32_t method = EndOfAttentionMethod(id, home);
  return method < 0 ? last : std::min(last, method);
}

// A container (Sequential) passes values from element to element and names none: "m.0" called by m itself, where a loop
// over a ModuleList calls it from the frame around.
bool Locals::IsPassedOn(int32_t call, const Home& home) const {
  const std::string_view name = calls_.span(call).name;
  if (!IsElement(name)) return false;
  const size_t dot = name.rfind('.');
  const std::string_view owner = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  return WithoutCallNumber(owner) == WithoutCallNumber(home.frame < 0 ? std::string_view() : calls_.span(home.frame).name);
}

int32_t Locals::NamedUntil(TensorId id) const {
  const Tensor& tensor = graph_.tensors[id];
  if (!tensor.producer.valid() || tensor.consumers.empty()) return -1;
  const Home home = HomeOf(id);
  const int32_t call = calls_.UnitCall(tensor.producer.value(), home.depth);
  if (call >= 0 && IsPassedOn(call, home)) return -1;
  // x = self.conv(x); x = self.bn(x): modules one after the other work on one name, or are nested.
  const std::vector<int32_t> units = ReadingUnits(id, home);
  const int32_t reader = units.size() == 1 ? calls_.UnitCall(units[0], home.depth) : -1;
  const bool adjacent = call >= 0 && reader >= 0 && calls_.span(reader).begin == calls_.span(call).end + 1;
  if (!skip_frames_.contains(home.frame)) return adjacent ? -1 : UntilRebound(id, home);
  // d1 = self.d1(x); d2 = self.d2(d1); u1 = self.u1(d2, d1): code that needs several names may name all.
  return calls_.EndOfFrameAt(tensor.producer.value(), home.depth);
}

}  // namespace onnx_mem::eager
