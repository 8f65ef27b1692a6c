#include "planner/measure/unit_borders.h"

#include <algorithm>
#include <string_view>

#include "analyzer/graph/module_path.h"

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

}  // namespace onnx_mem
