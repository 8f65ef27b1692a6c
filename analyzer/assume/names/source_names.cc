#include "analyzer/assume/names/source_names.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "analyzer/assume/names/contains.h"

namespace onnx_mem::names {
namespace {

// The argument of the one call of `module` on the line: a name, or "" for an expression that calls something; nullopt
// if the line has no such call, or several.
std::optional<std::string> PlainArgument(const SourceLine& line, std::string_view module) {
  const size_t dot = module.rfind('.');
  const std::string call =
      absl::StrCat(".", std::string(dot == std::string_view::npos ? module : module.substr(dot + 1)), "(");
  const size_t at = line.text.find(call);
  if (at == std::string::npos || line.text.find(call, at + 1) != std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(line.text).substr(at + call.size());
  const size_t end = rest.find_first_of("(),");
  if (end == std::string_view::npos) return std::nullopt;
  if (rest[end] == '(') return std::string();
  const std::string_view name = rest.substr(0, end);
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; });
  return plain && !name.empty() ? std::optional<std::string>(name) : std::nullopt;
}

bool Binds(const Statement& statement) {
  return statement.kind == StatementKind::kAssign || statement.kind == StatementKind::kAugmented;
}

}  // namespace

SourceNames::SourceNames(const FrameworkGraph& graph, const Calls& calls) : graph_(graph), calls_(calls) {
  any_ = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const FrameworkNode& node) { return node.source_trace != nullptr; });
  if (!any_) return;
  AddUnits();
  for (auto& [call, frame] : frames_) {
    frame.end = call < 0 ? static_cast<int32_t>(graph.nodes.size()) - 1 : calls.span(call).end;
    FindArguments(frame);
    FindLinesOfFolded(frame);
    FindRuns(frame);
  }
  for (auto& [call, frame] : frames_) {
    for (Unit& unit : frame.units) unit.repeated = unit.call >= 0 && MayBeSeveralCalls(unit.call);
  }
}

void SourceNames::AddUnits() {
  for (int32_t i = 0; i < static_cast<int32_t>(graph_.nodes.size()); ++i) {
    const std::span<const int32_t> path = calls_.of_node(i);
    const SourceLines& lines = traces_.Read(graph_.nodes[NodeId(i)]);
    for (size_t depth = 0; depth <= path.size(); ++depth) {
      Frame& frame = frames_[depth == 0 ? -1 : path[depth - 1]];
      const int32_t call = depth < path.size() ? path[depth] : -1;
      const SourceLine* line = depth < lines.size() ? lines[depth].get() : nullptr;
      if (call < 0 || frame.units.empty() || frame.units.back().call != call) {
        frame.units.push_back({.begin = i, .end = i, .call = call, .line = line});
        continue;
      }
      frame.units.back().end = i;
      if (frame.units.back().line == nullptr) frame.units.back().line = line;
    }
  }
}

// x=f(y) is a keyword argument, and no assignment, where the line above has a statement that is not done.
void SourceNames::FindArguments(Frame& frame) {
  std::map<std::pair<std::string_view, int64_t>, const SourceLine*> lines, arguments;
  for (const Unit& unit : frame.units) {
    if (unit.line != nullptr) lines[{unit.line->file, unit.line->line}] = unit.line;
  }
  const SourceLine* above = nullptr;
  for (const auto& [at, line] : lines) {
    if (line->statement.close_set && above != nullptr && above->file == line->file && !above->statement.whole) {
      auto argument = std::make_unique<SourceLine>(*line);
      argument->statement.kind = StatementKind::kUnknown;
      argument->statement.targets.clear();
      argument->statement.whole = false;
      arguments[at] = made_.emplace_back(std::move(argument)).get();
    }
    above = line;
  }
  for (Unit& unit : frame.units) {
    const auto it = unit.line == nullptr ? arguments.end() : arguments.find({unit.line->file, unit.line->line});
    if (it != arguments.end()) unit.line = it->second;
  }
}

