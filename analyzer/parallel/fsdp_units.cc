#include "analyzer/parallel/fsdp_units.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/module_path.h"
#include "analyzer/graph/name_pattern.h"
#include "analyzer/graph/shape.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kRootAlone = "none";

// Every module on the way to a parameter, outer ones first.
std::set<std::string> ModulesOf(const StepFacts& facts) {
  std::set<std::string> modules;
  for (const OwnedParameter& p : facts.parameters) {
    ForEachOuterModule(p.name, [&](std::string_view outer) { modules.emplace(outer); });
  }
  return modules;
}

// "encoder_layer_" of "encoder.layers.encoder_layer_11", with its parent; "" where the name does not end in a number.
std::string StemOf(const std::string& module) {
  const size_t last = module.find_last_not_of("0123456789");
  if (last == std::string::npos || last + 1 == module.size()) return last == std::string::npos ? "." : "";
  return module.substr(0, last + 1);
}

// nullopt: more bytes than can be counted.
std::optional<ShardedParameter> ShardOf(const OwnedParameter& p, size_t index, const RankLayout& layout, int64_t rank) {
  const int64_t rows = p.dims.empty() ? 1 : p.dims.front();
  const int64_t share = (rows + layout.ranks - 1) / layout.ranks;  // rows of a padded shard
  Shape padded(p.dims);
  if (!p.dims.empty()) padded.dims.front() = share;
  const DType own = OwnType(p.dtype, layout), gathered = layout.unsharded_type.value_or(p.dtype);
  const std::optional<int64_t> shard = NumBytes(padded, own), cast = NumBytes(padded, gathered);
  const std::optional<int64_t> reduced = NumBytes(padded, layout.reduce_type.value_or(own));
  if (!shard || !cast || !reduced) return std::nullopt;
  const std::optional<int64_t> unsharded = CheckedMul(*cast, layout.ranks);
  if (!unsharded || !CheckedMul(*reduced, layout.ranks)) return std::nullopt;
  ShardedParameter result{index, *shard, *unsharded, *cast, *reduced, p.dims, own, p.trained};
  if (!p.dims.empty()) result.local_dims.front() = std::clamp<int64_t>(rows - rank * share, 0, share);
  return result;
}

// The innermost of `units` that has it.
FsdpUnit& UnitOf(const OwnedParameter& p, std::vector<FsdpUnit>& units) {
  FsdpUnit* best = &units.front();
  for (FsdpUnit& unit : units) {
    if (IsInside(p.name, unit.module) && unit.module.size() >= best->module.size()) best = &unit;
  }
  return *best;
}

// A trained parameter outside is used before the unit begins.
bool NeedsGradient(const FsdpUnit& unit, const StepFacts& facts) {
  if (!unit.forward) return false;
  return std::any_of(facts.parameters.begin(), facts.parameters.end(), [&](const OwnedParameter& p) {
    if (!p.trained || IsInside(p.name, unit.module)) return false;
    const std::optional<ModuleSpan> used = SpanOf(facts.forward, p.module);
    return used && used->first < unit.forward->first;
  });
}

}  // namespace

DType OwnType(DType enacted, const RankLayout& layout) {
  return layout.unsharded_type && enacted == *layout.unsharded_type ? DType::kFloat32 : enacted;
}

std::vector<std::string> RepeatedModules(const StepFacts& facts) {
  std::map<std::string, std::vector<std::string>> by_stem;
  for (const std::string& module : ModulesOf(facts)) {
    const std::string stem = StemOf(module);
    if (!stem.empty()) by_stem[stem].push_back(module);
  }
  std::vector<std::string> blocks;
  for (const auto& [stem, siblings] : by_stem) {
    if (siblings.size() < 2) continue;
    const bool inside = std::any_of(
        blocks.begin(), blocks.end(),
        [&first = siblings.front()](const std::string& outer) { return first != outer && IsInside(first, outer); });
    if (!inside) blocks.insert(blocks.end(), siblings.begin(), siblings.end());
  }
  return blocks;
}

absl::StatusOr<std::vector<std::string>> UnitModulesOf(const StepFacts& facts, const RankLayout& layout) {
  if (layout.units == kRootAlone) return std::vector<std::string>();
  if (layout.units.empty()) return RepeatedModules(facts);
  const std::optional<NamePattern> pattern = NamePattern::Compile(layout.units);
  if (!pattern) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                       absl::StrCat("--fsdp: '", layout.units, "' is not a regular expression"));
  }
  const std::set<std::string> modules = ModulesOf(facts);
  std::vector<std::string> units;
  for (const std::string& module : modules) {
    if (pattern->Matches(module)) units.push_back(module);
  }
  if (!units.empty()) return units;
  std::vector<std::string> known = RepeatedModules(facts);
  if (known.empty()) known.assign(modules.begin(), modules.end());
  constexpr size_t kMostNamed = 6;
  if (known.size() > kMostNamed) known.resize(kMostNamed);
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kNoMatch,
                     absl::StrCat("--fsdp: no module with parameters matches '", layout.units, "'"),
                     {known.empty() ? std::string("the file does not tell modules; try: --fsdp W:none, the root alone")
                                    : absl::StrCat("modules: ", absl::StrJoin(known, ", "))});
}

absl::StatusOr<std::vector<FsdpUnit>> UnitsOf(const StepFacts& facts, std::vector<std::string> modules,
                                              const RankLayout& layout) {
  const int64_t rank = DataRankOf(layout, layout.rank.value_or(0)) % layout.ranks;
  StableSort(modules, [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  std::vector<FsdpUnit> units(1);
  for (std::string& module : modules) units.emplace_back().module = std::move(module);
  for (size_t i = 0; i < facts.parameters.size(); ++i) {
    const OwnedParameter& p = facts.parameters[i];
    const std::optional<ShardedParameter> shard = ShardOf(p, i, layout, rank);
    if (!shard) {
      return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTooLarge,
                         absl::StrCat("'", p.name, "' on ", layout.ranks, " ranks is larger than any machine"));
    }
    UnitOf(p, units).parameters.push_back(*shard);
  }
  std::erase_if(units, [](const FsdpUnit& unit) { return !unit.module.empty() && unit.parameters.empty(); });
  for (FsdpUnit& unit : units) {
    unit.forward = SpanOf(facts.forward, unit.module);
    if (!unit.module.empty()) unit.backward = SpanOf(facts.backward, unit.module);
    unit.inputs_need_gradient = NeedsGradient(unit, facts);
  }
  if (units.front().forward) units.front().forward->first = StepId(0);
  return units;
}

absl::StatusOr<std::vector<FsdpUnit>> UnitsOf(const StepFacts& facts, const RankLayout& layout) {
  ASSIGN_OR_RETURN(std::vector<std::string> modules, UnitModulesOf(facts, layout));
  return UnitsOf(facts, std::move(modules), layout);
}

}  // namespace onnx_mem
