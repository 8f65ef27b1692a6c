// The first screen of one model at one batch: the answer, what it consists of, when it peaks and in which layers, and
// the cheapest ways to need less. At most kMostLines lines, so that the answer has not scrolled away; -v has the rest.
#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"
#include "report/analyze/range.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/text/part_columns.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostLines = 23;  // of a terminal as it opens, with 24 rows, and the prompt in one of them
constexpr size_t kShareLabel = 24;
constexpr size_t kShareSize = 12;
constexpr size_t kShareBar = 18;
constexpr int64_t kWorthANote = 50;  // a note moves at least one byte in so many

// "TRAINING needs  6.53 GiB  (5.74 - 7.03 GiB)  fits RTX 4090 (23.6 GiB), 28 %": a verdict that has no room there has
// the next line.
std::string AnswerRow(const AnswerLine& line, std::string_view verdict, size_t size_width, const Screen& screen) {
  const std::string label =
      absl::StrFormat("%s needs%s", absl::AsciiStrToUpper(line.part), line.at_least ? " at least" : "");
  std::string text = std::string(kIndent, ' ') + PadRight(label, 15) + " ";
  const size_t taken = DisplayWidth(text) + size_width;
  text += Painted(PadLeft(line.size, size_width), Paint::kBold, screen);
  const std::string interval = line.interval.empty() ? "" : absl::StrFormat("  (%s)", line.interval);
  if (taken + interval.size() <= screen.width) text += interval;
  if (verdict.empty()) return text + '\n';
  const bool beside = taken + interval.size() + 2 + DisplayWidth(verdict) <= screen.width;
  text += beside ? "  " : "\n" + std::string(2 * kIndent, ' ');
  return text + Painted(verdict, PaintOf(line.answer), screen) + '\n';
}

// One limit is named once, beside the part that answers; several have a row each.
std::string AnswerRows(const RunSummary& run, const std::vector<Limit>& limits, const Screen& screen) {
  const std::vector<AnswerLine> lines = AnswerLines(run, limits, screen.units);
  size_t size_width = 0;
  for (const AnswerLine& line : lines) size_width = std::max(size_width, line.size.size());
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string verdict = lines[i].verdict;
    if (i > 0 && limits.size() == 1) {
      verdict = ShortVerdict(NeedOf(*run.inference), limits.front(), screen.units);
    }
    text += AnswerRow(lines[i], limits.size() > 1 ? "" : verdict, size_width, screen);
  }
  if (!run.rank.empty()) text += Sentence("on " + run.rank, screen, 2 * kIndent);
  if (run.traffic) text += Sentence(TrafficWords(*run.traffic, screen.units), screen, 2 * kIndent);
  for (const auto& [ranks, need] : run.by_ranks) {
    text += absl::StrFormat("%sover %d ranks: %s\n", std::string(2 * kIndent, ' '), ranks,
                            FormatBytesIn(need.expected_bytes, screen.units));
  }
  return limits.size() > 1 ? text + CardsText(run, limits, screen) : text;
}

struct Share {
  std::string_view label;
  std::vector<Category> categories;
  Paint paint;
};

// Categories in groups that a reader tells apart; with the allocator's rest they add up to what the card holds.
const std::vector<Share>& Shares() {
  static const std::vector<Share>& shares = *new std::vector<Share>{
      {"parameters, buffers", {Category::kParameters, Category::kBuffers}, Paint::kCyan},
      {"gradients", {Category::kGradients}, Paint::kCyan},
      {"optimizer", {Category::kOptimizerState, Category::kOptimizerTemporaries}, Paint::kCyan},
      {"activations",
       {Category::kSavedActivations, Category::kTransientActivations, Category::kActivationGradients},
       Paint::kYellow},
      {"inputs", {Category::kInputs}, Paint::kDim},
      {"unsharded, collectives", {Category::kUnshardedParameters, Category::kCommunication}, Paint::kYellow},
      {"workspace", {Category::kWorkspace}, Paint::kDim},
  };
  return shares;
}

int64_t SumOf(const std::optional<PartSummary>& part, const std::vector<Category>& categories) {
  int64_t bytes = 0;
  for (Category category : categories) bytes += part ? part->breakdown[static_cast<size_t>(category)] : 0;
  return bytes;
}

int64_t DeviceBytes(const std::optional<PartSummary>& part) { return part ? part->device_bytes : 0; }
int64_t AllocatedBytes(const std::optional<PartSummary>& part) { return part ? part->allocated_peak_bytes : 0; }

// What of a session's own bytes is left behind all categories: the arena's part that is not in use, and the context.
int64_t InOneSession(const PartSummary& part, int64_t sessions) {
  return part.context_bytes + (part.device_bytes - part.context_bytes) / sessions - part.peak_bytes;
}

