// The part of locals.h about what may be: names that nothing tells of, but that code like this may give.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "analyzer/assume/names/locals.h"
#include "analyzer/graph/shape.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem::names {
namespace {

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

// The lists that the code of functions may have.
void Locals::FindPossible() {
  absl::flat_hash_map<Round, TensorIds> rounds;
  for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph_.tensors[id];
    if (!tensor.producer.valid() || tensor.consumers.empty() || !IsFloating(tensor.dtype)) continue;
    const Home home = HomeOf(id);
    if (popped_.contains(id)) continue;
    rounds[{home.frame, RoundSignature(id)}].push_back(id);
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

int32_t Locals::CallersListOf(TensorId id) const {
  const Tensor& tensor = graph_.tensors[id];
  if (!tensor.producer.valid() || tensor.consumers.empty()) return -1;
  const Home home = HomeOf(id);
  const int32_t call = calls_.UnitCall(tensor.producer.value(), home.depth);
  if (home.depth == 0 || !IsHandedIn(id, call, home)) return -1;
  return calls_.EndOfFrameAt(tensor.producer.value(), home.depth - 1);
}

// The result of the next element of a list of modules that reads `id`, where it has twice as many elements at least, as
// an image at the next larger scale has. Invalid if there is none.
TensorId Locals::NextScale(TensorId id) const {
  const Tensor& tensor = graph_.tensors[id];
  if (!tensor.producer.valid()) return TensorId();
  const Home home = HomeOf(id);
  const int32_t call = calls_.UnitCall(tensor.producer.value(), home.depth);
  if (home.depth == 0 || call < 0 || !IsElement(calls_.span(call).name)) return TensorId();
  for (int32_t unit : ReadingUnits(id, home)) {
    const int32_t next = calls_.UnitCall(unit, home.depth);
    if (next < 0 || WithoutDigits(calls_.span(next).name) != WithoutDigits(calls_.span(call).name)) continue;
    const TensorId result = OnlyResult(unit, home.depth);
    const std::optional<int64_t> from = NumElements(tensor.shape),
                                 to = result.valid() ? NumElements(graph_.tensors[result].shape) : std::nullopt;
    if (from && to && *to / 2 >= *from) return result;
  }
  return TensorId();
}

// for layer in self.up: x = layer(x); scales.append(x)  ...  return scales: code that makes an image larger step by
// step may return it at all scales, of which its caller's head takes the last. Results of one size are a stack's.
int32_t Locals::ScalesHoldUntil(TensorId id) const {
  TensorId last = id;
  for (TensorId next = NextScale(id); next.valid(); next = NextScale(next)) last = next;
  if (last == id || graph_.tensors[last].consumers.empty()) return -1;
  const Home made = HomeOf(id), read = HomeOf(last);
  return read.depth < made.depth ? calls_.EndOfFrameAt(graph_.tensors[id].producer.value(), read.depth) : -1;
}

// y1 = self.conv1(x); y2 = self.conv2(y1): modules that have numbers of their own run in no loop, so each result may
// have a name of its own, which none of the others takes.
bool Locals::IsNumbered(int32_t call) const {
  const std::string_view name = call < 0 ? std::string_view() : WithoutCallNumber(calls_.span(call).name);
  return !name.empty() && absl::ascii_isdigit(static_cast<unsigned char>(name.back())) && !IsElement(name);
}

// y = F.pad(x, p); y = self.conv(y): an exporter puts a pad into the convolution behind it, and the file no longer
// tells in whose code it stood.
bool Locals::IsPadOfCall(TensorId id, const Home& home) const {
  const Tensor& tensor = graph_.tensors[id];
  if (home.depth == 0 || graph_.nodes[tensor.producer].op != "pad" || tensor.consumers.size() != 1) return false;
  const CallSpan& call = calls_.span(home.frame);
  return call.begin == tensor.producer.value() && call.end == tensor.consumers[0].value();
}

// normed = self.norm(x); y = self.attention(normed); x = x + y: where the code still needs the norm's operand, its
// result may have a name of its own.
bool Locals::IsNormedBeside(TensorId id, const Home& home, const Units& units) const {
  const int32_t maker = graph_.tensors[id].producer.value();
  const int32_t call = calls_.UnitCall(maker, home.depth);
  if (units.empty() || call < 0 || !IsNormCall(calls_.UnitEnd(maker, home.depth), home)) return false;
  const TensorIds& given = graph_.nodes[NodeId(calls_.span(call).begin)].inputs;
  if (given.empty() || !given[0].valid()) return false;
  const NodeIds& readers = graph_.tensors[given[0]].consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return reader.value() > units.back() && calls_.FrameOf(reader.value()) == home.frame;
  });
}

// x = self.proj(x); a, b = self.conv(x).chunk(2, 1): the names of the pieces leave that of the operand as it is.
bool Locals::IsTakenApart(int32_t unit, const Home& home) const {
  const TensorId result = OnlyResult(unit, home.depth);
  if (!result.valid()) return false;
  const NodeIds& readers = graph_.tensors[result].consumers;
  return std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const TensorIds& pieces = graph_.nodes[reader].outputs;
    return !pieces.empty() && pieces[0].valid() && IsSplitPiece(pieces[0]);
  });
}

int32_t Locals::PossibleNameOf(TensorId id, bool lists) const {
  const Tensor& tensor = graph_.tensors[id];
  if (!tensor.producer.valid() || tensor.consumers.empty()) return -1;
  Home home = HomeOf(id);
  if (IsPadOfCall(id, home)) home = HomeAt(id, home.depth - 1);
  const int32_t list = CallersListOf(id);
  if (list >= 0) return list;
  const int32_t call = calls_.UnitCall(tensor.producer.value(), home.depth);
  if (call >= 0 && IsPassedOn(call, home)) return -1;
  const int32_t end = calls_.EndOfFrameAt(tensor.producer.value(), home.depth);
  // d1 = self.d1(x); d2 = self.d2(d1); u1 = self.u1(d2, d1): code that needs several names may name all.
  if (lists || skip_frames_.contains(home.frame)) return end;
  const Units units = ReadingUnits(id, home);
  if (IsNormedBeside(id, home, units)) return UntilRebound(id, home);
  const bool by_norm = units.size() == 1 && IsNormCall(units[0], home);
  // out = self.bn1(self.conv1(x)): a norm and what it alone reads take one name.
  if (IsNumbered(call) && !by_norm && !IsNormCall(calls_.span(call).end, home)) return end;
  if (collected_.contains({home.frame, RoundSignature(id)})) {
    const auto batch = batch_ends_.find(id);
    return batch == batch_ends_.end() ? end : std::min(end, batch->second);
  }
  // x = self.conv(x); x = self.bn(x): modules one after the other work on one name, or are nested,
  // x = self.relu(self.bn(self.conv(x))).
  const int32_t reader = units.size() == 1 ? calls_.UnitCall(units[0], home.depth) : -1;
  const bool adjacent = call >= 0 && reader >= 0 && calls_.span(reader).begin == calls_.span(call).end + 1;
  if (!adjacent || IsTakenApart(units[0], home)) return UntilRebound(id, home);
  int32_t nested = EndOfNestedCalls(units[0], home);
  for (int32_t next = NextInStatement(nested, home); next >= 0; next = NextInStatement(nested, home)) nested = next;
  return nested;  // x = self.conv(x); x = F.relu(self.bn(x))
}

}  // namespace onnx_mem::names
