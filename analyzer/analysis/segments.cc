#include "analyzer/analysis/segments.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/eager/operators/dropout.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/name_pattern.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

void Extend(std::optional<eager::NodeRange>& range, int32_t index) {
  if (!range) range = eager::NodeRange{{index, index}};
  range->first = std::min(range->first, index);
  range->last = std::max(range->last, index);
}

// The ranges of the calls of `module`, in order; empty if some of its nodes run outside of any call of it, or if two
// calls do not come one after the other.
std::vector<eager::NodeRange> RangesOfCalls(const FrameworkGraph& graph, const ModuleNodes& modules,
                                            const std::string& module) {
  std::vector<std::pair<std::string, std::optional<eager::NodeRange>>> calls;
  for (int32_t i : modules.In(module)) {
    const std::optional<std::string> call = CallOf(graph.nodes[NodeId(i)], module);
    if (!call) return {};
    auto it = std::find_if(calls.begin(), calls.end(), [&](const auto& entry) { return entry.first == *call; });
    if (it == calls.end()) it = calls.insert(calls.end(), {*call, std::nullopt});
    Extend(it->second, i);
  }
  std::vector<eager::NodeRange> ranges;
  for (const auto& [call, range] : calls) {
    if (!ranges.empty() && range->first <= ranges.back().last) return {};
    ranges.push_back(*range);
  }
  return ranges;
}

// What the segment says of its second run.
void Choose(const Segment& segment, eager::NodeRange& range) {
  range.keep = segment.keep;
  range.keep_calls = segment.keep_calls;
  range.skip = segment.skip;
  range.host_calls = segment.host_calls;
  range.host_inputs = segment.host_inputs;
  range.offload = segment.offload;
}

// Does a node of `range` make the tensor?
bool MadeWithin(const FrameworkGraph& graph, const eager::NodeRange& range, TensorId id) {
  const NodeId producer = graph.tensors[id].producer;
  return producer.valid() && producer.value() >= range.first && producer.value() <= range.last;
}

// What a record shows of a BatchNorm beside its statistics (num_batches_tracked.add_(1),
// torch/nn/modules/batchnorm.py): no result depends on it.
bool IsCounter(const Tensor& tensor) {
  return tensor.role == TensorRole::kInitializer && IsIntegral(tensor.dtype) && tensor.shape == Shape::Scalar();
}

absl::Status UnknownSegment(const Segment& segment) {
  const bool by_module = !segment.modules.empty();
  return ErrorStatus(absl::StatusCode::kInvalidArgument, by_module ? Code::kUnknownModule : Code::kUnknownNode,
                     absl::StrCat("the plan names ", by_module ? "modules" : "nodes", " that the model does not have: ",
                                  absl::StrJoin(by_module ? segment.modules : segment.nodes, ", ")),
                     {"try: onnx-mem MODEL --by layer   # lists the modules"});
}

// "classifier.3" where the model has a classifier.4 or a later one.
bool IsGapInNumbers(const FrameworkGraph& graph, const std::string& module) {
  const size_t begin = module.rfind('.') + 1;  // 0 without a dot
  int64_t number = 0;
  if (!absl::SimpleAtoi(module.substr(begin), &number)) return false;
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const FrameworkNode& node) {
    if (!absl::StartsWith(node.module, module.substr(0, begin))) return false;
    const std::string rest = node.module.substr(begin);
    int64_t other = 0;
    return absl::SimpleAtoi(rest.substr(0, rest.find('.')), &other) && other > number;
  });
}

// Modules whose path matches, without those inside another match: each is one checkpoint call.
std::vector<Segment> MatchingModules(const FrameworkGraph& graph, const NamePattern& pattern) {
  std::set<std::string> matches;
  for (const FrameworkNode& node : graph.nodes) {
    for (size_t end = node.module.find('.');; end = node.module.find('.', end + 1)) {
      const std::string path = node.module.substr(0, end);
      if (!path.empty() && pattern.Matches(path)) {
        matches.insert(path);
        break;
      }
      if (end == std::string::npos) break;
    }
  }
  std::vector<Segment> segments;
  for (const std::string& path : matches) segments.push_back({.modules = {path}, .nodes = {}});
  return segments;
}

}  // namespace

