// Report -> text for a screen of at most 100 columns: the answer in the first lines, then where, when and who.
#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/analyze/answer.h"
#include "report/analyze/run_table.h"
#include "report/compare/compare_forms.h"
#include "report/parts/figures.h"
#include "report/parts/formats.h"
#include "report/parts/layout.h"
#include "report/plan/plan_report.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostNotes = 3;

std::string QuietPart(std::string_view name, const PartSummary& part) {
  return absl::StrFormat(" %s%s%d", name, part.at_least ? ">=" : "=", part.device_bytes);
}

// "resnet50.onnx batch=64 train=7006584832 infer=1407188992", and with a limit its verdict.
std::string QuietRun(const Report& report, const RunSummary& run, const std::vector<Limit>& limits) {
  std::string text = absl::StrFormat("%s batch=%d", BaseName(report.model.path), run.batch);
  if (run.training) text += QuietPart("train", *run.training);
  if (run.inference) text += QuietPart("infer", *run.inference);
  if (const auto verdict = VerdictOf({run}, limits)) absl::StrAppendFormat(&text, " verdict=%s", NameOf(*verdict));
  if (!limits.empty() && LimitsOf(report).size() > 1) {
    absl::StrAppendFormat(&text, " on=%s", OneWord(NameOfLimit(limits.front())));
  }
  return text + '\n';
}

// Of a prediction held against a run: each figure with its measurement.
std::string QuietMeasured(const Report& report) {
  if (report.tables.empty() || report.tables.front().key != "measured") return "";
  std::string text(BaseName(report.model.path));
  for (const Row& row : report.tables.front().rows) {
    absl::StrAppendFormat(&text, " %s=%d measured=%d", OneWord(std::get<std::string>(row[0])),
                          std::get<int64_t>(row[1]), std::get<int64_t>(row[2]));
  }
  return text + '\n';
}

}  // namespace

std::string Sentence(std::string_view text, const Screen& screen, size_t hanging) {
  return Wrapped(text, screen.width, kIndent, hanging) + '\n';
}

std::string HeadingText(const Report& report, const Screen& screen) {
  const ReportedModel& model = report.model;
  std::vector<std::string> facts = {ParameterWords(model), absl::StrFormat("%d nodes", model.nodes)};
  if (!model.producer.empty()) facts.push_back(Shortened(model.producer, 24, screen.utf8));
  if (const auto opset = model.opsets.find(""); opset != model.opsets.end()) {
    facts.push_back(absl::StrFormat("opset %d", opset->second));
  }
  const std::string batch = report.runs.size() == 1 ? absl::StrFormat("batch %d", report.runs.front().batch) : "";
  const std::string name = BaseName(model.path);
  std::string details;
  // The later a fact stands, the sooner it makes room for the name.
  for (; !facts.empty(); facts.pop_back()) {
    details = absl::StrFormat("   %s%s%s", absl::StrJoin(facts, ", "), batch.empty() ? "" : "   ", batch);
    if (DisplayWidth(name) + DisplayWidth(details) <= screen.width || facts.size() == 1) break;
  }
  const size_t taken = DisplayWidth(details);
  const size_t room = screen.width > taken ? screen.width - taken : screen.width;
  return Painted(Shortened(name, room, screen.utf8), Paint::kBold, screen) + details + '\n';
}

std::string AnswerText(const RunSummary& run, const std::vector<Limit>& limits, const Screen& screen) {
  std::string text;
  for (const AnswerLine& line : AnswerLines(run, limits, screen.units)) {
    const std::string label =
        absl::StrFormat("%s needs%s", absl::AsciiStrToUpper(line.part), line.at_least ? " at least" : "");
    const std::string size = PadLeft(line.size, 10);
    text += std::string(kIndent, ' ') + PadRight(label, 15) + " " + Painted(size, Paint::kBold, screen);
    size_t column = kIndent + std::max<size_t>(15, label.size()) + 1 + size.size();
    if (!line.interval.empty()) {
      const std::string interval = absl::StrFormat("  (%s)", line.interval);
      text += interval;
      column += interval.size();
    }
    if (!line.verdict.empty() && limits.size() == 1) {
      const bool fits_line = column + 4 + DisplayWidth(line.verdict) <= screen.width;
      text += fits_line ? std::string(4, ' ') : "\n" + std::string(kIndent + 16, ' ');
      text += Painted(line.verdict, PaintOf(line.answer), screen);
    }
    text += '\n';
  }
  return limits.size() > 1 ? text + CardsText(run, limits, screen) : text;
}

