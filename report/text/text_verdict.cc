// Verdicts as text: a row for each card, the batches that fit, and the verdict again as the last line of a long screen.
#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/analyze/answer.h"
#include "report/analyze/run_table.h"
#include "report/compare/compare_forms.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/plan/plan_report.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostName = 24;  // of a card, in the last line
constexpr auto kVerdicts = std::to_array<Verdict>({Verdict::kFits, Verdict::kMayFit, Verdict::kDoesNotFit});

using Named = std::pair<Verdict, std::string>;

// "fits H100 PCIe, A100; does not fit Tesla T4".
std::string GroupedVerdicts(const std::vector<Named>& all, const Screen& screen) {
  std::vector<std::string> groups;
  for (Verdict verdict : kVerdicts) {
    std::vector<std::string> names;
    for (const auto& [of, name] : all) {
      if (of == verdict) names.push_back(Shortened(name, kMostName, screen.utf8));
    }
    if (!names.empty()) groups.push_back(absl::StrFormat("%s %s", WordsOf(verdict), absl::StrJoin(names, ", ")));
  }
  return absl::StrJoin(groups, "; ");
}

std::string Capitalized(std::string text) {
  if (!text.empty()) text.front() = absl::ascii_toupper(static_cast<unsigned char>(text.front()));
  return text;
}

// The batches of a sweep that have this verdict, those that follow each other as "1..64".
std::string BatchesWith(const std::vector<RunSummary>& runs, const std::vector<Limit>& limits, Verdict verdict) {
  const auto has = [&](size_t i) { return VerdictOf({runs[i]}, limits) == verdict; };
  std::vector<std::string> parts;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!has(i)) continue;
    size_t last = i;
    while (last + 1 < runs.size() && has(last + 1)) ++last;
    if (last < i + 2) {
      parts.push_back(absl::StrCat(runs[i].batch));
      continue;
    }
    parts.push_back(absl::StrFormat("%d..%d", runs[i].batch, runs[last].batch));
    i = last;
  }
  return absl::StrJoin(parts, ", ");
}

// "Batch 256 of training needs 24.0 GiB (22.9 - 25.1 GiB): does not fit Tesla T4 (14.7 GiB), 9.22 GiB over", and the
// batches that do.
std::string PartText(const FitPart& fit, const CardFit& card, const CardFit::Part& part, const Screen& screen) {
  const Limit limit{Limit::Kind::kGpu, card.name, card.usable_bytes};
  const std::string verdict = VerdictText(part.need, limit, screen.units);
  const std::string size = FormatBytesIn(part.need.expected_bytes, screen.units);
  const std::string interval = IntervalText(part.need, size);
  std::string text = absl::StrFormat("%s%s of %s needs %s%s:", std::string(kIndent, ' '), SizeText(fit, true),
                                     PartName(part), size, interval.empty() ? "" : absl::StrFormat("  (%s)", interval));
  const bool beside = DisplayWidth(text) + 1 + DisplayWidth(verdict) <= screen.width;
  text += beside ? " " : "\n" + std::string(2 * kIndent, ' ');
  text += Painted(verdict, PaintOf(part.verdict), screen) + "\n";
  for (const std::string& line : BatchLines(part, fit.over, screen.units)) {
    text += Wrapped(line, screen.width, 2 * kIndent, 3 * kIndent) + "\n";
  }
  if (part.ranks) text += Wrapped(RanksLine(part), screen.width, 2 * kIndent, 3 * kIndent) + "\n";
  return text;
}

