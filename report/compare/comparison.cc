#include "report/compare/comparison.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/compare/match.h"
#include "report/analyze/answer.h"
#include "report/analyze/tables.h"
#include "report/parts/figures.h"
#include "report/parts/grouped.h"
#include "report/parts/modules.h"

namespace onnx_mem {
namespace {

std::optional<PartSummary> Minus(const std::optional<PartSummary>& head, const std::optional<PartSummary>& base) {
  if (!head || !base) return std::nullopt;
  PartSummary delta;
  for (const PeakRow& row : kPeakRows) {
    if (row.is_peak()) delta.*row.value = (*head).*row.value - (*base).*row.value;
  }
  for (size_t c = 0; c < kNumCategories; ++c) delta.breakdown[c] = head->breakdown[c] - base->breakdown[c];
  return delta;
}

// `names_only`: a saved report does not say what its layers run, so that all names are taken for paths.
std::vector<MatchUnit> UnitsOf(const std::vector<LayerFigures>& layers, bool names_only) {
  std::vector<MatchUnit> units;
  units.reserve(layers.size());
  for (const LayerFigures& layer : layers)
    units.push_back({names_only || layer.is_module ? layer.name : "", layer.name, layer.kind});
  return units;
}

std::vector<MatchUnit> UnitsOf(const std::vector<OperatorCall>& calls) {
  std::vector<MatchUnit> units;
  units.reserve(calls.size());
  for (const OperatorCall& call : calls) {
    units.push_back({call.module.empty() ? "" : absl::StrCat(call.module, "\n", call.op), call.node, call.op});
  }
  return units;
}

// Indices of base and head that are in no pair.
std::pair<std::vector<size_t>, std::vector<size_t>> Unmatched(const std::vector<MatchedPair>& pairs, size_t base_size,
                                                              size_t head_size) {
  std::vector<bool> base(base_size, false), head(head_size, false);
  for (const MatchedPair& pair : pairs) base[pair.base] = head[pair.head] = true;
  std::pair<std::vector<size_t>, std::vector<size_t>> left;
  for (size_t i = 0; i < base_size; ++i) {
    if (!base[i]) left.first.push_back(i);
  }
  for (size_t j = 0; j < head_size; ++j) {
    if (!head[j]) left.second.push_back(j);
  }
  return left;
}

void SortByChange(std::vector<LayerChange>& changes) {
  std::stable_sort(changes.begin(), changes.end(), [](const LayerChange& a, const LayerChange& b) {
    return std::llabs(a.delta_bytes()) > std::llabs(b.delta_bytes());
  });
}

std::vector<LayerChange> CompareLayers(const std::vector<LayerFigures>& base, const std::vector<LayerFigures>& head) {
  const auto without_kinds = [](const std::vector<LayerFigures>& layers) {
    return std::all_of(layers.begin(), layers.end(), [](const LayerFigures& layer) { return layer.kind.empty(); });
  };
  const bool names_only = without_kinds(base) || without_kinds(head);
  const std::vector<MatchedPair> pairs = MatchUnits(UnitsOf(base, names_only), UnitsOf(head, names_only));
  std::vector<LayerChange> changes;
  for (const auto& [i, j] : pairs) {
    changes.push_back({head[j].name, base[i].name, Presence::kBoth, base[i].bytes, head[j].bytes});
  }
  const auto [gone, added] = Unmatched(pairs, base.size(), head.size());
  for (size_t i : gone) changes.push_back({base[i].name, base[i].name, Presence::kGone, base[i].bytes, 0});
  for (size_t j : added) changes.push_back({head[j].name, "", Presence::kNew, 0, head[j].bytes});
  SortByChange(changes);
  return changes;
}

std::vector<OperatorChange> CompareCalls(const std::vector<OperatorCall>& base, const std::vector<OperatorCall>& head) {
  const std::vector<MatchedPair> pairs = MatchUnits(UnitsOf(base), UnitsOf(head));
  const auto [gone, added] = Unmatched(pairs, base.size(), head.size());
  std::vector<OperatorChange> changes;
  const auto count = [&](const OperatorCall& call, Presence presence) {
    auto at = std::find_if(changes.begin(), changes.end(), [&](const OperatorChange& change) {
      return change.op == call.op && change.presence == presence;
    });
    if (at == changes.end()) at = changes.insert(changes.end(), {call.op, presence, 0, 0});
    ++at->count;
    at->bytes += call.bytes;
  };
  for (size_t i : gone) count(base[i], Presence::kGone);
  for (size_t j : added) count(head[j], Presence::kNew);
  std::stable_sort(changes.begin(), changes.end(), [](const OperatorChange& a, const OperatorChange& b) {
    return std::tie(a.bytes, a.count) > std::tie(b.bytes, b.count);
  });
  return changes;
}

// Casts of `head` beyond those of `base`, which full-precision models hardly have.
std::vector<OperatorGroup> CastsAdded(const std::optional<HalfPrecision>& base,
                                      const std::optional<HalfPrecision>& head) {
  if (!head) return {};
  std::vector<OperatorGroup> added;
  for (OperatorGroup group : head->casts) {
    for (const OperatorGroup& before : base ? base->casts : std::vector<OperatorGroup>()) {
      if (before.op != group.op) continue;
      group.count -= before.count;
      group.bytes -= before.bytes;
    }
    if (group.count > 0) added.push_back(group);
  }
  return added;
}

Change ChangeBetween(const ComparedSide& base, const ComparedSide& head) {
  Change change;
  const RunSummary& before = base.report.runs.front();
  const RunSummary& after = head.report.runs.front();
  change.delta.batch = after.batch;
  change.delta.training = Minus(after.training, before.training);
  change.delta.inference = Minus(after.inference, before.inference);
  for (const PassRow& row : kPassRows) change.delta.*row.value = after.*row.value - before.*row.value;
  if (base.layers && head.layers && before.training.has_value() == after.training.has_value()) {
    change.layers = CompareLayers(*base.layers, *head.layers);
  }
  if (base.calls && head.calls) change.operators = CompareCalls(*base.calls, *head.calls);
  change.casts_added = CastsAdded(base.half, head.half);
  return change;
}

// "" and node names, which start with a slash in exports of PyTorch, are no paths; neither is "(no module)".
bool IsPath(std::string_view name) { return !name.empty() && name.front() != '/' && name.front() != '('; }

std::vector<LayerFigures> LayersOf(const Analysis& analysis) {
  std::vector<LayerFigures> layers;
  const RunFigures* figures = MainFigures(analysis);
  if (!figures) return layers;
  struct Kind {
    std::string ops;
    bool is_module = false;
  };
  Grouped<Kind> kinds;
  for (const Step& step : figures->program.steps) {
    if (step.phase != Phase::kForward || step.recompute) continue;
    Kind& kind = kinds[step.module.empty() ? step.node : step.module];
    absl::StrAppend(&kind.ops, step.op.str(), " ");
    kind.is_module = kind.is_module || !step.module.empty();
  }
  const Table table = LayerTable(analysis);
  for (const Row& row : table.rows) {
    LayerFigures& layer = layers.emplace_back();
    layer.name = std::get<std::string>(CellAt(table, row, "module"));
    layer.bytes = std::get<int64_t>(CellAt(table, row, "peak_bytes"));
    const Kind& kind = kinds[layer.name];
    layer.kind = kind.ops;
    layer.is_module = kind.is_module || (kind.ops.empty() && IsPath(layer.name)) || layer.name == kNoModule;
  }
  return layers;
}

std::vector<OperatorCall> CallsOf(const Analysis& analysis) {
  std::vector<OperatorCall> calls;
  const RunFigures* figures = MainFigures(analysis);
  if (!figures) return calls;
  const MemoryProgram& program = figures->program;
  std::vector<int64_t> bytes(program.steps.size(), 0);
  for (const Buffer& buffer : program.buffers) {
    if (MadeByAStep(buffer) && program.steps.contains(buffer.begin)) {
      bytes[static_cast<size_t>(buffer.begin.value())] += buffer.bytes;
    }
  }
  size_t index = 0;
  for (const Step& step : program.steps) {
    const size_t at = index++;
    if (step.phase != Phase::kForward || step.recompute) continue;
    calls.push_back({step.op, step.node, step.module, bytes[at]});
  }
  return calls;
}

}  // namespace

ComparedSide ComparedOf(const Analysis& analysis) {
  ComparedSide side;
  side.report.command = "analyze";
  side.report.model = SummarizeModel(analysis);
  side.report.bound_dims = analysis.info.bound_dims;
  side.report.assumptions = analysis.assumptions;
  side.report.runs = {Summarize(analysis)};
  side.report.notes = analysis.diagnostics;
  side.layers = LayersOf(analysis);
  side.calls = CallsOf(analysis);
  side.half = FindHalfPrecision(*analysis.graph);
  return side;
}

Comparison Compare(ComparedSide base, std::vector<ComparedSide> heads) {
  Comparison comparison;
  for (const ComparedSide& head : heads) comparison.changes.push_back(ChangeBetween(base, head));
  comparison.base = std::move(base);
  comparison.heads = std::move(heads);
  return comparison;
}

Gate CheckGate(const Comparison& comparison, double most_percent) {
  Gate gate;
  gate.most_percent = most_percent;
  for (size_t h = 0; h < comparison.heads.size(); ++h) {
    const RunSummary& head = comparison.heads[h].report.runs.front();
    for (const ComparedFigure& figure : FiguresOf(comparison.base.report.runs.front(), head)) {
      const bool gated = figure.key == "peak_bytes" || figure.key == "device_bytes";
      const double allowed = static_cast<double>(figure.base) * most_percent / 100;
      if (!gated || static_cast<double>(figure.delta()) <= allowed) continue;
      const std::string_view what = figure.key == "peak_bytes" ? " peak" : " on the GPU";
      gate.exceeded.push_back({h, figure.part + std::string(what), figure.base, figure.head});
    }
  }
  return gate;
}

std::vector<ComparedFigure> FiguresOf(const RunSummary& base, const RunSummary& head) {
  std::vector<ComparedFigure> figures;
  for (const PartOfRun& which : kPartsOfRun) {
    const std::optional<PartSummary>&before = base.*which.part, &after = head.*which.part;
    if (!before || !after) continue;
    const std::string part(which.name);
    for (size_t c = 0; c < kNumCategories; ++c) {
      if (before->breakdown[c] == 0 && after->breakdown[c] == 0) continue;
      const auto category = static_cast<Category>(c);
      const bool all_of_them = which.of == FigureOf::kInference && category == Category::kTransientActivations;
      const std::string name(all_of_them ? "activations" : NameOf(category));
      figures.push_back({part, name, Words(name), false, before->breakdown[c], after->breakdown[c]});
    }
    for (const PeakRow& row : kPeakRows) {
      if (!row.is_peak() || row.title.empty()) continue;
      figures.push_back(
          {part, std::string(row.key), std::string(row.title), true, (*before).*row.value, (*after).*row.value});
    }
  }
  return figures;
}

std::vector<LayerChange> Coarse(const std::vector<LayerChange>& layers) {
  struct Group {
    LayerChange sum;
    std::vector<size_t> members;
    bool can_open = false;
  };
  // Members of `of` by the first component of their path behind `prefix`.
  const auto split = [&](const std::vector<size_t>& of, std::string_view prefix) {
    Grouped<Group> groups;
    for (size_t member : of) {
      const LayerChange& layer = layers[member];
      std::string name = layer.name;
      const size_t begin = prefix.empty() ? 0 : prefix.size() + 1;
      if (IsPath(name) && name.size() > begin) name = name.substr(0, name.find('.', begin));
      Group& group = groups[name];
      if (group.members.empty()) group.sum.presence = layer.presence;
      if (group.sum.presence != layer.presence) group.sum.presence = Presence::kBoth;
      group.sum.name = name;
      group.sum.base_name = group.sum.presence == Presence::kNew ? "" : name;
      group.sum.base_bytes += layer.base_bytes;
      group.sum.head_bytes += layer.head_bytes;
      group.members.push_back(member);
      group.can_open = group.can_open || layer.name != name;
    }
    std::vector<Group> list;
    for (const auto& [name, group] : groups.groups()) list.push_back(group);
    return list;
  };
  const auto size = [](const Group& group) { return std::llabs(group.sum.delta_bytes()); };
  std::vector<size_t> all(layers.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  std::vector<Group> groups = split(all, "");
  while (!groups.empty()) {
    const auto largest = std::max_element(groups.begin(), groups.end(),
                                          [&](const Group& a, const Group& b) { return size(a) < size(b); });
    int64_t total = 0;
    for (const Group& group : groups) total += size(group);
    if (!largest->can_open || (groups.size() > 1 && 2 * size(*largest) <= total)) break;
    const Group opened = *largest;
    groups.erase(largest);
    for (Group& part : split(opened.members, opened.sum.name)) {
      part.can_open = part.can_open && part.sum.name != opened.sum.name;
      groups.push_back(std::move(part));
    }
  }
  std::vector<LayerChange> coarse;
  for (const Group& group : groups) coarse.push_back(group.sum);
  SortByChange(coarse);
  return coarse;
}

std::vector<std::string> SideNames(const Comparison& comparison) {
  std::vector<const Report*> sides = {&comparison.base.report};
  for (const ComparedSide& head : comparison.heads) sides.push_back(&head.report);
  std::vector<std::string> names, paths, batches;
  for (const Report* side : sides) {
    names.push_back(BaseName(side->model.path));
    paths.push_back(side->model.path);
    batches.push_back(absl::StrCat("batch ", side->runs.front().batch));
  }
  const auto distinct = [](std::vector<std::string> words) {
    std::sort(words.begin(), words.end());
    return std::adjacent_find(words.begin(), words.end()) == words.end();
  };
  for (const auto& choice : {names, paths, batches}) {
    if (distinct(choice)) return choice;
  }
  for (size_t i = 0; i < names.size(); ++i) names[i] += ", " + batches[i];
  return names;
}

std::string SideTitle(const Comparison& comparison, size_t side) {
  if (side == 0) return "base";
  return comparison.heads.size() == 1 ? "head" : absl::StrFormat("head %d", side);
}

const RunSummary& RunOfSide(const Comparison& comparison, const Limit& limit, size_t side) {
  if (limit.runs != nullptr) return (*limit.runs)[side];
  return (side == 0 ? comparison.base : comparison.heads[side - 1]).report.runs.front();
}

Verdict VerdictOfHeads(const Comparison& comparison, size_t limit) {
  const Limit& held = comparison.limits[limit];
  const Limit alone{held.kind, held.name, held.bytes};
  Verdict worst = Verdict::kFits;
  for (size_t side = 1; side <= comparison.heads.size(); ++side) {
    worst = std::max(worst, VerdictOf({RunOfSide(comparison, held, side)}, {alone}).value_or(Verdict::kFits));
  }
  return worst;
}

}  // namespace onnx_mem