// A convolution whose norm the exporter folded into it has the norm's line, if that line calls both; else the line is
// not in the file, but the norm's says what name the result was given: x = self.bn(y).
void SourceNames::FindLinesOfFolded(Frame& frame) {
  // Between two units of one line nothing else has run.
  for (size_t i = 1; i < frame.units.size(); ++i) {
    if (frame.units[i].line != nullptr || frame.units[i - 1].line == nullptr) continue;
    size_t next = i;
    while (next < frame.units.size() && frame.units[next].line == nullptr) ++next;
    if (next == frame.units.size() || frame.units[next].line != frame.units[i - 1].line) continue;
    for (size_t between = i; between < next; ++between) frame.units[between].line = frame.units[next].line;
  }
  for (size_t i = 0; i + 1 < frame.units.size(); ++i) {
    Unit& unit = frame.units[i];
    const Unit& next = frame.units[i + 1];
    if (unit.line != nullptr || unit.call < 0 || next.call < 0 || next.line == nullptr) continue;
    const bool is_norm = graph_.nodes[NodeId(next.begin)].op == "batch_norm" && unit.begin == unit.end;
    const Statement& statement = next.line->statement;
    const bool is_alone = (i == 0 || frame.units[i - 1].line != next.line) &&
                          (i + 2 == frame.units.size() || frame.units[i + 2].line != next.line);
    if (!is_norm || !statement.whole) continue;
    const std::optional<Name> argument = PlainArgument(*next.line, calls_.span(next.call).name);
    if (argument && argument->empty()) {
      unit.line = next.line;
    } else if (argument && Binds(statement) && (statement.places > 1 || is_alone)) {
      auto line = std::make_unique<SourceLine>(*next.line);
      line->statement.targets = {*argument};
      line->statement.reads.clear();
      line->statement.whole = false;  // what it reads is not known
      unit.line = made_.emplace_back(std::move(line)).get();
    }
  }
}

void SourceNames::FindRuns(Frame& frame) const {
  for (size_t i = 0; i < frame.units.size(); ++i) {
    Unit& unit = frame.units[i];
    if (frame.runs.empty() || unit.line == nullptr || frame.runs.back().line != unit.line) {
      frame.runs.push_back({.first = i, .last = i, .line = unit.line});
    }
    frame.runs.back().last = i;
    unit.run = frame.runs.size() - 1;
  }
  for (Run& run : frame.runs) run.units_a_round = run.line == nullptr ? 0 : UnitsARound(frame, run);
}

size_t SourceNames::Signature(const Unit& unit) const {
  if (unit.call >= 0) return absl::HashOf(WithoutDigits(calls_.span(unit.call).name));
  return absl::HashOf(graph_.nodes[NodeId(unit.begin)].op);
}

// As many units as the line has places: one round. More are rounds of a loop if they repeat; else the line calls a
// function whose body is not shown.
size_t SourceNames::UnitsARound(const Frame& frame, const Run& run) const {
  if (IsContainersLoop(*run.line)) return 1;
  const size_t count = run.last - run.first + 1;
  const auto places = static_cast<size_t>(run.line->statement.places);
  if (count <= places) return count;
  for (size_t period = 1; period <= places; ++period) {
    if (count % period != 0) continue;
    bool repeats = true;
    for (size_t i = run.first + period; i <= run.last && repeats; ++i) {
      repeats = Signature(frame.units[i]) == Signature(frame.units[i - period]);
    }
    if (repeats) return period;
  }
  return 0;
}

// The frame in whose code the value is handed around: the innermost that encloses its maker and all its readers.
const SourceNames::Frame* SourceNames::HomeOf(TensorId id) const {
  const std::span<const int32_t> maker = calls_.of_node(graph_.tensors[id].producer.value());
  const size_t depth = calls_.CommonDepth(graph_, id);
  auto it = frames_.find(depth == 0 ? -1 : maker[depth - 1]);
  return it == frames_.end() ? nullptr : &it->second;
}

const SourceNames::Unit& SourceNames::UnitOf(const Frame& frame, int32_t node) const {
  auto it = std::upper_bound(frame.units.begin(), frame.units.end(), node,
                             [](int32_t value, const Unit& unit) { return value < unit.begin; });
  return *std::prev(it);
}

