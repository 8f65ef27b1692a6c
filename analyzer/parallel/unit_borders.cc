#include "analyzer/parallel/unit_borders.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/analysis/module_nodes.h"
#include "analyzer/analysis/segments.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/module_path.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

// The innermost unit that has `module`; "": the root.
std::string_view UnitOf(std::string_view module, const std::vector<std::string>& units) {
  std::string_view innermost;
  for (const std::string& unit : units) {
    if (IsInside(module, unit) && unit.size() > innermost.size()) innermost = unit;
  }
  return innermost;
}

// A module around a unit calls it.
bool IsAroundUnit(const std::string& module, const std::vector<std::string>& units) {
  return std::any_of(units.begin(), units.end(),
                     [&](const std::string& unit) { return unit != module && IsInside(unit, module); });
}

absl::Status Refused(const Segment& segment, std::string_view what, std::vector<std::string> details) {
  const std::vector<std::string>& names = segment.modules.empty() ? segment.nodes : segment.modules;
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadPlan,
                     absl::StrCat("the segment ", absl::StrJoin(names, ", "), " ", std::string(what)),
                     std::move(details));
}

}  // namespace

bool KeepsUnits(const Segment& segment, const std::vector<std::string>& units) {
  if (units.empty()) return true;
  // Nodes without a module's name may be of any unit.
  if (segment.modules.empty()) return false;
  const std::string_view unit = UnitOf(segment.modules.front(), units);
  return std::all_of(segment.modules.begin(), segment.modules.end(), [&](const std::string& module) {
    const bool whole = module == UnitOf(module, units);
    return !IsAroundUnit(module, units) && UnitOf(module, units) == unit && (!whole || segment.modules.size() == 1);
  });
}

std::vector<std::string> NamesOf(const std::vector<FsdpUnit>& units) {
  std::vector<std::string> names;
  for (const FsdpUnit& unit : units) {
    if (!unit.module.empty()) names.push_back(unit.module);
  }
  return names;
}

bool KeepsHooks(const Segment& segment, const std::vector<std::string>& split) {
  if (split.empty()) return true;
  return !segment.modules.empty() &&
         std::none_of(segment.modules.begin(), segment.modules.end(), [&](const std::string& module) {
           return std::find(split.begin(), split.end(), module) != split.end();
         });
}

absl::Status CheckSegments(const std::vector<Segment>& segments, const std::vector<std::string>& units) {
  for (const Segment& segment : segments) {
    if (KeepsUnits(segment, units)) continue;
    return Refused(segment, "crosses units of FSDP",
                   {"why: a unit's parameters are gathered where it is called; PyTorch refuses such a segment",
                    "way out: a unit alone, or modules inside one, as onnx-mem plan with the same options finds"});
  }
  return absl::OkStatus();
}

absl::Status CheckHooks(const std::vector<Segment>& segments, const std::vector<std::string>& split) {
  for (const Segment& segment : segments) {
    if (KeepsHooks(segment, split)) continue;
    return Refused(segment, "ends where --tp exchanges tensors",
                   {"why: parallelize_module does that in hooks around a module, a plan wraps its forward alone",
                    "way out: the module around, as onnx-mem plan with the same options finds"});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<Segment>>> SegmentsByStage(const FrameworkGraph& whole,
                                                                  const std::vector<StageGraph>& stages,
                                                                  const std::vector<Segment>& segments) {
  std::vector<std::vector<Segment>> by_stage(stages.size());
  if (segments.empty()) return by_stage;
  const ModuleNodes modules(whole);
  for (const Segment& segment : segments) {
    ASSIGN_OR_RETURN(const std::vector<eager::NodeRange> ranges, RangesOf(whole, modules, segment));
    for (const eager::NodeRange& range : ranges) {
      const auto stage = std::find_if(stages.begin(), stages.end(), [&](const StageGraph& one) {
        return one.nodes.first <= range.first && range.last <= one.nodes.last;
      });
      if (stage == stages.end()) {
        return Refused(segment, "begins in one stage and ends in another",
                       {"way out: modules inside one stage, as onnx-mem plan with the same options finds"});
      }
      std::vector<Segment>& own = by_stage[static_cast<size_t>(stage - stages.begin())];
      if (own.empty() || own.back() != segment) own.push_back(segment);
    }
  }
  return by_stage;
}

std::vector<std::string> ModulesAcross(const FrameworkGraph& whole, const std::vector<StageGraph>& stages) {
  std::map<std::string, size_t> first_of;
  std::vector<std::string> across;
  for (size_t s = 0; s < stages.size(); ++s) {
    const auto see = [&](std::string_view module) {
      const auto [known, is_new] = first_of.emplace(module, s);
      if (is_new || known->second == s) return;
      if (std::find(across.begin(), across.end(), module) == across.end()) across.emplace_back(module);
    };
    for (int32_t i = stages[s].nodes.first; i <= stages[s].nodes.last; ++i) {
      const std::string& module = whole.nodes[NodeId(i)].module;
      ForEachOuterModule(module, see);
      if (!module.empty()) see(module);
    }
  }
  return across;
}

}  // namespace onnx_mem
