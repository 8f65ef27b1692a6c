// The part of locals.h about what may be: names that nothing tells of, but that code like this may give.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "analyzer/assume/names/locals.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem::names {
namespace {

using Life = std::pair<int32_t, int32_t>;  // the node that makes a value, and the last unit that reads it

bool AnyTwoOverlap(std::vector<Life> lives) {
  std::sort(lives.begin(), lives.end());
  int32_t last = -1;
  for (const auto& [made, read] : lives) {
    if (made < last) return true;
    last = std::max(last, read);
  }
  return false;
}

// "output.LayerNorm", "input_layernorm", "norm2": a norm by its name, whatever operators it runs.
bool NamesNorm(std::string_view call) {
  const size_t dot = call.rfind('.');
  const std::string name = absl::AsciiStrToLower(absl::string_view(call.data(), call.size()));
  return name.find("norm", dot == std::string_view::npos ? 0 : dot) != std::string::npos;
}

}  // namespace

bool Locals::IsNormCall(int32_t unit, const Home& home) const {
  const int32_t call = calls_.UnitCall(unit, home.depth);
  return call >= 0 && (IsNorm(graph_.nodes[NodeId(unit)].op) || NamesNorm(calls_.span(call).name));
}

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

// total = total + skip: the first of the values that a loop adds up is read with the second, where the code has the sum
// alone and no list of them. `values`: of one round, in order.
bool Locals::StartsSum(const TensorIds& values) const {
  if (values.size() <= 2) return false;
  const auto &first = graph_.tensors[values[0]].consumers, &second = graph_.tensors[values[1]].consumers;
  return !first.empty() && graph_.nodes[first.back()].op == "add" &&
         std::find(second.begin(), second.end(), first.back()) != second.end();
}

// for layer in self.layers: x = layer(x); outs.append(x): where one round's result is read behind the next round's, the
// code has a list or a dictionary, and that may have all of them. `values`: of one round.
void Locals::FindCollected(const Round& round, TensorIds values) {
  std::sort(values.begin(), values.end(),
            [&](TensorId a, TensorId b) { return graph_.tensors[a].producer < graph_.tensors[b].producer; });
  for (size_t i = StartsSum(values) ? 1 : 0; i + 1 < values.size(); ++i) {
    const Home home = HomeOf(values[i]);
    const Units units = ReadingUnits(values[i], home);
    const int32_t next = calls_.UnitEnd(graph_.tensors[values[i + 1]].producer.value(), home.depth);
    if (!units.empty() && units.back() > next) collected_.insert(round);
  }
  if (collected_.contains(round)) FindBatches(values);
}

// What the code of functions tells of the names that it gives: several values at a time that are read long after they
// were made, calls that give several stages, lists.
void Locals::FindPossible() {
  absl::flat_hash_map<Round, TensorIds> rounds;
  absl::flat_hash_map<int32_t, std::vector<Life>> late;  // by frame
  absl::flat_hash_map<int32_t, TensorId> first_result;   // of a call
  for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph_.tensors[id];
    if (!tensor.producer.valid() || tensor.consumers.empty() || !IsFloating(tensor.dtype)) continue;
    const Home home = HomeOf(id);
    const int32_t call = calls_.UnitCall(tensor.producer.value(), home.depth);
    if (call >= 0 && !first_result.emplace(call, id).second) {
      const Shape& first = graph_.tensors[first_result[call]].shape;
      constexpr size_t kRankOfMaps = 3;  // and more: batch, channels, length
      if (first.rank() >= kRankOfMaps && tensor.shape.rank() >= kRankOfMaps && first != tensor.shape) {
        encoders_.insert(call);
      }
    }
    if (popped_.contains(id)) continue;
    if (ReadsLate(id, home)) late[home.frame].emplace_back(tensor.producer.value(), ReadingUnits(id, home).back());
    rounds[{home.frame, RoundSignature(id)}].push_back(id);
  }
  for (const auto& [frame, lives] : late) {
    if (AnyTwoOverlap(lives)) naming_frames_.insert(frame);
  }
  for (auto& [round, values] : rounds) FindCollected(round, std::move(values));
}

// for step in steps: ks = [f(x), f(x), f(x)]; x = x + sum(ks): where all of some values have been read before the next
// is made, several times, each batch has names or a list of its own, which go when the next has them. `values`: of one
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