// The runs that read `id`, each once, in order.
std::vector<size_t> SourceNames::ReadingRuns(const Frame& frame, TensorId id) const {
  std::vector<size_t> runs;
  for (NodeId reader : graph_.tensors[id].consumers) runs.push_back(RunOf(frame, reader.value()));
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

// The name that the statement which made `id` gives to it.
std::optional<SourceNames::Name> SourceNames::NameOf(const Frame& frame, TensorId id,
                                                     const std::vector<size_t>& readers) const {
  const NodeId producer = graph_.tensors[id].producer;
  const Statement& statement = frame.runs[RunOf(frame, producer.value())].line->statement;
  const std::vector<Name>& targets = statement.targets;
  if (targets.size() == 1 || statement.kind == StatementKind::kAugmented) {
    return targets[0].empty() ? std::nullopt : std::optional<Name>(targets[0]);
  }
  const TensorIds& outputs = graph_.nodes[producer].outputs;
  if (outputs.size() == targets.size()) {
    const Name& name = targets[static_cast<size_t>(std::find(outputs.begin(), outputs.end(), id) - outputs.begin())];
    return name.empty() ? std::nullopt : std::optional<Name>(name);
  }
  std::optional<Name> found;  // the one target that a reader mentions
  for (const Name& target : targets) {
    const bool read = std::any_of(readers.begin(), readers.end(), [&](size_t run) {
      return frame.runs[run].line != nullptr && Contains(frame.runs[run].line->statement.reads, target);
    });
    if (!read) continue;
    if (found) return std::nullopt;
    found = target;
  }
  return found;
}

// True if the first line of the called function, or of one that it calls, runs again later on.
bool SourceNames::MayBeSeveralCalls(int32_t call) const {
  const auto it = frames_.find(call);
  if (it == frames_.end()) return false;
  const std::vector<Run>& runs = it->second.runs;
  if (std::any_of(runs.begin() + 1, runs.end(), [&](const Run& run) { return run.line == runs[0].line; })) return true;
  const Unit& first = it->second.units[0];
  return it->second.units.size() == 1 && first.call >= 0 && MayBeSeveralCalls(first.call);
}

// True unless a call makes something later that is read outside of it as well.
bool SourceNames::IsResult(const Unit& unit, TensorId id) const {
  for (int32_t i = graph_.tensors[id].producer.value() + 1; unit.call >= 0 && i <= unit.end; ++i) {
    for (TensorId output : graph_.nodes[NodeId(i)].outputs) {
      if (!output.valid()) continue;
      const auto& readers = graph_.tensors[output].consumers;
      if (std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return r.value() > unit.end; })) return false;
    }
  }
  return true;
}

// Last node of the first execution of the statement of `run`; nullopt if that is not known.
std::optional<int32_t> SourceNames::EndOfRound(const Frame& frame, size_t run) const {
  const Run& at = frame.runs[run];
  if (frame.units[at.first].repeated) return std::nullopt;
  if (at.units_a_round > 0 && at.first + at.units_a_round - 1 < at.last) {
    return frame.units[at.first + at.units_a_round - 1].end;
  }
  // x = torch.cat([ and more lines: the name is bound when the last of them is done.
  const bool continues = !at.line->statement.whole && run + 1 < frame.runs.size() &&
                         frame.runs[run + 1].line != nullptr &&
                         frame.runs[run + 1].line->statement.kind == StatementKind::kUnknown;
  return frame.units[continues ? frame.runs[run + 1].last : at.last].end;
}

// The first run after `after` that binds the name.
std::optional<size_t> SourceNames::Rebinds(const Frame& frame, const Name& name, size_t after) const {
  for (size_t run = after + 1; run < frame.runs.size(); ++run) {
    const SourceLine* line = frame.runs[run].line;
    if (line != nullptr && Binds(line->statement) && Contains(line->statement.targets, name)) return run;
  }
  return std::nullopt;
}

