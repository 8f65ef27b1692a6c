// The part of source_names.h about lists and results, which run no operator: what later lines show of them.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analyzer/assume/names/contains.h"
#include "analyzer/assume/names/source_names.h"

namespace onnx_mem::names {
namespace {

// outputs[-1], the last of a list; not x.shape[-1].
bool TakesLast(std::string_view line) {
  constexpr std::string_view kLast = "[-1]", kShape = "shape", kSize = "size()";
  const size_t at = line.find(kLast);
  const std::string_view before = line.substr(0, at == std::string_view::npos ? 0 : at);
  return !before.empty() && !before.ends_with(kShape) && !before.ends_with(kSize);
}

}  // namespace

// Whether a later statement reads, under the name by which `reader` reads `id`, another value that was there before
// `reader` ran.
bool SourceNames::ReadsOlderLater(const SourceFrame& frame, const Name& alias, size_t reader, TensorId id) const {
  const int32_t begin = frame.units[frame.runs[reader].first].begin;
  const std::vector<size_t> own_readers = ReadingRuns(frame, id);
  const auto is_older = [&](TensorId other) {
    if (!other.valid() || other == id) return false;
    const NodeId maker = graph_.tensors[other].producer;
    return maker.valid() && maker.value() < begin && HomeOf(other) == &frame;
  };
  for (size_t run = reader + 1; run < Rebinds(frame, alias, reader).value_or(frame.runs.size()); ++run) {
    const SourceLine* line = frame.runs[run].line;
    if (line == nullptr || !Contains(line->statement.reads, alias) || Contains(own_readers, run)) continue;
    const int32_t last = frame.units[frame.runs[run].last].end;
    for (int32_t i = frame.units[frame.runs[run].first].begin; i <= last; ++i) {
      const TensorIds& inputs = graph_.nodes[NodeId(i)].inputs;
      if (std::any_of(inputs.begin(), inputs.end(), is_older)) return true;
    }
  }
  return false;
}

// outs.append(self.conv(x)): the list has it until the function returns or the name gets another value. Not known where
// a line takes values out of the list, and where the same line runs again behind the last reader: a list may have begun
// anew there, outs = [], which runs no operator.
std::optional<int32_t> SourceNames::EndOfAppended(const SourceFrame& frame, size_t maker,
                                                  const std::vector<size_t>& readers) const {
  const SourceLine* line = frame.runs[maker].line;
  const Name& list = line->statement.targets[0];
  for (size_t run = maker + 1; run < frame.runs.size(); ++run) {
    const SourceLine* later = frame.runs[run].line;
    if (later == nullptr) continue;
    if (later->statement.kind == StatementKind::kAssign && Contains(later->statement.targets, list))
      return EndOfRound(frame, run);
    const bool pops = later->text.find(absl::StrCat(list, ".pop(")) != std::string::npos;  // on any part of a statement
    if (pops || (later == line && run > readers.back())) return std::nullopt;
  }
  return frame.end;
}

// for skip in reversed(skips): x = self.up(x, skip): what a later round reads by the same name was in the list when
// this one ran, so the list has all of them, until the function returns. Not so where a line takes each out of it
// (pop), which runs no operator and leaves no trace: possible, not likely.
int32_t SourceNames::ListMayHoldUntil(TensorId id) const {
  const std::optional<Maker> known = MakerOf(id);
  if (!known) return -1;
  const SourceFrame& frame = *known->frame;
  const Statement& made = frame.runs[known->run].line->statement;
  for (size_t reader : ReadingRuns(frame, id)) {
    if (reader <= known->run) continue;
    const std::optional<Name> alias = AliasIn(frame, reader, known->run);
    if (!alias || Contains(made.targets, *alias)) continue;  // its own name
    if (Contains(frame.runs[reader].line->statement.pops, *alias)) continue;
    if (ReadsOlderLater(frame, *alias, reader, id)) return frame.end;
  }
  return -1;
}

// The line runs several times, one round after the other or with others in between.
bool SourceNames::IsOfLoop(const SourceFrame& frame, size_t run) const {
  const SourceRun& at = frame.runs[run];
  if (at.units_a_round > 0 && at.first + at.units_a_round - 1 < at.last) return true;
  return std::any_of(frame.runs.begin(), frame.runs.end(),
                     [&](const SourceRun& other) { return &other != &at && other.line == at.line; });
}

// Whether a line of `caller` that reads what `call` returns takes the last of something there, and runs no operator for
// it: of a list, then.
bool SourceNames::HandsOutList(int32_t call, const SourceFrame& caller) const {
  const auto [known, is_new] = hands_out_list_.try_emplace(call, false);
  if (!is_new) return known->second;
  const CallSpan& span = calls_.span(call);
  for (int32_t i = span.begin; i <= span.end; ++i) {
    for (TensorId output : graph_.nodes[NodeId(i)].outputs) {
      if (!output.valid()) continue;
      for (NodeId reader : graph_.tensors[output].consumers) {
        if (reader.value() <= span.end || reader.value() > caller.end) continue;
        const SourceLine* line = UnitOf(caller, reader.value()).line;
        const FrameworkNode& node = graph_.nodes[reader];
        const bool of_tensor = node.op == "select" && IntAttribute(node, "axis", 0) == 0;
        known->second |= line != nullptr && !of_tensor && TakesLast(line->text);
      }
    }
  }
  return known->second;
}

// Whether the function returns it under its name, beside other values: return out + shortcut, hidden.
bool SourceNames::IsReturned(const SourceFrame& frame, size_t maker, TensorId id) const {
  const SourceRun& last = frame.runs.back();
  if (last.line == nullptr || !last.line->statement.several) return false;
  const std::vector<size_t> readers = ReadingRuns(frame, id);
  if (readers.back() + 1 == frame.runs.size()) return false;  // an operator of that line reads it
  if (!Binds(frame.runs[maker].line->statement) || frame.runs[maker].line->statement.targets.empty()) return false;
  const std::optional<Name> name = NameOf(frame, id, readers);
  return name && Contains(last.line->statement.reads, *name) && !Rebinds(frame, *name, maker);
}

// The call whose code hands the value around, and the frame that it is made in.
SourceNames::CallAndCaller SourceNames::CallOf(TensorId id) const {
  const size_t depth = calls_.CommonDepth(graph_, id);
  if (depth == 0) return {};
  const std::span<const int32_t> around = calls_.of_node(graph_.tensors[id].producer.value());
  return {.call = around[depth - 1], .caller = frames_.Find(depth == 1 ? -1 : around[depth - 2])};
}

// The end of the next call on the line on which `node` runs, which takes the names that it gives; of the frame, where
// there is none.
int32_t SourceNames::UntilCalledAgain(const SourceFrame& caller, int32_t node) const {
  const SourceUnit& call = UnitOf(caller, node);
  const auto again = std::find_if(caller.units.begin(), caller.units.end(), [&](const SourceUnit& unit) {
    return unit.begin > call.end && unit.call >= 0 && unit.line != nullptr && unit.line == call.line;
  });
  return again == caller.units.end() ? caller.end : again->end;
}

// What is returned is the caller's, who may keep it.
int32_t SourceNames::ReturnedMayHoldUntil(TensorId id) const {
  const std::optional<Maker> known = MakerOf(id);
  if (!known || !IsReturned(*known->frame, known->run, id)) return -1;
  const SourceFrame* caller = CallOf(id).caller;
  return caller == nullptr ? -1 : UntilCalledAgain(*caller, known->frame->end);
}

// z, info = self.encode(x): whether the line names more than operators read of what the call returns. The rest may be a
// list or a dictionary.
bool SourceNames::ReturnsMore(int32_t call, const SourceFrame& caller) const {
  const CallSpan& span = calls_.span(call);
  const SourceLine* line = UnitOf(caller, span.begin).line;
  if (line == nullptr || line->statement.kind != StatementKind::kAssign || !line->statement.whole) return false;
  const size_t names = line->statement.targets.size();
  return names > 1 && CountResults(span.begin, span.end) < names;
}

// x = self.first(x); xs += [x]; for layer in self.layers: x = layer(x); xs += [x]: a value of a loop, or one of the
// same name beside it.
bool SourceNames::HasNameOfLoop(const SourceFrame& frame, size_t maker) const {
  const Statement& made = frame.runs[maker].line->statement;
  if (!Binds(made) || made.targets.size() != 1) return false;
  for (size_t run = 0; run < frame.runs.size(); ++run) {
    const SourceLine* line = frame.runs[run].line;
    if (line != nullptr && Binds(line->statement) && line->statement.targets == made.targets && IsOfLoop(frame, run))
      return true;
  }
  return false;
}

int32_t SourceNames::ReturnedListMayHoldUntil(TensorId id) const {
  const std::optional<Maker> known = MakerOf(id);
  if (!known) return -1;
  const auto [call, caller] = CallOf(id);
  if (caller == nullptr) return -1;
  if (ReturnsMore(call, *caller) && HasNameOfLoop(*known->frame, known->run))
    return UntilCalledAgain(*caller, known->frame->end);
  return IsOfLoop(*known->frame, known->run) && HandsOutList(call, *caller) ? known->frame->end : -1;
}

}  // namespace onnx_mem::names
