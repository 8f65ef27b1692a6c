#include "analyzer/assume/names/source_frames.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

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

// x = self.decode(x), the line's only call -> "decode"; "" for any other line.
std::string_view OnlyCallee(std::string_view line) {
  const size_t open = line.find('(');
  if (open == std::string_view::npos || line.find('(', open + 1) != std::string_view::npos) return {};
  const size_t self = line.find("self.");
  const size_t dot = line.substr(0, open).rfind('.');
  return self == std::string_view::npos || self > open ? std::string_view() : line.substr(dot + 1, open - dot - 1);
}

// Whether "enc_dec.decoders.0" has the part `name`.
bool HasPart(std::string_view path, std::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(absl::string_view(path.data(), path.size()), '.');
  return std::find(parts.begin(), parts.end(), absl::string_view(name.data(), name.size())) != parts.end();
}

}  // namespace

SourceFrames::SourceFrames(const FrameworkGraph& graph, const Calls& calls) : graph_(graph), calls_(calls) {
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
    for (SourceUnit& unit : frame.units) unit.repeated = unit.call >= 0 && MayBeSeveralCalls(unit.call);
  }
}

const SourceFrame* SourceFrames::Find(int32_t call) const {
  const auto it = frames_.find(call);
  return it == frames_.end() ? nullptr : &it->second;
}

