#include "analyzer/segments.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

bool IsWithin(const std::string& module, const std::string& ancestor) {
  if (ancestor.empty()) return true;
  return absl::StartsWith(module, ancestor) && (module.size() == ancestor.size() || module[ancestor.size()] == '.');
}

bool Belongs(const Node& node, const Segment& segment) {
  for (const std::string& module : segment.modules) {
    if (IsWithin(node.module, module)) return true;
  }
  return std::find(segment.nodes.begin(), segment.nodes.end(), node.name) != segment.nodes.end();
}

absl::Status UnknownSegment(const Segment& segment) {
  const bool by_module = !segment.modules.empty();
  return ErrorStatus(absl::StatusCode::kInvalidArgument, by_module ? "unknown-module" : "unknown-node",
                     absl::StrCat("the plan names ", by_module ? "modules" : "nodes", " that the model does not have: ",
                                  absl::StrJoin(by_module ? segment.modules : segment.nodes, ", ")),
                     {"try: onnx-mem MODEL --by layer   lists the modules"});
}

// Modules whose path matches, without those inside another match: each is one checkpoint call.
std::vector<Segment> MatchingModules(const Graph& graph, const std::regex& pattern) {
  std::set<std::string> matches;
  for (const Node& node : graph.nodes) {
    for (size_t end = node.module.find('.');; end = node.module.find('.', end + 1)) {
      const std::string path = node.module.substr(0, end);
      if (!path.empty() && std::regex_match(path, pattern)) {
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

absl::StatusOr<std::vector<eager::NodeRange>> SegmentRanges(const Graph& graph, const Run& run) {
  std::vector<Segment> segments = run.segments;
  for (const std::string& pattern : run.checkpointed) {
    std::vector<Segment> matching;
    try {
      matching = MatchingModules(graph, std::regex(pattern));
    } catch (const std::regex_error&) {
      return ErrorStatus(absl::StatusCode::kInvalidArgument, "usage",
                         absl::StrCat("--checkpointed: '", pattern, "' is not a regular expression"));
    }
    segments.insert(segments.end(), matching.begin(), matching.end());
  }
  std::vector<eager::NodeRange> ranges;
  for (const Segment& segment : segments) {
    std::optional<eager::NodeRange> range;
    for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
      if (!Belongs(graph.nodes[NodeId(i)], segment)) continue;
      if (!range) range = eager::NodeRange{i, i};
      range->last = i;
    }
    if (!range) return UnknownSegment(segment);
    ranges.push_back(*range);
  }
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first <= ranges[i - 1].last) {
      return ErrorStatus(absl::StatusCode::kInvalidArgument, "bad-plan", "two checkpoint segments overlap");
    }
  }
  return ranges;
}

}  // namespace onnx_mem
