#include "report/compare/comparison.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"
#include "report/compare/matching.h"
#include "report/parts/figures.h"

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
  const RunSummary& before = base.run();
  const RunSummary& after = head.run();
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

}  // namespace

ComparedReports Compare(ComparedSide base, std::vector<ComparedSide> heads) {
  ComparedReports comparison;
  for (const ComparedSide& head : heads) comparison.changes.push_back(ChangeBetween(base, head));
  comparison.base = std::move(base);
  comparison.heads = std::move(heads);
  return comparison;
}

Gate CheckGate(const ComparedReports& comparison, double most_percent) {
  Gate gate;
  gate.most_percent = most_percent;
  for (size_t h = 0; h < comparison.heads.size(); ++h) {
    const RunSummary& head = comparison.heads[h].run();
    for (const ComparedFigure& figure : FiguresOf(comparison.base.run(), head)) {
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

std::vector<std::string> SideNames(const ComparedReports& comparison) {
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

std::string SideTitle(const ComparedReports& comparison, size_t side) {
  if (side == 0) return "base";
  return comparison.heads.size() == 1 ? "head" : absl::StrFormat("head %d", side);
}

const RunSummary& RunOfSide(const ComparedReports& comparison, const Limit& limit, size_t side) {
  if (limit.runs != nullptr) return (*limit.runs)[side];
  return (side == 0 ? comparison.base : comparison.heads[side - 1]).run();
}

Verdict VerdictOfHeads(const ComparedReports& comparison, size_t limit) {
  const Limit& held = comparison.limits[limit];
  const Limit alone{held.kind, held.name, held.bytes};
  Verdict worst = Verdict::kFits;
  for (size_t side = 1; side <= comparison.heads.size(); ++side) {
    worst = std::max(worst, VerdictOf({RunOfSide(comparison, held, side)}, {alone}).value_or(Verdict::kFits));
  }
  return worst;
}

}  // namespace onnx_mem
