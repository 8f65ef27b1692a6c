// The part of locals.h about encoders and decoders: which values of a function have names of their own beside one that
// is read again later.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "analyzer/assume/names/locals.h"

namespace onnx_mem::names {
namespace {

// "decoder.up2" -> 2; -1 without a number, and for elements of a list.
int Level(std::string_view call) {
  const std::string_view name = WithoutCallNumber(call);
  const size_t letters = name.find_last_not_of("0123456789");
  constexpr size_t kMostDigits = 4;
  if (letters == std::string_view::npos || letters + 1 == name.size() || name[letters] == '.') return -1;
  if (name.size() - letters > kMostDigits) return -1;
  int level = 0;
  for (char digit : name.substr(letters + 1)) level = level * 10 + (digit - '0');
  return level;
}

}  // namespace

// x1 = self.inc(x); x2 = self.down(x1); ...; x = self.up(x, x1): what a later call takes beside a newer value that ends
// there, whose name the result takes over.
bool Locals::IsSkip(TensorId id, const Home& home, const std::vector<int32_t>& units) const {
  const int32_t call = calls_.UnitCall(units.back(), home.depth);
  if (call < 0) return false;
  // self.up(self.down(x), x) may be one statement, but not where the code names other skips.
  const bool follows = calls_.span(call).begin <= units[units.size() - 2] + 1;
  if (follows && !skip_frames_.contains(home.frame)) return false;
  const int32_t before = calls_.UnitCall(units[units.size() - 2], home.depth);
  if (before >= 0 && WithoutCallNumber(calls_.span(before).name) == WithoutCallNumber(calls_.span(call).name))
    return false;
  if (!OnlyResult(units.back(), home.depth).valid()) return false;
  const CallSpan& span = calls_.span(call);
  for (int32_t i = span.begin; i <= span.end; ++i) {
    for (TensorId other : graph_.nodes[NodeId(i)].inputs) {
      if (!other.valid() || !graph_.tensors[other].producer.valid()) continue;
      const int32_t made = graph_.tensors[other].producer.value();
      if (made >= span.begin || made <= graph_.tensors[id].producer.value() || HomeOf(other).frame != home.frame)
        continue;
      const auto& readers = graph_.tensors[other].consumers;
      if (std::all_of(readers.begin(), readers.end(), [&](NodeId r) { return r.value() <= span.end; })) return true;
    }
  }
  return false;
}

// def forward(self, x1, x2): x1 = self.up(x1); x = torch.cat([x2, x1], dim=1); return self.conv(x): a module that joins
// an argument with what it made. The argument stands first, so the result has a name of its own (milesial's U-Net, the
// most copied one, and monai); x = torch.cat([x, skip], 1) takes over a name (segmentation_models_pytorch, diffusers).
int32_t Locals::HeldBesideSkip(TensorId id, const Home& home) const {
  const auto& readers = graph_.tensors[id].consumers;
  if (readers.size() != 1) return -1;
  const Node& node = graph_.nodes[readers[0]];
  if (node.op != "cat" || node.inputs.size() != 2 || node.inputs[0] == id || !node.inputs[0].valid()) return -1;
  if (calls_.of_node(readers[0].value()).size() != home.depth) return -1;
  const int32_t maker = graph_.tensors[id].producer.value();
  if (calls_.UnitEnd(maker, home.depth) + 1 != readers[0].value()) return -1;
  const Tensor& skip = graph_.tensors[node.inputs[0]];
  const bool is_older =
      home.frame >= 0 && skip.producer.valid() && skip.producer.value() < calls_.span(home.frame).begin;
  const auto& next = graph_.tensors[node.outputs[0]].consumers;
  if (!is_older || next.size() != 1 || calls_.UnitCall(next[0].value(), home.depth) < 0) return -1;
  return calls_.UnitEnd(next[0].value(), home.depth);
}

// e2 = self.encoder2(self.pool(e1)): what comes between two values that are read again is a part of the statement.
bool Locals::ReadsSkip(int32_t unit_end, const Home& home) const {
  const int32_t call = calls_.UnitCall(unit_end, home.depth);
  const int32_t begin = call < 0 ? unit_end : calls_.span(call).begin;
  for (int32_t i = begin; i <= unit_end; ++i) {
    for (TensorId input : graph_.nodes[NodeId(i)].inputs) {
      if (!input.valid() || !graph_.tensors[input].producer.valid()) continue;
      if (graph_.tensors[input].producer.value() >= begin || HomeOf(input).frame != home.frame) continue;
      if (ReadingUnits(input, home).size() >= 2) return true;
    }
  }
  return false;
}

// x = self.stem(x); e1 = self.encoder(x); ...; self.decoder(torch.cat([d, e1], 1)): e1 is read again when the code goes
// on from something else, so it has a name of its own and leaves that of x alone.
int32_t Locals::HeldByNewName(TensorId id, const Home& home) const {
  const std::vector<int32_t> units = ReadingUnits(id, home);
  const int32_t maker = calls_.UnitEnd(graph_.tensors[id].producer.value(), home.depth);
  const int32_t call = units.size() == 1 ? calls_.UnitCall(units[0], home.depth) : -1;
  if (call < 0 || calls_.span(call).begin != maker + 1 || IsElement(calls_.span(call).name)) return -1;
  if (ReadsSkip(maker, home)) return -1;
  const TensorId skip = graph_.nodes[NodeId(units[0])].outputs[0];
  if (!skip.valid() || HomeOf(skip).frame != home.frame) return -1;
  const std::vector<int32_t> readers = ReadingUnits(skip, home);
  if (readers.size() < 2) return -1;
  if (calls_.UnitCall(readers.back(), home.depth) >= 0)
    return IsSkip(skip, home, readers) ? UntilRebound(id, home) : -1;
  const Node& join = graph_.nodes[NodeId(readers.back())];
  if (join.op != "cat") return -1;
  const TensorId newest = join.inputs.back();
  const bool is_chain =
      join.inputs[0] == skip && newest.valid() && graph_.tensors[newest].producer.valid() &&
      calls_.UnitEnd(graph_.tensors[newest].producer.value(), home.depth) == readers[readers.size() - 2];
  return is_chain ? -1 : UntilRebound(id, home);
}

// dec2 = self.dec2(dec2); dec1 = self.up1(dec2); dec1 = torch.cat([dec1, enc1], 1): a decoder whose parts count the
// levels down again has a name per level.
int32_t Locals::HeldByLevel(TensorId id, const Home& home) const {
  const int32_t maker = calls_.UnitEnd(graph_.tensors[id].producer.value(), home.depth);
  const int32_t part = calls_.UnitCall(maker, home.depth);
  const std::vector<int32_t> units = ReadingUnits(id, home);
  const int32_t next = units.size() == 1 ? calls_.UnitCall(units[0], home.depth) : -1;
  if (part < 0 || next < 0 || calls_.span(next).begin != maker + 1) return -1;
  if (Level(calls_.span(next).name) < 0 || Level(calls_.span(part).name) <= Level(calls_.span(next).name)) return -1;
  const TensorId result = OnlyResult(units[0], home.depth);
  if (!result.valid() || graph_.tensors[result].consumers.empty()) return -1;
  const bool joined =
      std::any_of(graph_.tensors[result].consumers.begin(), graph_.tensors[result].consumers.end(), [&](NodeId reader) {
        return graph_.nodes[reader].op == "cat" && calls_.of_node(reader.value()).size() == home.depth;
      });
  return joined ? calls_.EndOfFrameAt(maker, home.depth) : -1;
}

// x4 = self.down4(x3); x = self.up1(x4, x3): what the first part of a decoder goes on from bears a name like that of
// the skip beside it, which a part of the same name but for its number made.
int32_t Locals::HeldAsDeepest(TensorId id, const Home& home) const {
  const int32_t maker = graph_.tensors[id].producer.value();
  const int32_t part = calls_.UnitCall(maker, home.depth);
  const std::vector<int32_t> units = ReadingUnits(id, home);
  const int32_t reader = units.size() == 1 ? calls_.UnitCall(units[0], home.depth) : -1;
  if (!skip_frames_.contains(home.frame) || part < 0 || reader < 0 || IsElement(calls_.span(part).name)) return -1;
  const CallSpan& span = calls_.span(reader);
  for (int32_t i = span.begin; i <= span.end; ++i) {
    for (TensorId skip : graph_.nodes[NodeId(i)].inputs) {
      if (!skip.valid() || skip == id || !graph_.tensors[skip].producer.valid()) continue;
      const int32_t other = calls_.UnitCall(graph_.tensors[skip].producer.value(), home.depth);
      if (HomeOf(skip).frame != home.frame || other < 0 || other == part) continue;
      if (WithoutDigits(calls_.span(other).name) != WithoutDigits(calls_.span(part).name)) continue;
      if (ReadingUnits(skip, home).size() >= 2) return calls_.EndOfFrameAt(maker, home.depth);
    }
  }
  return -1;
}

// x4 = self.attend(d5, x4); d5 = torch.cat([x4, d5], 1): a part that a call made from an older value which ends there
// takes over that value's name (attention U-Net).
int32_t Locals::HeldAsGatedSkip(TensorId id, const Home& home) const {
  const int32_t maker = graph_.tensors[id].producer.value();
  const int32_t call = calls_.UnitCall(maker, home.depth);
  const auto& readers = graph_.tensors[id].consumers;
  if (call < 0 || readers.size() != 1 || graph_.nodes[readers[0]].op != "cat") return -1;
  const CallSpan& span = calls_.span(call);
  for (int32_t i = span.begin; i <= span.end; ++i) {
    for (TensorId skip : graph_.nodes[NodeId(i)].inputs) {
      if (!skip.valid() || !graph_.tensors[skip].producer.valid()) continue;
      if (graph_.tensors[skip].producer.value() >= span.begin || HomeOf(skip).frame != home.frame) continue;
      const std::vector<int32_t> units = ReadingUnits(skip, home);
      if (units.size() < 2 || units.back() != span.end || units[units.size() - 2] + 1 >= span.begin) continue;
      if (graph_.tensors[skip].shape == graph_.tensors[id].shape) return calls_.EndOfFrameAt(maker, home.depth);
    }
  }
  return -1;
}

// Functions that add the results of two parts with one name and two numbers. f3 = self.fire3(f2) + f2 is a
// residual, whose parts may have names of their own.
void Locals::FindNumberedJoins() {
  for (int32_t i = 0; i < static_cast<int32_t>(graph_.nodes.size()); ++i) {
    const Node& sum = graph_.nodes[NodeId(i)];
    const size_t depth = calls_.of_node(i).size();
    if (sum.op != "add") continue;
    const int32_t frame = calls_.FrameOf(i);
    std::array<int32_t, 2> parts = {-1, -1};
    for (size_t k : {0, 1}) {
      if (!sum.inputs[k].valid()) continue;
      const int32_t maker = graph_.tensors[sum.inputs[k]].producer.value();
      if (maker >= (frame < 0 ? 0 : calls_.span(frame).begin)) parts[k] = calls_.UnitCall(maker, depth);
    }
    if (parts[0] < 0 || parts[1] < 0) continue;
    const std::string &first = calls_.span(parts[0]).name, &second = calls_.span(parts[1]).name;
    if (first == second || IsElement(first) || WithoutDigits(first) != WithoutDigits(second)) continue;
    const auto reads = [&](int32_t part, TensorId id) {
      const auto& readers = graph_.tensors[id].consumers;
      const CallSpan& span = calls_.span(part);
      return std::any_of(readers.begin(), readers.end(),
                         [&](NodeId r) { return r.value() >= span.begin && r.value() <= span.end; });
    };
    const bool is_residual = reads(parts[0], sum.inputs[1]) || reads(parts[1], sum.inputs[0]);
    (is_residual ? skip_frames_ : numbered_joins_).insert(frame);
  }
}

// Functions that hand a value to a later call beside a newer one, x = self.up(x, x1), and are no loops.
void Locals::FindSkipFrames() {
  for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
    if (!graph_.tensors[id].producer.valid() || graph_.tensors[id].consumers.size() < 2) continue;
    if (!IsFloating(graph_.tensors[id].dtype)) continue;
    const Home home = HomeOf(id);
    const std::vector<int32_t> units = ReadingUnits(id, home);
    if (units.size() < 2 || !IsSkip(id, home, units)) continue;
    if (!IsElement(calls_.span(calls_.UnitCall(units.back(), home.depth)).name)) skip_frames_.insert(home.frame);
  }
}

// up1 = self.up1(x); low1 = self.low1(x); low2 = self.low2(low1); up2 = self.up2(low2); return up1 + up2: where numbers
// tell the joined parts apart, each result bears the name of the part that made it (hourglass).
int32_t Locals::HeldByNumbers(TensorId id, const Home& home) const {
  const int32_t maker = graph_.tensors[id].producer.value();
  if (calls_.UnitCall(maker, home.depth) < 0 || !numbered_joins_.contains(home.frame)) return -1;
  return calls_.EndOfFrameAt(maker, home.depth);
}

}  // namespace onnx_mem::names
