// The part of locals.h about what may be: names that no habit tells of, but that code like this may give.
#include <algorithm>

#include "absl/hash/hash.h"
#include "analyzer/assume/names/locals.h"

namespace onnx_mem::names {

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
  for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph_.tensors[id];
    if (!tensor.producer.valid() || tensor.consumers.empty() || !IsFloating(tensor.dtype)) continue;
    const Home home = HomeOf(id);
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
  }
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
  constexpr size_t kSeveral = 8;
  const Tensor& tensor = graph_.tensors[id];
  if (!tensor.producer.valid() || tensor.consumers.empty()) return {};
  const Home home = HomeOf(id);
  const int32_t call = calls_.UnitCall(tensor.producer.value(), home.depth);
  if (call >= 0 && IsPassedOn(call, home)) return {};
  const int32_t end = calls_.EndOfFrameAt(tensor.producer.value(), home.depth);
  // d1 = self.d1(x); d2 = self.d2(d1); u1 = self.u1(d2, d1): code that needs several names may name all.
  if (skip_frames_.contains(home.frame) || collected_.contains({home.frame, RoundSignature(id)}))
    return {end, home.frame, kAllNames};
  if (naming_frames_.contains(home.frame) && call >= 0 && !IsOfLoop(id, home)) return {end, home.frame, kSeveral};
  // x = self.conv(x); x = self.bn(x): modules one after the other work on one name, or are nested,
  // x = self.relu(self.bn(self.conv(x))).
  const Units units = ReadingUnits(id, home);
  const int32_t reader = units.size() == 1 ? calls_.UnitCall(units[0], home.depth) : -1;
  const bool adjacent = call >= 0 && reader >= 0 && calls_.span(reader).begin == calls_.span(call).end + 1;
  if (!adjacent) return {UntilRebound(id, home), home.frame};
  if (AreNumbered(call, reader) && !IsOfLoop(id, home)) return {end, home.frame, kSeveral};
  int32_t nested = EndOfNestedCalls(units[0], home);
  for (int32_t next = NextInStatement(nested, home); next >= 0; next = NextInStatement(nested, home)) nested = next;
  return {std::max(nested, EndOfOuterCall(units[0], home)), home.frame};  // x = self.conv(x); x = F.relu(self.bn(x))
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