// outs = [x]; x = self.layers(x, outs): a container whose code joins what its elements make with what it was given may
// have got the list from its caller.
bool Locals::IsHandedIn(TensorId id, int32_t call, const Home& home) const {
  if (call < 0 || !IsPassedOn(call, home)) return false;
  const NodeIds& readers = graph_.tensors[id].consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const FrameworkNode& node = graph_.nodes[reader];
    if (node.op != "cat" || calls_.FrameOf(reader.value()) != home.frame) return false;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) {
      const NodeId maker = input.valid() ? graph_.tensors[input].producer : NodeId();
      return maker.valid() && maker.value() < calls_.span(home.frame).begin;
    });
  });
}

// x = self.layer1(x); features.append(x); x = self.layer2(x); features.append(x); return features: where an encoder
// hands out several of its stages, the list may have all.
bool Locals::IsHandedOut(TensorId id, int32_t call, const Home& home) const {
  if (call < 0 || !encoders_.contains(home.frame)) return false;
  const Units units = ReadingUnits(id, home);
  const TensorId next = units.empty() ? TensorId() : OnlyResult(units.back(), home.depth);
  return next.valid() && graph_.tensors[next].shape != graph_.tensors[id].shape;
}

int32_t Locals::CallersListOf(TensorId id) const {
  const Tensor& tensor = graph_.tensors[id];
  if (!tensor.producer.valid() || tensor.consumers.empty()) return -1;
  const Home home = HomeOf(id);
  const int32_t call = calls_.UnitCall(tensor.producer.value(), home.depth);
  if (home.depth == 0 || !(IsHandedIn(id, call, home) || IsHandedOut(id, call, home))) return -1;
  return calls_.EndOfFrameAt(tensor.producer.value(), home.depth - 1);
}

// y1 = self.conv1(x); y2 = self.conv2(y1): modules that have numbers of their own run in no loop, so each result may
// have a name of its own, which none of the others takes.
bool Locals::IsNumbered(int32_t call) const {
  const std::string_view name = call < 0 ? std::string_view() : WithoutCallNumber(calls_.span(call).name);
  return !name.empty() && absl::ascii_isdigit(static_cast<unsigned char>(name.back())) && !IsElement(name);
}

int32_t Locals::PossibleNameOf(TensorId id, bool lists) const {
  const Tensor& tensor = graph_.tensors[id];
  if (!tensor.producer.valid() || tensor.consumers.empty()) return -1;
  const Home home = HomeOf(id);
  const int32_t list = CallersListOf(id);
  if (list >= 0) return list;
  const int32_t call = calls_.UnitCall(tensor.producer.value(), home.depth);
  if (call >= 0 && IsPassedOn(call, home)) return -1;
  const int32_t end = calls_.EndOfFrameAt(tensor.producer.value(), home.depth);
  // d1 = self.d1(x); d2 = self.d2(d1); u1 = self.u1(d2, d1): code that needs several names may name all.
  if (lists || skip_frames_.contains(home.frame)) return end;
  const Units units = ReadingUnits(id, home);
  const bool by_norm = units.size() == 1 && IsNormCall(units[0], home);
  // out = self.bn1(self.conv1(x)): a norm and what it alone reads take one name.
  if (IsNumbered(call) && !by_norm && !IsNormCall(calls_.span(call).end, home)) return end;
  if (collected_.contains({home.frame, RoundSignature(id)})) {
    const auto batch = batch_ends_.find(id);
    return batch == batch_ends_.end() ? end : std::min(end, batch->second);
  }
  if (naming_frames_.contains(home.frame) && call >= 0 && !IsOfLoop(id, home)) return end;
  // x = self.conv(x); x = self.bn(x): modules one after the other work on one name, or are nested,
  // x = self.relu(self.bn(self.conv(x))).
  const int32_t reader = units.size() == 1 ? calls_.UnitCall(units[0], home.depth) : -1;
  const bool adjacent = call >= 0 && reader >= 0 && calls_.span(reader).begin == calls_.span(call).end + 1;
  if (!adjacent) return UntilRebound(id, home);
  int32_t nested = EndOfNestedCalls(units[0], home);
  for (int32_t next = NextInStatement(nested, home); next >= 0; next = NextInStatement(nested, home)) nested = next;
  // x = self.conv(x); x = F.relu(self.bn(x))
  return std::max(nested, EndOfOuterCall(units[0], home));
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
