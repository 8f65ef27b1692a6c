// The part of locals.h about what may be: names that no habit tells of, but that code like this may give.
#include <algorithm>
#include <array>
#include <string_view>

#include "absl/hash/hash.h"
#include "analyzer/assume/names/contains.h"
#include "analyzer/assume/names/locals.h"

namespace onnx_mem::names {
namespace {

constexpr auto kActivationOps = std::to_array<std::string_view>(
    {"relu", "relu6", "leaky_relu", "prelu", "elu", "selu", "celu", "gelu", "silu", "mish", "hardswish", "hardsigmoid",
     "tanh", "sigmoid", "softplus"});
constexpr auto kOneOperandOps =
    std::to_array<std::string_view>({"mul_scalar", "div_scalar", "add_scalar", "sub_scalar", "rsub_scalar",
                                     "pow_scalar", "neg", "exp", "sqrt", "rsqrt", "log", "abs"});

}  // namespace

// b1 = self.b1(x); b2 = self.b2(b1); ...; y = self.last(b1 + b7): read again behind more steps than a residual branch
// in one function has (norm, layer, dropout, scale).
bool Locals::ReadsLate(TensorId id, const Home& home) const {
  constexpr size_t kStepsOfBranch = 5;
  const Units units = ReadingUnits(id, home);
  if (units.size() < 2) return false;
  size_t steps = 0;
  for (int32_t at = units.front(); at < units.back() && steps <= kStepsOfBranch; ++steps)
    at = calls_.UnitEnd(at + 1, home.depth);
  return steps > kStepsOfBranch;
}

// What made the value, and what made the newest operand of that, whatever the round of a loop: x = x + layer(x).
size_t Locals::RoundSignature(TensorId id) const {
  const NodeId producer = graph_.tensors[id].producer;
  NodeId newest;
  for (TensorId input : graph_.nodes[producer].inputs) {
    const NodeId maker = input.valid() ? graph_.tensors[input].producer : NodeId();
    if (maker.valid() && (!newest.valid() || newest < maker)) newest = maker;
  }
  size_t hash = absl::HashOf(output_number_[id]);
  for (NodeId maker : {producer, newest}) {
    if (maker.valid())
      hash = absl::HashOf(hash, graph_.nodes[maker].op, WithoutElementNumbers(graph_.nodes[maker].module));
  }
  return hash;
}

// for layer in self.layers: x = layer(x); outs.append(x): where one round's result is read behind the next round's, the
// code has a list or a dictionary, and that may have all of them.
void Locals::FindCollected() {
  absl::flat_hash_map<Round, TensorIds> rounds;
  std::set<int32_t> calls_with_result;
  for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph_.tensors[id];
    if (!tensor.producer.valid() || tensor.consumers.empty() || !IsFloating(tensor.dtype)) continue;
    const Home home = HomeOf(id);
    const int32_t call = calls_.UnitCall(tensor.producer.value(), home.depth);
    if (call >= 0 && !calls_with_result.insert(call).second) unpacked_.insert(KindOfCall(call, home));
    if (ReadsLate(id, home)) naming_frames_.insert(home.frame);
    if (!popped_.contains(id)) rounds[{home.frame, RoundSignature(id)}].push_back(id);
  }
  for (auto& [round, values] : rounds) {
    std::sort(values.begin(), values.end(), [&](TensorId a, TensorId b) {
      return graph_.tensors[a].producer < graph_.tensors[b].producer;
    });
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      const Home home = HomeOf(values[i]);
      const Units units = ReadingUnits(values[i], home);
      const int32_t next = calls_.UnitEnd(graph_.tensors[values[i + 1]].producer.value(), home.depth);
      if (!units.empty() && units.back() > next) collected_.insert(round);
    }
    if (collected_.contains(round)) FindBatches(values);
  }
}

// for step in steps: ks = [f(x), f(x), f(x)]; x = x + sum(ks): where all of some values have been read before the next is
// made, several times, each batch has names or a list of its own, which go when the next has them. `values`: of one
// round, in order.
void Locals::FindBatches(const TensorIds& values) {
  std::vector<size_t> begins;
  int32_t last = -1;
  size_t of_several = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor& tensor = graph_.tensors[values[i]];
    if (i == 0 || tensor.producer.value() >= last) begins.push_back(i);
    for (NodeId reader : tensor.consumers) last = std::max(last, reader.value());
  }
  begins.push_back(values.size());
  for (size_t b = 0; b + 1 < begins.size(); ++b) of_several += begins[b + 1] - begins[b] > 1 ? 1 : 0;
  if (of_several < 2) return;
  for (size_t b = 0; b + 2 < begins.size(); ++b) {
    const int32_t next = graph_.tensors[values[begins[b + 2] - 1]].producer.value();
    for (size_t i = begins[b]; i < begins[b + 1]; ++i) batch_ends_[values[i]] = next;
  }
}

// F.relu(self.conv(x)), torch.exp(-0.5 * s): what one function or number takes at once, and nothing else, stands in the
// same expression, or its name is given anew. A piece of a split has its name from there, and a gate,
// gate * F.silu(up), often.
bool Locals::IsWithinExpression(TensorId id, const Home& home) const {
  const Tensor& tensor = graph_.tensors[id];
  if (tensor.consumers.size() != 1 || IsSplitPiece(id)) return false;
  const NodeId reader = tensor.consumers[0];
  const bool is_own = calls_.of_node(reader.value()).size() == home.depth;
  if (!is_own || calls_.UnitEnd(tensor.producer.value(), home.depth) + 1 != reader.value()) return false;
  const Node& node = graph_.nodes[reader];
  if (Contains(kOneOperandOps, node.op)) return true;
  if (!Contains(kActivationOps, node.op)) return false;
  const NodeIds& after = graph_.tensors[node.outputs[0]].consumers;
  return after.size() != 1 || graph_.nodes[after[0]].op != "mul";
}