std::optional<int32_t> SourceNames::EndOfName(const Frame& frame, const Name& name, size_t after) const {
  const std::optional<size_t> rebound = Rebinds(frame, name, after);
  for (size_t run = after + 1; run < rebound.value_or(frame.runs.size()); ++run) {
    const SourceLine* line = frame.runs[run].line;
    const bool may_bind =
        line != nullptr && line->statement.kind == StatementKind::kUnknown && Contains(line->statement.targets, name);
    if (may_bind) return std::nullopt;
  }
  // Where the first line runs again, another call may have begun: the names of this one are gone then.
  for (size_t run = after + 1; run < rebound.value_or(frame.runs.size()); ++run) {
    if (frame.runs[run].line != nullptr && frame.runs[run].line == frame.runs[0].line) return std::nullopt;
  }
  if (!rebound) return frame.end;
  // The body of a helper function may be interrupted by what has no line.
  const Run& next = frame.runs[*rebound];
  if (next.units_a_round == 0 && next.line == frame.runs[after].line) return std::nullopt;
  return EndOfRound(frame, *rebound);
}

// The one name in the line of `reader` that no statement since `maker` has bound.
std::optional<SourceNames::Name> SourceNames::AliasIn(const Frame& frame, size_t reader, size_t maker) const {
  const SourceLine* line = frame.runs[reader].line;
  if (line == nullptr || !line->statement.whole) return std::nullopt;
  std::optional<Name> alias;
  for (const Name& name : line->statement.reads) {
    const std::optional<size_t> bound = Rebinds(frame, name, maker);
    if (bound && *bound < reader) continue;
    if (alias) return std::nullopt;
    alias = name;
  }
  return alias;
}

// A later statement that reads the name but not the value shows that the name was given to another: as early as that
// other one was made.
std::optional<int32_t> SourceNames::EndOfAlias(const Frame& frame, const Name& alias, size_t reader,
                                               TensorId id) const {
  const Statement& statement = frame.runs[reader].line->statement;
  if (Contains(statement.pops, alias)) return -1;  // the list has let it go; the call that takes it holds it
  if (Binds(statement) && Contains(statement.targets, alias)) return EndOfRound(frame, reader);
  const std::optional<size_t> rebound = Rebinds(frame, alias, reader);
  const size_t end = rebound.value_or(frame.runs.size());
  const std::vector<size_t> own_readers = ReadingRuns(frame, id);
  for (size_t run = reader + 1; run < end; ++run) {
    const SourceLine* line = frame.runs[run].line;
    if (line == nullptr || !Contains(line->statement.reads, alias) || Contains(own_readers, run)) continue;
    return frame.units[frame.runs[reader].last].end;
  }
  return EndOfName(frame, alias, reader);
}

std::optional<int32_t> SourceNames::HeldUntil(TensorId id) const {
  const std::optional<Maker> known = MakerOf(id);
  if (!known) return std::nullopt;
  const Frame& frame = *known->frame;
  const size_t maker = known->run;
  const Run& made = frame.runs[maker];
  const std::vector<size_t> readers = ReadingRuns(frame, id);
  if (readers.back() == maker) return made.units_a_round > 0 ? std::optional<int32_t>(-1) : std::nullopt;
  if (!IsResult(UnitOf(frame, graph_.tensors[id].producer.value()), id)) return std::nullopt;
  const Statement& statement = made.line->statement;
  if (!Binds(statement) || statement.targets.empty()) return std::nullopt;
  const std::optional<Name> name = NameOf(frame, id, readers);
  if (!name) return std::nullopt;
  // A value of one round of a loop is rebound in the next, if that is on the same line.
  const bool next_round = readers.front() == maker;
  const std::optional<size_t> rebound = next_round ? maker : Rebinds(frame, *name, maker);
  std::optional<int32_t> last = next_round ? std::optional<int32_t>(-1) : EndOfName(frame, *name, maker);
  if (!last) return std::nullopt;
  for (size_t reader : readers) {
    if (reader == maker) continue;
    const bool named = !rebound || (reader <= *rebound && !next_round);
    const SourceLine* line = frame.runs[reader].line;
    if (named && (line == nullptr || !line->statement.whole || Contains(line->statement.reads, *name))) continue;
    const std::optional<Name> alias = AliasIn(frame, reader, maker);
    if (!alias && !named) return std::nullopt;
    if (!alias) continue;
    const std::optional<int32_t> end = EndOfAlias(frame, *alias, reader, id);
    if (!end) return std::nullopt;
    last = std::max(last, end);
  }
  return last;
}

}  // namespace onnx_mem::names
