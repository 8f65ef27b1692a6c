#include "planner/code/wrapping.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

using Ranges = std::vector<eager::NodeRange>;
using Tensors = std::set<TensorId>;

struct Member {
  std::string module;
  eager::NodeRange range;
};

bool Holds(const eager::NodeRange& range, NodeId node) {
  return node.valid() && node.value() >= range.first && node.value() <= range.last;
}

// Activations that the range reads from before it.
Tensors Reads(const Lowered& lowered, const eager::NodeRange& range) {
  Tensors reads;
  for (int32_t i = range.first; i <= range.last; ++i) {
    for (TensorId id : lowered.graph.nodes[NodeId(i)].inputs) {
      if (!id.valid() || lowered.kinds[id] != TensorKind::kActivation) continue;
      if (!Holds(range, lowered.graph.tensors[id].producer)) reads.insert(id);
    }
  }
  return reads;
}

// Activations of the range that somebody after it reads, or that the model returns.
Tensors Leaves(const Lowered& lowered, const eager::NodeRange& range) {
  Tensors leaves;
  const FrameworkGraph& graph = lowered.graph;
  for (int32_t i = range.first; i <= range.last; ++i) {
    for (TensorId id : graph.nodes[NodeId(i)].outputs) {
      if (!id.valid()) continue;
      const Tensor& tensor = graph.tensors[id];
      const bool read = std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                                    [&](NodeId reader) { return !Holds(range, reader); });
      const bool returned = std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end();
      if (read || returned) leaves.insert(id);
    }
  }
  return leaves;
}

// What keeps `next` from being called on nothing but the result of `before`, with the arguments of the run's first
// module (`given`: what comes from outside of the run there); "" if nothing does.
std::string Obstacle(const Lowered& lowered, const Member& before, const Member& next, const Tensors& given) {
  const auto name = [&](TensorId id) { return lowered.graph.tensors[id].name; };
  if (next.range.first <= before.range.last)
    return absl::StrCat(before.module, " and ", next.module, " are interleaved");
  if (next.range.first != before.range.last + 1) {
    const FrameworkNode& between = lowered.graph.nodes[NodeId(before.range.last + 1)];
    return absl::StrCat("'", between.name, "' runs between ", before.module, " and ", next.module);
  }
  const Tensors leaves = Leaves(lowered, before.range);
  if (leaves.size() != 1) return absl::StrCat(before.module, " gives ", leaves.size(), " tensors to what follows");
  const TensorId flow = *leaves.begin();
  for (NodeId reader : lowered.graph.tensors[flow].consumers) {
    if (!Holds(before.range, reader) && !Holds(next.range, reader)) {
      return absl::StrCat("what ", before.module, " gives is read after ", next.module, ", too");
    }
  }
  const Tensors reads = Reads(lowered, next.range);
  if (!reads.contains(flow)) return absl::StrCat(next.module, " does not read what ", before.module, " gives");
  for (TensorId id : reads) {
    if (id != flow && !given.contains(id)) {
      return absl::StrCat(next.module, " also reads '", name(id), "', which ", before.module, " does not");
    }
  }
  return "";
}

bool IsCalled(const FrameworkGraph& graph, const std::string& module) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const FrameworkNode& node) { return CallOf(node, module).has_value(); });
}

void AddEffects(const FrameworkGraph& graph, const Ranges& ranges, Wrapping& wrapping) {
  for (const eager::NodeRange& range : ranges) {
    const RerunEffects effects = EffectsOfRerun(graph, range);
    wrapping.random |= effects.random;
    wrapping.running_statistics |= effects.running_statistics;
    if (wrapping.segment.moves_all()) continue;  // nothing runs again
    if (!effects.overwrites_inputs || wrapping.kind == WrapKind::kEditForward) continue;
    wrapping.kind = WrapKind::kEditForward;
    wrapping.why = "its first operator overwrites what the second run would start from";
  }
}

// What keeps the members, in the order in which they run, from being one run; "" if nothing does.
std::string ObstacleOfRun(const Lowered& lowered, const std::vector<Member>& members) {
  const Tensors given = Reads(lowered, members.front().range);
  for (size_t i = 1; i < members.size(); ++i) {
    std::string obstacle = Obstacle(lowered, members[i - 1], members[i], given);
    if (!obstacle.empty()) return obstacle;
  }
  return "";
}

}  // namespace

absl::StatusOr<Wrapping> WrappingOf(const Lowered& lowered, const ModuleNodes& modules, const Segment& segment) {
  Wrapping wrapping;
  wrapping.segment = segment;
  ASSIGN_OR_RETURN(const Ranges whole, RangesOf(lowered.graph, modules, segment));
  const auto refuse = [&](std::string why) {
    wrapping.kind = WrapKind::kEditForward;
    wrapping.why = std::move(why);
  };
  std::vector<Member> members;
  for (const std::string& module : segment.modules) {
    ASSIGN_OR_RETURN(const Ranges ranges, RangesOf(lowered.graph, modules, {.modules = {module}, .nodes = {}}));
    if (!IsCalled(lowered.graph, module)) refuse(absl::StrCat(module, " is a list of modules, not called itself"));
    if (ranges.size() > 1 && segment.modules.size() > 1) refuse(absl::StrCat(module, " is called several times"));
    members.push_back({module, ranges.front()});
    wrapping.calls = static_cast<int>(ranges.size());
  }
  if (members.empty() || !segment.nodes.empty()) refuse("it names operators, not modules");
  if (members.size() > 1) {
    std::sort(members.begin(), members.end(),
              [](const auto& a, const auto& b) { return a.range.first < b.range.first; });
    wrapping.segment.modules.clear();
    for (const Member& member : members) wrapping.segment.modules.push_back(member.module);
    if (wrapping.kind == WrapKind::kModule) {
      wrapping.kind = WrapKind::kRun;
      if (std::string obstacle = ObstacleOfRun(lowered, members); !obstacle.empty()) refuse(std::move(obstacle));
    }
  }
  AddEffects(lowered.graph, whole, wrapping);
  return wrapping;
}

bool CanFollow(const Lowered& lowered, const eager::NodeRange& before, const eager::NodeRange& next) {
  return ObstacleOfRun(lowered, {{"", before}, {"", next}}).empty();
}

std::string WrapperOf(const Lowered& lowered) {
  std::optional<std::string> wrapper;
  for (const FrameworkNode& node : lowered.graph.nodes) {
    if (node.module.empty()) continue;
    const std::string first = node.module.substr(0, node.module.find('.'));
    if (wrapper && *wrapper != first) return "";
    wrapper = first;
  }
  return wrapper.value_or("");
}

}  // namespace onnx_mem