// "optimizer (adam)", where the column has room for the name.
std::string LabelOf(const Share& share, const Report& report) {
  std::string label(share.label);
  const std::string name = AssumptionNamed(report, "optimizer");
  if (share.categories.front() != Category::kOptimizerState || name.empty()) return label;
  std::string whole = absl::StrFormat("%s (%s)", label, name);
  return whole.size() <= kShareLabel ? whole : label;
}

std::string SharesText(const Report& report, const Screen& screen) {
  const RunSummary& run = report.runs.front();
  const PartColumns columns(run, kShareLabel, kShareSize, screen);
  const int64_t whole = MainPart(run).device_bytes;
  std::string text = columns.Header();
  const auto add_share = [&](std::string label, int64_t training, int64_t inference, Paint paint) {
    const int64_t main = run.training ? training : inference;
    const double share = whole > 0 ? static_cast<double>(main) / static_cast<double>(whole) : 0;
    text += columns.Text({std::move(label), training, inference, Bar(share, kShareBar, screen.utf8), paint, whole});
  };
  int64_t training_rest = DeviceBytes(run.training), inference_rest = DeviceBytes(run.inference);
  for (const Share& share : Shares()) {
    const int64_t training = SumOf(run.training, share.categories), inference = SumOf(run.inference, share.categories);
    training_rest -= training;
    inference_rest -= inference;
    if (training == 0 && inference == 0) continue;
    add_share(LabelOf(share, report), training, inference, share.paint);
  }
  const DeviceWords words = WordsOfDevice(report);
  if (words.sessions > 1) {
    const int64_t others = inference_rest - InOneSession(*run.inference, words.sessions);
    add_share(absl::StrFormat("%d more session%s", words.sessions - 1, words.sessions == 2 ? "" : "s"), 0, others,
              Paint::kDim);
    inference_rest -= others;
  }
  add_share(std::string(words.rest), training_rest, inference_rest, Paint::kDim);
  text += columns.Text({std::string(words.whole), DeviceBytes(run.training), DeviceBytes(run.inference),
                        std::string(words.shown_by), Paint::kDim});
  const std::string allocator = AssumptionNamed(report, "allocator");
  if (allocator.empty() || absl::StartsWith(allocator, "pytorch")) {
    text += columns.Text({"max_memory_allocated()", AllocatedBytes(run.training), AllocatedBytes(run.inference),
                          "of torch.cuda", Paint::kDim});
  }
  return text;
}

// "Held by layer1 1962.5 MiB (35 %), layer2 1435.0 MiB (26 %)": as many as one line has room for.
std::string HeldByText(const AnalyzePart& analyzed, const PartSummary& part, const Screen& screen) {
  const std::vector<LayerShare> layers = FoldRepeats(analyzed.layers_at_peak);
  if (layers.empty() || (layers.size() == 1 && part.peak.module.empty())) return "";
  const ByteUnit unit = ColumnUnit(part.peak_bytes, screen.units);
  std::string text = std::string(kIndent, ' ') + "Held by ";
  for (size_t i = 0; i < layers.size(); ++i) {
    std::string held =
        absl::StrFormat("%s%s %s (%s)", i == 0 ? "" : ", ", Shortened(layers[i].name, screen.width / 3, screen.utf8),
                        SizeIn(layers[i].bytes, unit), Percent(layers[i].bytes, part.peak_bytes));
    if (i > 0 && DisplayWidth(text) + DisplayWidth(held) > screen.width) break;
    text += held;
  }
  return text + '\n';
}

std::string WaysToNeedLess(const Table& savings, const Screen& screen) {
  std::vector<size_t> ways = CheapestWays(savings);
  ways.resize(std::min(ways.size(), kShownWays));
  if (ways.empty()) return "";
  const auto text_of = [&](const Row& row, std::string_view key) {
    return CellText(CellAt(savings, row, key), ColumnKind::kText, ByteUnit::kAuto);
  };
  const ByteUnit unit =
      ColumnUnit(std::get<int64_t>(CellAt(savings, savings.rows[ways.front()], "device_bytes")), screen.units);
  const auto lines_of = [&](bool with_flags, const Screen& onto) {
    TextTable table{{{}, {.shrinks = true}, {.right = true}, {.shrinks = true, .prose = true}, {}}, {}};
    for (size_t way : ways) {
      const Row& row = savings.rows[way];
      table.rows.push_back({table.rows.empty() ? "Less by" : "", text_of(row, "change"),
                            "-" + SizeIn(std::get<int64_t>(CellAt(savings, row, "saves_bytes")), unit),
                            text_of(row, "cost"), with_flags ? text_of(row, "flags") : ""});
    }
    return Aligned(std::move(table), kIndent, 2, onto);
  };
  // Flags where all of every row has room; -v shows them.
  Screen wide = screen;
  wide.width = std::numeric_limits<size_t>::max() / 2;
  const std::vector<std::string> whole = lines_of(true, wide);
  const bool fits = std::all_of(whole.begin(), whole.end(),
                                [&](const std::string& line) { return DisplayWidth(line) <= screen.width; });
  std::string text;
  for (const std::string& line : fits ? whole : lines_of(false, screen)) text += line + '\n';
  return text;
}

