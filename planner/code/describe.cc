#include "planner/code/describe.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/ops/ops.h"
#include "planner/code/name_patterns.h"
#include "planner/measure/index.h"

namespace onnx_mem {
namespace {

constexpr size_t kLongestLabel = 48;

std::vector<std::string> NodesBetween(const FrameworkGraph& graph, int32_t first, int32_t last) {
  std::vector<std::string> nodes;
  for (int32_t i = first; i <= last; ++i) {
    if (FactsOf(graph.nodes[NodeId(i)].op).family == OpFamily::kCollective) continue;  // of no file
    const std::string& name = graph.nodes[NodeId(i)].name;
    if (!name.empty() && std::find(nodes.begin(), nodes.end(), name) == nodes.end()) nodes.push_back(name);
  }
  return nodes;
}

size_t KeptCallsIn(const ModulePlan& plan) {
  size_t count = 0;
  for (const PlannedSegment& planned : plan.segments) count += planned.segment.keep_calls.size();
  return count;
}

}  // namespace

std::string LabelOf(const Profile& profile, const Choice& choice, std::string_view many) {
  if (choice.empty()) return "none";
  std::vector<std::string> labels;
  bool blocks = true;
  for (int32_t c : choice) {
    labels.push_back(profile.candidates[Index(c)].label);
    blocks = blocks && profile.candidates[Index(c)].is_block;
  }
  std::string label = absl::StrJoin(labels, ", ");
  if (label.size() <= kLongestLabel) return label;
  std::vector<std::string> patterns;
  for (const NameGroup& group : GroupNames(labels, std::vector<std::string>(labels.size()))) {
    patterns.push_back(TextOf(group));
  }
  label = absl::StrJoin(patterns, ", ");
  if (label.size() <= kLongestLabel) return label;
  return absl::StrCat(choice.size(), " ", blocks ? "blocks" : std::string(many));
}

void TellApart(std::vector<ModulePlan>& plans) {
  std::map<std::string, int> count;
  for (const ModulePlan& plan : plans) ++count[plan.label];
  for (ModulePlan& plan : plans) {
    const size_t kept = KeptCallsIn(plan);
    if (count[plan.label] < 2 || kept == 0) continue;
    absl::StrAppend(&plan.label, " keeping ", kept, kept == 1 ? " call" : " calls");
  }
  count.clear();
  for (ModulePlan& plan : plans) {
    const int nth = KeptCallsIn(plan) > 0 ? ++count[plan.label] : 0;
    if (nth > 1) absl::StrAppend(&plan.label, " (", nth, ")");
  }
}

Choice Convention(const Profile& profile, bool Candidate::*kind) {
  Choice choice;
  int32_t next = 0;
  for (size_t i = 0; i < profile.candidates.size(); ++i) {
    const Candidate& candidate = profile.candidates[i];
    if (!(candidate.*kind) || candidate.first < next) continue;
    choice.push_back(static_cast<int32_t>(i));
    next = candidate.last + 1;
  }
  return choice;
}

ModulePlan Described(const FrameworkGraph& graph, const Profile& profile, const Choice& choice, std::string method,
                     std::string label) {
  ModulePlan plan;
  plan.method = std::move(method);
  plan.label = std::move(label);
  for (int32_t c : choice) {
    const Candidate& candidate = profile.candidates[Index(c)];
    PlannedSegment segment;
    segment.segment = candidate.segment;
    segment.nodes = NodesBetween(graph, candidate.first, candidate.last);
    segment.saves_bytes = profile.figures[Index(c)].saves_bytes;
    segment.recompute_flops = profile.figures[Index(c)].recompute_flops;
    segment.cost = profile.figures[Index(c)].cost;
    plan.segments.push_back(std::move(segment));
  }
  return plan;
}

}  // namespace onnx_mem