// A call is named by the raw path of its module: containers may be missing at its front, and a call number may stand
// at its end. What is below the module is the same in both, part by part, so the parts are counted from the back.
std::optional<std::string> CallOf(const FrameworkNode& node, std::string_view module) {
  if (!RunsIn(node, module) || node.calls.empty()) return std::nullopt;
  const auto parts = [](std::string_view path) {
    return path.empty() ? 0 : 1 + std::count(path.begin(), path.end(), '.');
  };
  const auto below = parts(node.module) - parts(module);
  for (const std::string& call : node.calls) {
    if (parts(node.calls.back()) - parts(call) == below) return call;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<eager::NodeRange>> RangesOf(const FrameworkGraph& graph, const ModuleNodes& modules,
                                                       const Segment& segment) {
  if (segment.modules.size() == 1 && segment.nodes.empty()) {
    std::vector<eager::NodeRange> calls = RangesOfCalls(graph, modules, segment.modules[0]);
    for (eager::NodeRange& call : calls) {
      Choose(segment, call);
    }
    if (!calls.empty()) return calls;
  }
  // A module of a run that is missing inside it has nothing to run (a Dropout that the exporter dropped); at an end of
  // it only a gap in the numbers of an nn.Sequential tells as much.
  if (!segment.modules.empty()) {
    for (const std::string& end : {segment.modules.front(), segment.modules.back()}) {
      if (modules.In(end).empty() && !IsGapInNumbers(graph, end))
        return UnknownSegment({.modules = {end}, .nodes = {}});
    }
  }
  std::optional<eager::NodeRange> range;
  for (const std::string& module : segment.modules) {
    for (int32_t i : modules.In(module)) Extend(range, i);
  }
  const std::unordered_set<std::string_view> nodes(segment.nodes.begin(), segment.nodes.end());
  for (int32_t i = 0; !nodes.empty() && i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    if (nodes.contains(graph.nodes[NodeId(i)].name)) Extend(range, i);
  }
  if (!range) return UnknownSegment(segment);
  Choose(segment, *range);
  return std::vector<eager::NodeRange>{*range};
}

RerunEffects EffectsOfRerun(const FrameworkGraph& graph, const eager::NodeRange& range) {
  RerunEffects effects;
  for (int32_t i = range.first; i <= range.last; ++i) {
    const FrameworkNode& node = graph.nodes[NodeId(i)];
    effects.random |= eager::DropProbability(node) > 0 || node.op == "random";
    effects.running_statistics |= NormalizesBatch(node.op) && IntAttribute(node, "training", 1) != 0;
    if (IntAttribute(node, "inplace", 0) == 0 || node.inputs.empty()) continue;
    const TensorId written = node.inputs[0];
    effects.overwrites_inputs |=
        written.valid() && !MadeWithin(graph, range, written) && !IsCounter(graph.tensors[written]);
  }
  return effects;
}

const UserFunction* FunctionCutBy(const Lowered& lowered, const NodeSpan& span) {
  for (const UserFunction& function : lowered.functions) {
    const bool meets = span.first <= function.span.last && function.span.first <= span.last;
    const bool holds = span.first <= function.span.first && function.span.last <= span.last;
    if (meets && !holds) return &function;
  }
  return nullptr;
}

absl::StatusOr<std::vector<eager::NodeRange>> SegmentRanges(const FrameworkGraph& graph, const Run& run,
                                                            const ModuleNodes* known) {
  std::vector<Segment> segments = run.segments;
  for (const std::string& pattern : run.checkpointed) {
    const std::optional<NamePattern> compiled = NamePattern::Compile(pattern);
    if (!compiled) {
      return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                         absl::StrCat("--checkpointed: '", pattern, "' is not a regular expression"));
    }
    const std::vector<Segment> matching = MatchingModules(graph, *compiled);
    segments.insert(segments.end(), matching.begin(), matching.end());
  }
  if (segments.empty()) return std::vector<eager::NodeRange>();
  std::optional<ModuleNodes> own;
  const ModuleNodes& modules = known != nullptr ? *known : own.emplace(graph);
  std::vector<eager::NodeRange> ranges;
  for (const Segment& segment : segments) {
    ASSIGN_OR_RETURN(const std::vector<eager::NodeRange> more, RangesOf(graph, modules, segment));
    ranges.insert(ranges.end(), more.begin(), more.end());
  }
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first <= ranges[i - 1].last) {
      return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadPlan, "two checkpoint segments overlap");
    }
  }
  return ranges;
}

}  // namespace onnx_mem