std::string AssumedText(const Report& report, const Screen& screen) {
  std::string text;
  const std::string indent(kIndent, ' ');
  const size_t width = screen.width;
  if (!report.assumptions.empty()) text += Wrapped(AssumptionsText(report), width, kIndent, kIndent) + "\n";
  size_t shown = 0, left_out = 0;
  for (const Diagnostic& note : report.notes) {
    if (note.severity != Severity::kNote) continue;  // warnings go to stderr
    if (!report.verbose && shown == kMostNotes) {
      ++left_out;
      continue;
    }
    ++shown;
    text += Wrapped(absl::StrFormat("Note: %s [%s]", note.message, CodeOf(note)), width, kIndent, kIndent + 6) + "\n";
  }
  if (left_out > 0) absl::StrAppendFormat(&text, "%s(%d more notes: -v)\n", indent, left_out);
  return text;
}

// Every note with its code, what it says and what helps.
std::string FindingsText(const std::vector<Diagnostic>& notes, const Screen& screen) {
  std::string text;
  for (const Diagnostic& note : notes) {
    const Paint paint = note.severity == Severity::kNote ? Paint::kNone : Paint::kYellow;
    absl::StrAppendFormat(&text, "%s%s %s (%d%s)\n", std::string(kIndent, ' '),
                          Painted(NameOf(note.severity), paint, screen), CodeOf(note), note.count,
                          note.bytes ? ", " + FormatBytesIn(*note.bytes, screen.units) : "");
    text += Wrapped(note.message, screen.width, 2 * kIndent, 2 * kIndent) + '\n';
    for (const std::string& line : note.details) {
      const bool pasted = line.starts_with("try: onnx-mem ");
      text += pasted ? std::string(2 * kIndent, ' ') + line : Wrapped(line, screen.width, 2 * kIndent, 4 * kIndent);
      text += '\n';
    }
  }
  return text;
}

// What comes behind the heading of a report without runs: its tables and its notes.
std::string TablesText(const Report& report, std::string text, const Screen& screen) {
  for (const Table& table : report.tables) {
    if (table.rows.empty()) continue;
    if (!text.empty()) text += '\n';
    text += table.key == "ways"       ? WaysText(table, report.verbose, screen)
            : table.key == "together" ? TogetherText(table, report, screen)
                                      : ListText(table, report, screen);
  }
  if (!report.notes.empty()) absl::StrAppendFormat(&text, "\n%s", FindingsText(report.notes, screen));
  return text;
}

// Of reports that do not list what they assume.
std::string TrainsLine(const Report& report, const Screen& screen) {
  const std::string trains = TrainsText(report);
  if (trains.empty()) return "";
  return "\n" + Sentence(absl::StrFormat("Trains %s.", trains), screen, kIndent);
}

// One model at one batch, with more than the first screen has room for: the answer, then the list of --by,
// or all of where, when and who.
std::vector<std::string> RunTexts(const Report& report, const AnalyzePart& analyzed, const Screen& screen) {
  const RunSummary& run = report.runs.front();
  std::vector<std::string> parts = {AnswerText(run, analyzed.limits, screen)};
  if (const Table* shown = TableNamed(report, report.shown_table)) {
    parts.push_back(shown->key == "shapes" ? ShapesText(*shown, report, screen) : ListText(*shown, report, screen));
    if (shown->key == "layers") parts.back() += TimeText(run, analyzed, screen);
    return parts;
  }
  parts.push_back(BreakdownText(report, screen));
  parts.push_back(RangeText(report, screen));
  parts.push_back(WhenText(run, analyzed, screen));
  parts.push_back(WhoText(report, analyzed, screen));
  parts.push_back(SavingsText(analyzed.savings, report.verbose, screen));
  if (const Table* skips = TableNamed(report, "skips")) parts.push_back(ListText(*skips, report, screen));
  return parts;
}