// What was assumed that a reader may want otherwise; -v has what follows from the file, and the defaults.
std::string AssumesText(const Report& report, size_t notes_left_out, const Screen& screen, bool brief = false) {
  Report shown;
  static const std::set<std::string_view> kPlain = {"auto", "file", "none", "pytorch", "ort", "gpu"};
  for (const auto& assumption : report.assumptions) {
    // Names that the file tells are no choice, and the margin is in the range.
    const bool is_choice = assumption.first != "names" && assumption.first != "margin";
    if (!kPlain.contains(assumption.second) && is_choice) shown.assumptions.push_back(assumption);
  }
  std::string text = AssumptionsText(shown);
  const PartSummary& main = MainPart(report.runs.front());
  if (const std::string words = RangeWords(report, main); !words.empty()) {
    text += absl::StrFormat("%sIn brackets: %s.", text.empty() ? "" : " ", brief ? "low and high" : words);
  }
  text += absl::StrFormat(
      "%sMore%s: -v", text.empty() ? "" : " ",
      notes_left_out == 0 ? "" : absl::StrFormat(", %d note%s", notes_left_out, notes_left_out == 1 ? "" : "s"));
  return Sentence(text, screen, kIndent);
}

size_t LinesOf(std::string_view text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

// Notes that move the figure, as far as there is room for them.
struct ShownNotes {
  std::string text;
  size_t left_out = 0;
};
ShownNotes NotesWithin(const Report& report, size_t lines, const Screen& screen) {
  ShownNotes shown;
  for (const Diagnostic& note : report.notes) {
    if (note.severity != Severity::kNote) continue;  // warnings are on stderr
    const std::string text = Sentence(absl::StrFormat("Note: %s [%s]", note.message, CodeOf(note)), screen);
    const bool matters = note.bytes && *note.bytes * kWorthANote >= MainPart(report.runs.front()).device_bytes;
    if (matters && LinesOf(shown.text) + LinesOf(text) <= lines) {
      shown.text += text;
    } else {
      ++shown.left_out;
    }
  }
  return shown;
}

// Paragraphs move together, the last ones first, rather than lose a line; `apart` stay so, below the answer.
std::string MovedTogether(std::vector<std::string>& parts, size_t apart) {
  std::string text = Paragraphs(parts);
  while (LinesOf(text) > kMostLines && parts.size() > apart) {
    const std::string last = std::move(parts.back());
    parts.pop_back();
    parts.back() += last;
    text = Paragraphs(parts);
  }
  return text;
}

}  // namespace

std::string FirstScreenText(const Report& report, const AnalyzePart& analyzed, const Screen& screen) {
  const RunSummary& run = report.runs.front();
  const PartSummary& part = MainPart(run);
  std::vector<std::string> parts = {
      HeadingText(report, screen), AnswerRows(run, analyzed.limits, screen), SharesText(report, screen),
      PeakText(part, screen) + HeldByText(analyzed, part, screen), WaysToNeedLess(analyzed.savings, screen)};
  const size_t taken = LinesOf(Paragraphs(parts)) + LinesOf(AssumesText(report, report.notes.size(), screen));
  const ShownNotes notes = NotesWithin(report, kMostLines - std::min(taken, kMostLines), screen);
  const std::string tail = AssumesText(report, notes.left_out, screen) + notes.text;
  parts.push_back(tail);
  std::string text = MovedTogether(parts, 3);
  if (LinesOf(text) > kMostLines) {
    parts.back().replace(parts.back().size() - tail.size(), tail.size(),
                         AssumesText(report, notes.left_out, screen, /*brief=*/true) + notes.text);
    text = MovedTogether(parts, 1);
  }
  if (LinesOf(text) <= kMostLines || analyzed.limits.size() < 2 || analyzed.savings.rows.empty()) return text;
  AnalyzePart without_ways = analyzed;  // what needs less makes room for the cards: -v has it
  without_ways.savings.rows.clear();
  return FirstScreenText(report, without_ways, screen);
}

}  // namespace onnx_mem