void SourceFrames::AddUnits() {
  for (int32_t i = 0; i < static_cast<int32_t>(graph_.nodes.size()); ++i) {
    const std::span<const int32_t> path = calls_.of_node(i);
    const SourceLines& lines = traces_.Read(graph_.nodes[NodeId(i)]);
    for (size_t depth = 0; depth <= path.size(); ++depth) {
      SourceFrame& frame = frames_[depth == 0 ? -1 : path[depth - 1]];
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
void SourceFrames::FindArguments(SourceFrame& frame) {
  std::map<std::pair<std::string_view, int64_t>, const SourceLine*> lines, arguments;
  for (const SourceUnit& unit : frame.units) {
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
  for (SourceUnit& unit : frame.units) {
    const auto it = unit.line == nullptr ? arguments.end() : arguments.find({unit.line->file, unit.line->line});
    if (it != arguments.end()) unit.line = it->second;
  }
}

// A call of one operator, or of one behind the pads that exporters put into it.
bool SourceFrames::IsOneOperator(const SourceUnit& unit) const {
  for (int32_t node = unit.begin; node < unit.end; ++node) {
    if (graph_.nodes[NodeId(node)].op != "pad") return false;
  }
  return true;
}

// A convolution whose norm the exporter folded into it has the norm's line, if that line calls both; else the line is
// not in the file, but the norm's says what name the result was given: x = self.bn(y).
void SourceFrames::FindLinesOfFolded(SourceFrame& frame) {
  // Between two units of one line nothing else has run.
  for (size_t i = 1; i < frame.units.size(); ++i) {
    if (frame.units[i].line != nullptr || frame.units[i - 1].line == nullptr) continue;
    size_t next = i;
    while (next < frame.units.size() && frame.units[next].line == nullptr) ++next;
    if (next == frame.units.size() || frame.units[next].line != frame.units[i - 1].line) continue;
    for (size_t between = i; between < next; ++between) frame.units[between].line = frame.units[next].line;
  }
  for (size_t i = 0; i + 1 < frame.units.size(); ++i) {
    SourceUnit& unit = frame.units[i];
    const SourceUnit& next = frame.units[i + 1];
    if (unit.line != nullptr || unit.call < 0 || next.call < 0 || next.line == nullptr) continue;
    const bool is_norm = graph_.nodes[NodeId(next.begin)].op == "batch_norm" && IsOneOperator(unit);
    const Statement& statement = next.line->statement;
    const bool is_alone = (i == 0 || frame.units[i - 1].line != next.line) &&
                          (i + 2 == frame.units.size() || frame.units[i + 2].line != next.line);
    if (!is_norm || !statement.whole) continue;
    const std::optional<std::string> argument = PlainArgument(*next.line, calls_.span(next.call).name);
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

void SourceFrames::FindRuns(SourceFrame& frame) const {
  for (size_t i = 0; i < frame.units.size(); ++i) {
    SourceUnit& unit = frame.units[i];
    if (frame.runs.empty() || unit.line == nullptr || frame.runs.back().line != unit.line) {
      frame.runs.push_back({.first = i, .last = i, .line = unit.line});
    }
    frame.runs.back().last = i;
    unit.run = frame.runs.size() - 1;
  }
  for (SourceRun& run : frame.runs) run.units_a_round = run.line == nullptr ? 0 : UnitsARound(frame, run);
}

size_t SourceFrames::Signature(const SourceUnit& unit) const {
  if (unit.call >= 0) return absl::HashOf(WithoutDigits(calls_.span(unit.call).name));
  return absl::HashOf(graph_.nodes[NodeId(unit.begin)].op);
}

// self.cell(x, tuple(state)): no place of the line is for the pieces.
bool SourceFrames::IteratesOverTensor(const SourceFrame& frame, const SourceRun& run) const {
  if (run.line->text.find("unbind(") != std::string::npos) return false;
  return std::any_of(frame.units.begin() + static_cast<std::ptrdiff_t>(run.first),
                     frame.units.begin() + static_cast<std::ptrdiff_t>(run.last) + 1, [&](const SourceUnit& unit) {
                       return unit.call < 0 && graph_.nodes[NodeId(unit.begin)].op == "unbind";
                     });
}

// Whether the units of the run repeat after `period` of them; the last round may be cut short.
bool SourceFrames::Repeats(const SourceFrame& frame, const SourceRun& run, size_t period) const {
  for (size_t i = run.first + period; i <= run.last; ++i) {
    if (Signature(frame.units[i]) != Signature(frame.units[i - period])) return false;
  }
  return true;
}

// x = self.decode(x), where no module of that name runs: a function of the module's own, in whose body loops may be,
// but the line around them is done with it.
bool SourceFrames::CallsOwnFunction(const SourceFrame& frame, const SourceRun& run) const {
  const Statement& statement = run.line->statement;
  const std::string_view callee = OnlyCallee(run.line->text);
  if (!Binds(statement) || !statement.whole || callee.empty()) return false;
  const std::span<const SourceUnit> units(&frame.units[run.first], run.last - run.first + 1);
  return std::all_of(units.begin(), units.end(), [&](const SourceUnit& unit) {
    return unit.call >= 0 && !HasPart(WithoutCallNumber(calls_.span(unit.call).name), callee);
  });
}

// As many units as the line has places: one round. More are rounds of a loop if they repeat, the last perhaps without
// what an exporter took away (one of two activations in a row); else the line calls a function whose body is not shown.
size_t SourceFrames::UnitsARound(const SourceFrame& frame, const SourceRun& run) const {
  if (IsContainersLoop(*run.line)) return 1;
  if (IteratesOverTensor(frame, run)) return 0;
  const size_t count = run.last - run.first + 1;
  const auto places = static_cast<size_t>(run.line->statement.places);
  if (count <= places) return count;
  if (CallsOwnFunction(frame, run)) return 0;
  for (size_t period = 1; period <= places; ++period) {
    if ((count % period == 0 || period == places) && Repeats(frame, run, period)) return period;
  }
  return 0;
}

// True if the first line of the called function, or of one that it calls, runs again later on.
bool SourceFrames::MayBeSeveralCalls(int32_t call) const {
  const SourceFrame* frame = Find(call);
  if (frame == nullptr) return false;
  const std::vector<SourceRun>& runs = frame->runs;
  if (std::any_of(runs.begin() + 1, runs.end(), [&](const SourceRun& run) { return run.line == runs[0].line; }))
    return true;
  const SourceUnit& first = frame->units[0];
  return frame->units.size() == 1 && first.call >= 0 && MayBeSeveralCalls(first.call);
}

}  // namespace onnx_mem::names