std::string FitLine(const FitPart& fit, const Screen& screen) {
  if (fit.cards.size() > 1) {
    std::vector<Named> all;
    for (const CardFit& card : fit.cards) all.emplace_back(card.parts.front().verdict, card.name);
    return absl::StrFormat("%s %s", SizeText(fit, true), GroupedVerdicts(all, screen));
  }
  const CardFit& card = fit.cards.front();
  const CardFit::Part& part = card.parts.front();
  std::string line = absl::StrFormat("%s %s %s", SizeText(fit, true), WordsOf(part.verdict),
                                     card.name.empty() ? FormatBytesIn(card.usable_bytes, screen.units)
                                                       : Shortened(card.name, kMostName, screen.utf8));
  if (!part.batches) return line;
  absl::StrAppendFormat(&line, "; safe %s, expected %s", EdgeText(part.batches, &BatchEdges::safe),
                        EdgeText(part.batches, &BatchEdges::expected));
  if (part.batches->impossible_from) absl::StrAppendFormat(&line, ", impossible %s", ImpossibleText(part.batches));
  return line;
}

std::string PlanHeldLine(const PlanPart& plan, const Screen& screen) {
  if (plan.held.empty()) return "";
  std::vector<Named> all;
  for (const PlanPart::Held& held : plan.held) {
    all.emplace_back(held.verdict, NameOfLimit(held.limit));
  }
  if (plan.held.size() > 1) return absl::StrCat("The plan ", GroupedVerdicts(all, screen));
  Limit limit = plan.held.front().limit;
  limit.percent.reset();  // one line
  if (!plan.answer.chosen) return absl::StrCat("No plan fits ", LimitText(limit, screen.units));
  return absl::StrFormat("The plan %s", VerdictText(plan.held.front().planned, limit, screen.units));
}

std::string CompareLine(const ComparedReports& comparison, const Screen& screen) {
  if (!comparison.limits.empty()) {
    std::vector<Named> all;
    for (size_t i = 0; i < comparison.limits.size(); ++i) {
      all.emplace_back(VerdictOfHeads(comparison, i), NameOfLimit(comparison.limits[i]));
    }
    return absl::StrCat(comparison.heads.size() == 1 ? "The head " : "Every head ", GroupedVerdicts(all, screen));
  }
  if (const std::vector<std::string> gate = GateInWords(comparison, screen); !gate.empty()) return gate.front();
  const RunSummary& delta = comparison.changes.front().delta;
  std::vector<std::string> parts;
  if (delta.training) parts.push_back("training " + FormatSignedBytes(delta.training->device_bytes, screen.units));
  if (delta.inference) parts.push_back("inference " + FormatSignedBytes(delta.inference->device_bytes, screen.units));
  return Capitalized(absl::StrJoin(parts, "; "));
}

std::string RunsLine(const std::vector<RunSummary>& runs, const std::vector<Limit>& limits, const Screen& screen) {
  const RunSummary& run = runs.front();
  std::vector<std::string> parts;
  if (runs.size() > 1) {
    if (limits.empty()) return "";
    for (Verdict verdict : kVerdicts) {
      const std::string batches = BatchesWith(runs, limits, verdict);
      if (!batches.empty()) parts.push_back(absl::StrFormat("%s at batch %s", WordsOf(verdict), batches));
    }
    return Capitalized(absl::StrJoin(parts, "; "));
  }
  if (limits.size() > 1) {
    std::vector<Named> all;
    for (const Limit& limit : limits) all.emplace_back(*VerdictOf({run}, {limit}), NameOfLimit(limit));
    return Capitalized(GroupedVerdicts(all, screen));
  }
  std::vector<Limit> brief = limits;  // one line
  for (Limit& limit : brief) limit.percent.reset();
  for (const AnswerLine& line : AnswerLines(run, brief, screen.units)) {
    if (limits.empty()) {
      parts.push_back(absl::StrFormat("%s needs %s%s", line.part, line.size,
                                      line.interval.empty() ? "" : absl::StrFormat(" (%s)", line.interval)));
    } else if (parts.empty()) {
      parts.push_back(absl::StrFormat("%s %s", line.part, line.verdict));
    } else {
      parts.push_back(absl::StrFormat("%s %s", line.part, WordsOf(line.answer)));
    }
  }
  return Capitalized(absl::StrJoin(parts, "; "));
}

}  // namespace

