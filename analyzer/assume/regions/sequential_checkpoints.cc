#include "analyzer/assume/regions/sequential_checkpoints.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "analyzer/exported/call_name.h"
#include "analyzer/exported/source_trace.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kSequential = "checkpoint_sequential";

// What stands between the brackets that open at `open`, argument by argument.
std::vector<absl::string_view> ArgumentsAt(absl::string_view line, size_t open) {
  std::vector<absl::string_view> arguments;
  size_t begin = open + 1;
  int depth = 0;
  for (size_t i = open; i < line.size(); ++i) {
    const char c = line[i];
    if (absl::StrContains("([{", c)) ++depth;
    if (absl::StrContains(")]}", c)) --depth;
    if (depth > 1 || (depth == 1 && c != ',')) continue;
    arguments.push_back(absl::StripAsciiWhitespace(line.substr(begin, i - begin)));
    begin = i + 1;
    if (depth == 0) break;
  }
  return arguments;
}

// 3 of checkpoint_sequential(self.blocks, 3, x); 0 where the line has no number there.
int64_t SegmentsOf(const std::string& line) {
  const size_t call = FindCall(line, kSequential);
  if (call == std::string_view::npos) return 0;
  const std::vector<absl::string_view> arguments = ArgumentsAt(line, call + kSequential.size());
  int64_t segments = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    const bool named = absl::ConsumePrefix(&argument, "segments=");
    if ((named || i == 1) && absl::SimpleAtoi(argument, &segments)) return segments;
  }
  return 0;
}

// 3 of "blocks.3" and of its second call, "blocks.3_1"; -1 where the name ends in none.
int64_t PlaceIn(std::string_view unit) {
  const std::string name(WithoutCallNumber(unit));
  int64_t place = -1;
  return absl::SimpleAtoi(name.substr(name.rfind('.') + 1), &place) ? place : -1;
}

// One of the functions, and where it ran.
struct UnitOfSequence {
  std::string name;
  NodeSpan span;
};

struct Sequence {
  const SourceLine* line = nullptr;
  std::vector<std::string> around;
  std::vector<UnitOfSequence> units;
};

class Sequences {
 public:
  // open: those without a number of segments on their line, instead of the others.
  explicit Sequences(bool open) : of_open_(open) {}

  std::vector<NodeSpan> Find(const FrameworkGraph& graph) {
    for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
      const FrameworkNode& node = graph.nodes[NodeId(i)];
      if (node.source_trace != nullptr) Read(node, i);
    }
    Close();
    return std::move(found_);
  }

 private:
  void Read(const FrameworkNode& node, int32_t index) {
    if (!TraceHas(node, kSequential) || !TraceHas(node, kRunsSegment)) return Close();
    const SourceLines& lines = traces_.Read(node);
    const auto line = std::find_if(lines.begin(), lines.end(), [](const auto& line) {
      return line != nullptr && FindCall(line->text, kSequential) != std::string_view::npos;
    });
    const auto depth = line - lines.begin();
    if (line == lines.end() || depth >= std::ssize(node.calls)) return Close();
    const std::vector<std::string> around(node.calls.begin(), node.calls.begin() + depth);
    const std::string& name = node.calls[static_cast<size_t>(depth)];
    if (!open_ || open_->line != line->get() || open_->around != around || RunsAgain(name)) {
      Close();
      open_ = Sequence{.line = line->get(), .around = around, .units = {}};
    }
    if (open_->units.empty() || open_->units.back().name != name) open_->units.push_back({name, {index, index}});
    open_->units.back().span.last = index;
  }

  // Whether another function has run since: the call is made a second time.
  bool RunsAgain(std::string_view name) const {
    const std::vector<UnitOfSequence>& units = open_->units;
    const auto same = [&](const UnitOfSequence& unit) {
      return WithoutCallNumber(unit.name) == WithoutCallNumber(name);
    };
    return units.back().name != name && std::any_of(units.begin(), units.end(), same);
  }

  // Functions without an operator have a place, too.
  static std::vector<int64_t> PlacesOf(const std::vector<UnitOfSequence>& units) {
    std::vector<int64_t> places;
    for (const UnitOfSequence& unit : units) places.push_back(PlaceIn(unit.name));
    const bool numbered = places.front() >= 0 && std::is_sorted(places.begin(), places.end()) &&
                          std::all_of(units.begin(), units.end(), [&](const UnitOfSequence& unit) {
                            return WithoutElementNumbers(WithoutCallNumber(unit.name)) ==
                                   WithoutElementNumbers(WithoutCallNumber(units.front().name));
                          });
    for (size_t i = 0; i < places.size() && !numbered; ++i) places[i] = static_cast<int64_t>(i);
    return places;
  }

  void Close() {
    const std::optional<Sequence> call = std::exchange(open_, std::nullopt);
    if (!call) return;
    const std::vector<int64_t> places = PlacesOf(call->units);
    int64_t segments = SegmentsOf(call->line->text);
    if (of_open_) segments = segments > 0 ? 0 : places.back() + 1;
    const int64_t size = segments > 0 ? (places.back() + 1) / segments : 0;
    int64_t last_segment = -1;
    for (size_t i = 0; size > 0 && i < places.size(); ++i) {
      const int64_t segment = places[i] / size;
      if (segment >= segments - 1) break;
      if (segment != last_segment) found_.push_back(call->units[i].span);
      found_.back().last = call->units[i].span.last;
      last_segment = segment;
    }
  }

  bool of_open_;
  SourceTraceReader traces_;
  std::optional<Sequence> open_;
  std::vector<NodeSpan> found_;
};

}  // namespace

std::vector<NodeSpan> FindSequentialCheckpoints(const FrameworkGraph& graph) {
  return Sequences(/*open=*/false).Find(graph);
}

std::vector<NodeSpan> FindOpenSequences(const FrameworkGraph& graph) { return Sequences(/*open=*/true).Find(graph); }

}  // namespace onnx_mem