// Calls that differ in numbers alone, by the frame in whose code they stand.
std::pair<int32_t, std::string> Locals::KindOfCall(int32_t call, const Home& home) const {
  return {home.frame, WithoutDigits(WithoutCallNumber(calls_.span(call).name))};
}

// residual, skip = layer(x): a call gives several values, or one like it in the same code does.
bool Locals::IsUnpacked(int32_t call, const Home& home) const {
  return call >= 0 && unpacked_.contains(KindOfCall(call, home));
}

// Made anew in each round of a loop.
bool Locals::IsOfLoop(TensorId id, const Home& home) const {
  const auto rounds = statements_.find({home.frame, StatementSignature(id, home.depth)});
  return rounds != statements_.end() && rounds->second.size() > 1;
}

// A container (Sequential) passes values from element to element and names none: "m.0" called by m itself, where a loop
// over a ModuleList calls it from the frame around.
bool Locals::IsPassedOn(int32_t call, const Home& home) const {
  const std::string_view name = calls_.span(call).name;
  if (!IsElement(name)) return false;
  const size_t dot = name.rfind('.');
  const std::string_view owner = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  return WithoutCallNumber(owner) ==
         WithoutCallNumber(home.frame < 0 ? std::string_view() : calls_.span(home.frame).name);
}

// x1 = self.block1(x); x2 = self.block2(x1): where code numbers modules that have code of their own, it may number what
// they make. Lists' elements have their numbers from the list.
bool Locals::AreNumbered(int32_t call, int32_t next) const {
  const CallSpan &first = calls_.span(call), &second = calls_.span(next);
  return first.begin < first.end && second.begin < second.end && !IsElement(first.name) &&
         WithoutDigits(first.name) == WithoutDigits(second.name);
}

PossibleName Locals::PossibleNameOf(TensorId id) const {
  PossibleName name = NameInFrame(id);
  if (name.until >= 0 && IsWithinExpression(id, HomeOf(id))) name.most = 0;
  return name;
}

PossibleName Locals::NameInFrame(TensorId id) const {
  constexpr size_t kSeveral = 8, kTwo = 2, kOne = 1;
  const Tensor& tensor = graph_.tensors[id];
  if (!tensor.producer.valid() || tensor.consumers.empty()) return {};
  const Home home = HomeOf(id);
  const int32_t call = calls_.UnitCall(tensor.producer.value(), home.depth);
  if (call >= 0 && IsPassedOn(call, home)) return {};
  const int32_t end = calls_.EndOfFrameAt(tensor.producer.value(), home.depth);
  // d1 = self.d1(x); d2 = self.d2(d1); u1 = self.u1(d2, d1): code that needs several names may name all.
  if (skip_frames_.contains(home.frame)) return {end, home.frame, kAllNames};
  if (collected_.contains({home.frame, RoundSignature(id)})) {
    const auto batch = batch_ends_.find(id);
    return {batch == batch_ends_.end() ? end : std::min(end, batch->second), home.frame, kAllNames};
  }
  if (naming_frames_.contains(home.frame) && call >= 0 && !IsOfLoop(id, home)) return {end, home.frame, kSeveral};
  // x = self.conv(x); x = self.bn(x): modules one after the other work on one name, or are nested,
  // x = self.relu(self.bn(self.conv(x))).
  const Units units = ReadingUnits(id, home);
  // x = f(x); x = g(x): of a chain of values that one statement reads each, code that gives no name anew has few.
  const size_t most = units.size() == 1 && !IsUnpacked(call, home) ? kOne : kTwo;
  const int32_t reader = units.size() == 1 ? calls_.UnitCall(units[0], home.depth) : -1;
  const bool adjacent = call >= 0 && reader >= 0 && calls_.span(reader).begin == calls_.span(call).end + 1;
  if (!adjacent) return {UntilRebound(id, home), home.frame, most};
  if (AreNumbered(call, reader) && !IsOfLoop(id, home)) return {end, home.frame, kSeveral};
  int32_t nested = EndOfNestedCalls(units[0], home);
  for (int32_t next = NextInStatement(nested, home); next >= 0; next = NextInStatement(nested, home)) nested = next;
  return {std::max(nested, EndOfOuterCall(units[0], home)), home.frame, most};  // x = self.conv(x); x = F.relu(self.bn(x))
}

// return self.head(self.norm(x)): the end of the call that takes the only result of the norm that ends at `unit`.
int32_t Locals::EndOfOuterCall(int32_t unit, const Home& home) const {
  const TensorId result = OnlyResult(unit, home.depth);
  if (!result.valid() || HomeOf(result).frame != home.frame || !IsNormCall(unit, home)) return -1;
  const Units units = ReadingUnits(result, home);
  const int32_t call = units.size() == 1 ? calls_.UnitCall(units[0], home.depth) : -1;
  return call >= 0 && calls_.span(call).begin == unit + 1 ? units[0] : -1;
}

}  // namespace onnx_mem::names