std::string CardsText(const RunSummary& run, const std::vector<Limit>& limits, const Screen& screen) {
  TextTable table;
  table.columns = {{.shrinks = true}, {.right = true}};
  table.rows = {{"", "usable"}};
  for (const auto& [name, of, part] : kPartsOfRun) {
    if (!(run.*part)) continue;
    table.columns.insert(table.columns.end(), {{.right = true}, {}});
    table.rows.front().insert(table.rows.front().end(), {std::string(name), ""});
  }
  for (const Limit& limit : limits) {
    auto& row = table.rows.emplace_back();
    row = {NameOfLimit(limit), FormatBytesIn(limit.bytes, screen.units)};
    for (const auto& [name, of, part] : kPartsOfRun) {
      if (!(run.*part)) continue;
      const Need need = NeedOn(limit, run, part);
      row.push_back(FormatBytesIn(need.expected_bytes, screen.units));
      row.emplace_back(WordsOf(VerdictOf(need, limit.bytes)));
    }
  }
  return AlignedText(std::move(table), 2 * kIndent, 2, screen);
}

std::string SweepCardsText(const std::vector<RunSummary>& runs, const std::vector<Limit>& limits,
                           const Screen& screen) {
  TextTable table;
  table.columns = {{.shrinks = true}, {.right = true}, {.shrinks = true}, {.shrinks = true}, {.shrinks = true}};
  table.rows = {{"batches that", "usable", "fit", "may fit", "do not fit"}};
  for (const Limit& limit : limits) {
    auto& row = table.rows.emplace_back();
    row = {NameOfLimit(limit), FormatBytesIn(limit.bytes, screen.units)};
    for (Verdict verdict : kVerdicts) {
      const std::string batches = BatchesWith(runs, {limit}, verdict);
      row.push_back(batches.empty() ? "-" : batches);
    }
  }
  return AlignedText(std::move(table), 2 * kIndent, 2, screen);
}

std::string FitText(const FitPart& fit, const Screen& screen) {
  if (fit.cards.size() == 1) {
    std::string text;
    const CardFit& card = fit.cards.front();
    for (const CardFit::Part& part : card.parts) text += PartText(fit, card, part, screen);
    return text;
  }
  TextTable table;
  table.columns = {
      {.shrinks = true}, {.right = true, .optional = true}, {.right = true}, {}, {.right = true}, {.right = true},
      {.right = true}};
  for (size_t p = 0; p < fit.cards.front().parts.size(); ++p) {
    const bool ranks = fit.cards.front().parts[p].over_ranks.has_value();
    table.rows.push_back(
        {absl::StrFormat("%s of %s%s", SizeText(fit), fit.cards.front().parts[p].name, ranks ? " over ranks" : ""),
         p == 0 ? "usable" : "", p == 0 ? "needs" : "", "", p == 0 ? "safe" : "", p == 0 ? "expected" : "",
         p == 0 ? "impossible" : ""});
    for (const CardFit& card : fit.cards) {
      const CardFit::Part& part = card.parts[p];
      const std::string over = part.over_ranks ? absl::StrFormat(", over %d", *part.over_ranks) : "";
      table.rows.push_back({std::string(kIndent, ' ') + (card.name.empty() ? "GPU memory" : card.name) + over,
                            FormatBytesIn(card.usable_bytes, screen.units),
                            FormatBytesIn(part.need.expected_bytes, screen.units), std::string(WordsOf(part.verdict)),
                            EdgeText(part.batches, &BatchEdges::safe), EdgeText(part.batches, &BatchEdges::expected),
                            ImpossibleText(part.batches)});
    }
  }
  return AlignedText(std::move(table), kIndent, 2, screen) +
         Sentence(absl::StrFormat("safe: the largest %s whose high end fits; expected: whose expected figure does; "
                                  "impossible: from it on not even the low end fits",
                                  fit.over),
                  screen, kIndent);
}

