#include "analyzer/assume/names/source_names.h"

#include <algorithm>
#include <span>
#include <utility>

#include "analyzer/assume/names/contains.h"

namespace onnx_mem::names {
namespace {

// Whether `part` may be a line of the statement that begins on `start`: no line in between begins another one.
bool IsPartOf(const SourceFrame& frame, const SourceLine* part, const SourceLine& start) {
  const bool is_part = part != nullptr && part->statement.kind == StatementKind::kUnknown && part->file == start.file &&
                       part->line > start.line;
  return is_part && std::none_of(frame.runs.begin(), frame.runs.end(), [&](const SourceRun& run) {
           const SourceLine* line = run.line;
           return line != nullptr && line->statement.kind != StatementKind::kUnknown && line->file == start.file &&
                  line->line > start.line && line->line < part->line;
         });
}

}  // namespace

// The frame in whose code the value is handed around: the innermost that encloses its maker and all its readers.
const SourceFrame* SourceNames::HomeOf(TensorId id) const {
  const std::span<const int32_t> maker = calls_.of_node(graph_.tensors[id].producer.value());
  const size_t depth = calls_.CommonDepth(graph_, id);
  return frames_.Find(depth == 0 ? -1 : maker[depth - 1]);
}

const SourceUnit& SourceNames::UnitOf(const SourceFrame& frame, int32_t node) const {
  auto it = std::upper_bound(frame.units.begin(), frame.units.end(), node,
                             [](int32_t value, const SourceUnit& unit) { return value < unit.begin; });
  return *std::prev(it);
}

// The runs that read `id`, each once, in order.
std::vector<size_t> SourceNames::ReadingRuns(const SourceFrame& frame, TensorId id) const {
  std::vector<size_t> runs;
  for (NodeId reader : graph_.tensors[id].consumers) runs.push_back(RunOf(frame, reader.value()));
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

// The name that the statement which made `id` gives to it.
std::optional<SourceNames::Name> SourceNames::NameOf(const SourceFrame& frame, TensorId id,
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

// True unless a call makes something later that is read outside of it as well.
bool SourceNames::IsResult(const SourceUnit& unit, TensorId id) const {
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
std::optional<int32_t> SourceNames::EndOfRound(const SourceFrame& frame, size_t run) const {
  const SourceRun& at = frame.runs[run];
  if (frame.units[at.first].repeated) return std::nullopt;
  if (at.units_a_round > 0 && at.first + at.units_a_round - 1 < at.last) {
    return frame.units[at.first + at.units_a_round - 1].end;
  }
  // x = torch.cat([ and more lines: the name is bound when the last of them is done. Where they ran before, this is the
  // call around them, x = F.relu( and more lines.
  const bool continues = !at.line->statement.whole && run + 1 < frame.runs.size() &&
                         IsPartOf(frame, frame.runs[run + 1].line, *at.line) &&
                         (run == 0 || !IsPartOf(frame, frame.runs[run - 1].line, *at.line));
  return frame.units[continues ? frame.runs[run + 1].last : at.last].end;
}

// The first run after `after` that binds the name.
std::optional<size_t> SourceNames::Rebinds(const SourceFrame& frame, const Name& name, size_t after) const {
  for (size_t run = after + 1; run < frame.runs.size(); ++run) {
    const SourceLine* line = frame.runs[run].line;
    if (line != nullptr && Binds(line->statement) && Contains(line->statement.targets, name)) return run;
  }
  return std::nullopt;
}

std::optional<int32_t> SourceNames::EndOfName(const SourceFrame& frame, const Name& name, size_t after) const {
  const std::optional<size_t> rebound = Rebinds(frame, name, after);
  for (size_t run = after + 1; run < rebound.value_or(frame.runs.size()); ++run) {
    const SourceLine* line = frame.runs[run].line;
    const bool may_bind =
        line != nullptr && line->statement.kind == StatementKind::kUnknown && Contains(line->statement.targets, name);
    if (may_bind) return std::nullopt;
  }
  // Where the first line runs again, another call may have begun: the names of this one are gone then. The model's own
  // forward is called once.
  for (size_t run = after + 1; &frame != frames_.Find(-1) && run < rebound.value_or(frame.runs.size()); ++run) {
    if (frame.runs[run].line != nullptr && frame.runs[run].line == frame.runs[0].line) return std::nullopt;
  }
  if (!rebound) return frame.end;
  // The body of a helper function may be interrupted by what has no line.
  const SourceRun& next = frame.runs[*rebound];
  if (next.units_a_round == 0 && next.line == frame.runs[after].line) return std::nullopt;
  return EndOfRound(frame, *rebound);
}

// The one name in the line of `reader` that no statement since `maker` has bound.
std::optional<SourceNames::Name> SourceNames::AliasIn(const SourceFrame& frame, size_t reader, size_t maker) const {
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
std::optional<int32_t> SourceNames::EndOfAlias(const SourceFrame& frame, const Name& alias, size_t reader,
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
  const SourceFrame& frame = *known->frame;
  const size_t maker = known->run;
  const SourceRun& made = frame.runs[maker];
  const std::vector<size_t> readers = ReadingRuns(frame, id);
  if (readers.back() == maker) return made.units_a_round > 0 ? std::optional<int32_t>(-1) : std::nullopt;
  if (!IsResult(UnitOf(frame, graph_.tensors[id].producer.value()), id)) return std::nullopt;
  const Statement& statement = made.line->statement;
  if (statement.kind == StatementKind::kAppend) return EndOfAppended(frame, maker, readers);
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

// How many values that the nodes [begin, end] make are read behind them.
size_t SourceNames::CountResults(int32_t begin, int32_t end) const {
  size_t count = 0;
  for (int32_t i = begin; i <= end; ++i) {
    for (TensorId output : graph_.nodes[NodeId(i)].outputs) {
      if (!output.valid()) continue;
      const auto& readers = graph_.tensors[output].consumers;
      count += std::any_of(readers.begin(), readers.end(), [&](NodeId reader) { return reader.value() > end; });
    }
  }
  return count;
}

std::optional<SourceNames::Maker> SourceNames::MakerOf(TensorId id) const {
  const Tensor& tensor = graph_.tensors[id];
  if (!any() || !tensor.producer.valid() || tensor.consumers.empty()) return std::nullopt;
  const SourceFrame* home = HomeOf(id);
  if (home == nullptr) return std::nullopt;
  const size_t run = RunOf(*home, tensor.producer.value());
  return home->runs[run].line == nullptr ? std::nullopt : std::optional(Maker{home, run});
}

//   99  q, k = rotate(q, k, cos, sin)     what leaves the statement takes both names: the rest were rotate's own
std::optional<int32_t> SourceNames::HeldAtMostUntil(TensorId id) const {
  const std::optional<Maker> known = MakerOf(id);
  if (!known) return std::nullopt;
  const SourceFrame& frame = *known->frame;
  const size_t maker = known->run;
  const SourceRun& made = frame.runs[maker];
  if (ReadingRuns(frame, id).back() != maker) return std::nullopt;
  const Statement& statement = made.line->statement;
  const std::vector<Name>& targets = statement.targets;
  const bool names_all = statement.kind == StatementKind::kAssign && statement.whole && !targets.empty() &&
                         std::none_of(targets.begin(), targets.end(), [](const Name& name) { return name.empty(); });
  if (!names_all || IsContainersLoop(*made.line)) return std::nullopt;
  const int32_t begin = frame.units[made.first].begin, end = frame.units[made.last].end;
  if (CountResults(begin, end) < targets.size()) return std::nullopt;
  return end;
}

}  // namespace onnx_mem::names