std::string RenderText(const Report& report, const Screen& screen) {
  const auto with_heading = [&](std::vector<std::string> parts) {
    parts.insert(parts.begin(), HeadingText(report, screen));
    parts.push_back(AssumedText(report, screen));
    return Paragraphs(parts);
  };
  const auto analyzed = [&](const AnalyzePart& part) {
    if (report.runs.size() == 1 && !report.verbose && report.shown_table.empty() && !report.top_given) {
      return FirstScreenText(report, part, screen);
    }
    return with_heading(report.runs.size() > 1 ? std::vector{SweepText(report.runs, part, screen)}
                                               : RunTexts(report, part, screen));
  };
  const auto planned = [&](const PlanPart&) { return with_heading({PlanText(report, screen)}); };
  const auto fitted = [&](const FitPart& part) {
    return TablesText(report, HeadingText(report, screen) + "\n" + FitText(part, screen), screen) +
           TrainsLine(report, screen);
  };
  const auto compared = [&](const ComparePart& part) { return CompareText(*part, report, screen); };
  const auto explained = [&](const ExplainPart& part) { return ExplainText(*part, report, screen); };
  const auto tables = [&](const TablesPart&) {
    if (TableNamed(report, "models") != nullptr) return ModelsText(report, screen) + TrainsLine(report, screen);
    return TablesText(report, report.model.path.empty() ? "" : HeadingText(report, screen), screen) +
           TrainsLine(report, screen);
  };
  return WithVerdictLast(std::visit(ForPart{analyzed, planned, fitted, compared, explained, tables}, report.part),
                         report, screen);
}

std::string RenderQuiet(const Report& report) {
  const auto analyzed = [&](const AnalyzePart& part) {
    std::string text;
    for (const RunSummary& run : report.runs) {
      if (part.limits.size() < 2) text += QuietRun(report, run, part.limits);
      for (size_t i = 0; part.limits.size() > 1 && i < part.limits.size(); ++i) {
        text += QuietRun(report, RunOn(part.limits[i], run), {part.limits[i]});
      }
    }
    return text;
  };
  const auto fitted = [&](const FitPart& fit) {
    std::string text;
    for (const CardFit& card : fit.cards) {
      const CardFit::Part& part = card.parts.front();
      const BatchEdges batches = part.batches.value_or(BatchEdges());
      absl::StrAppendFormat(&text, "%s batch=%d %s=%d fits=%d largest=%d verdict=%s safe=%d impossible-from=%s%s%s\n",
                            BaseName(report.model.path), fit.batch, part.name, part.need.expected_bytes,
                            part.verdict == Verdict::kDoesNotFit ? 0 : 1, batches.expected.batch, NameOf(part.verdict),
                            batches.safe.batch, ImpossibleText(part.batches),
                            fit.over == kBatchAxis ? "" : absl::StrFormat(" over=%s size=%d", fit.over, fit.size),
                            fit.cards.size() > 1 ? " on=" + OneWord(card.name) : "");
    }
    return text;
  };
  const auto planned = [&](const PlanPart&) { return PlanLine(report); };
  const auto compared = [](const ComparePart& part) { return CompareQuiet(*part); };
  const auto explained = [](const ExplainPart& part) { return ExplainQuiet(*part); };
  const auto measured = [&](const TablesPart&) { return QuietMeasured(report); };
  return std::visit(ForPart{analyzed, fitted, planned, compared, explained, measured}, report.part);
}

}  // namespace onnx_mem