std::string PlanHeldText(const PlanPart& plan, const Screen& screen) {
  if (plan.held.empty()) return "";
  if (plan.held.size() == 1) {
    const PlanPart::Held& held = plan.held.front();
    if (!plan.answer.chosen) {  // which has been said
      const std::string share = ShareText(held.limit, screen.units);
      return share.empty() ? "" : std::string(kIndent, ' ') + "The budget is " + share + "\n";
    }
    const std::string size = FormatBytesIn(held.planned.expected_bytes, screen.units);
    const std::string interval = IntervalText(held.planned, size);
    return Painted(Wrapped(absl::StrFormat("%s%s", Capitalized(VerdictText(held.planned, held.limit, screen.units)),
                                           interval.empty() ? "" : absl::StrFormat("  (%s)", interval)),
                           screen.width, kIndent, 2 * kIndent),
                   PaintOf(held.verdict), screen) +
           "\n";
  }
  TextTable table;
  table.columns = {{.shrinks = true}, {.right = true}, {.right = true}, {}, {.right = true}, {}};
  table.rows = {{"", "usable", "as it is", "", plan.answer.chosen ? "with the plan" : "at least", ""}};
  for (const PlanPart::Held& held : plan.held) {
    table.rows.push_back({NameOfLimit(held.limit), FormatBytesIn(held.limit.bytes, screen.units),
                          FormatBytesIn(held.as_it_is.expected_bytes, screen.units),
                          std::string(WordsOf(VerdictOf(held.as_it_is, held.limit.bytes))),
                          FormatBytesIn(held.planned.expected_bytes, screen.units),
                          std::string(WordsOf(held.verdict))});
  }
  return AlignedText(std::move(table), kIndent, 2, screen);
}

std::string HeldText(const ComparedReports& comparison, const Screen& screen) {
  if (comparison.limits.empty()) return "";
  const std::vector<std::string> names = SideNames(comparison);
  TextTable table{{{.shrinks = true}, {.right = true}}, {{"", "usable"}}};
  const bool wide = names.size() <= 2;  // of more sides the verdicts alone
  for (size_t s = 0; s < names.size(); ++s) {
    table.columns.insert(table.columns.end(), {{.right = true, .optional = !wide}, {}});
    table.rows.front().insert(table.rows.front().end(), {"", SideTitle(comparison, s)});
  }
  for (const Limit& limit : comparison.limits) {
    auto& row = table.rows.emplace_back();
    row = {NameOfLimit(limit), FormatBytesIn(limit.bytes, screen.units)};
    for (size_t s = 0; s < names.size(); ++s) {
      const RunSummary& run = RunOfSide(comparison, limit, s);
      row.push_back(FormatBytesIn(MainPart(run).device_bytes, screen.units));
      row.emplace_back(WordsOf(*VerdictOf({run}, {{limit.kind, limit.name, limit.bytes}})));
    }
  }
  return AlignedText(std::move(table), kIndent, 2, screen);
}

std::string WithVerdictLast(std::string text, const Report& report, const Screen& screen) {
  // The prompt takes a row of the screen.
  if (screen.rows == 0 || static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) < screen.rows) return text;
  const auto analyzed = [&](const AnalyzePart& part) { return RunsLine(report.runs, part.limits, screen); };
  const auto planned = [&](const PlanPart& part) { return PlanHeldLine(part, screen); };
  const auto fitted = [&](const FitPart& part) { return FitLine(part, screen); };
  const auto compared = [&](const ComparePart& part) { return CompareLine(*part, screen); };
  const auto nothing = [](const auto&) { return std::string(); };
  const std::string line = std::visit(ForPart{analyzed, planned, fitted, compared, nothing}, report.part);
  if (line.empty()) return text;
  return text + "\n" + Painted(Wrapped(line, screen.width, kIndent, kIndent), Paint::kBold, screen) + "\n";
}

}  // namespace onnx_mem
