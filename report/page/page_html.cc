// What of the page needs no script: the answer and what it adds up from, tables, assumptions.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"
#include "report/analyze/range.h"
#include "report/analyze/run_table.h"
#include "report/compare/comparison.h"
#include "report/page/page.h"
#include "report/parts/figures.h"
#include "report/parts/formats.h"
#include "report/plan/plan_report.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostRows = 300;

bool IsRightAligned(ColumnKind kind) {
  return kind != ColumnKind::kText && kind != ColumnKind::kWord && kind != ColumnKind::kShape;
}

// What sorting compares; the cell's own text where there is no number.
std::string SortValue(const Cell& cell) {
  if (const auto* number = std::get_if<int64_t>(&cell)) return absl::StrFormat(" data-v=\"%d\"", *number);
  if (const auto* decimal = std::get_if<double>(&cell)) return absl::StrFormat(" data-v=\"%g\"", *decimal);
  return "";
}

ByteUnit UnitOfColumn(const Table& table, size_t column, ByteUnit chosen) {
  int64_t largest = 0;
  for (const Row& row : table.rows) {
    if (const auto* bytes = std::get_if<int64_t>(&row[column])) largest = std::max(largest, std::abs(*bytes));
  }
  return ColumnUnit(largest, chosen);
}

// Words of a command line are there to be copied.
std::string CellHtml(const Cell& cell, ColumnKind kind, ByteUnit unit) {
  const bool flags = std::holds_alternative<CommandWords>(cell);
  const std::string text = HtmlText(CellText(cell, kind, unit), flags ? kLongestFlags : kLongestName);
  return flags ? absl::StrFormat("<code>%s</code>", text) : text;
}

// With `stacks` each row becomes a block on a narrow screen, its cells one below the other with their titles.
std::string TableHtml(const Table& table, const Screen& screen, bool stacks = false) {
  std::vector<size_t> columns;
  std::vector<ByteUnit> units;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    units.push_back(UnitOfColumn(table, c, screen.units));
    const Column& column = table.columns[c];
    if (column.show == Show::kAlways || (column.show == Show::kDetail && !column.title.empty())) columns.push_back(c);
  }
  std::string html = absl::StrFormat("<table class=\"data%s\" id=\"table-%s\"><caption>%s</caption><thead><tr>",
                                     stacks ? " stacks" : "", HtmlText(table.key), HtmlText(table.title));
  for (size_t c : columns) {
    absl::StrAppendFormat(&html, "<th scope=\"col\"%s>%s</th>",
                          IsRightAligned(table.columns[c].kind) ? " class=\"n\"" : "",
                          HtmlText(table.columns[c].title));
  }
  html += "</tr></thead><tbody>\n";
  const bool whole = table.rows.size() <= kMostRows;
  const std::vector<size_t> rows = TopRows(table, whole ? 0 : static_cast<int64_t>(kMostRows));
  for (size_t r : rows) {
    html += "<tr>";
    for (size_t c : columns) {
      const Column& column = table.columns[c];
      const Cell& cell = table.rows[r][c];
      absl::StrAppendFormat(&html, "<td%s%s%s>%s</td>", IsRightAligned(column.kind) ? " class=\"n\"" : "",
                            SortValue(cell), stacks ? absl::StrFormat(" data-l=\"%s\"", HtmlText(column.title)) : "",
                            CellHtml(cell, column.kind, units[c]));
    }
    html += "</tr>\n";
  }
  html += "</tbody></table>\n";
  const int64_t left_out = static_cast<int64_t>(table.rows.size() - rows.size()) + table.omitted_rows;
  if (left_out > 0) {
    absl::StrAppendFormat(&html, "<p class=\"hint\">%s smaller rows are left out here.</p>\n", WithThousands(left_out));
  }
  return html;
}

// Rows that add up to what the device shows. A category that both runs lack has none.
std::string PartsHtml(const Report& report, const RunSummary& run, const Screen& screen) {
  std::vector<const PartSummary*> parts;
  std::string html = "<table class=\"parts\"><caption>What it consists of, at the peak</caption><thead><tr><th></th>";
  if (run.training) {
    parts.push_back(&*run.training);
    html += "<th scope=\"col\" class=\"n\">training</th>";
  }
  if (run.inference) {
    parts.push_back(&*run.inference);
    html += "<th scope=\"col\" class=\"n\">inference</th>";
  }
  html += "<td class=\"share\"></td></tr></thead><tbody>\n";
  int64_t largest = 0;
  for (const PartSummary* part : parts) largest = std::max(largest, part->device_bytes);
  const ByteUnit unit = ColumnUnit(largest, screen.units);
  const auto row = [&](std::string_view kind, std::string_view name, auto bytes_of) {
    std::vector<int64_t> bytes;
    for (const PartSummary* part : parts) bytes.push_back(bytes_of(*part));
    if (std::all_of(bytes.begin(), bytes.end(), [](int64_t b) { return b == 0; })) return;
    absl::StrAppendFormat(&html, "<tr class=\"%s\"><th scope=\"row\"><i class=\"key %s\"></i>%s</th>", kind, kind,
                          name);
    for (int64_t b : bytes) {
      absl::StrAppendFormat(&html, "<td class=\"n\" data-v=\"%d\">%s</td>", b, b == 0 ? "-" : SizeIn(b, unit));
    }
    // Of the run that answers, as a bar; in attributes, since the page's policy allows no style in an element.
    html += "<td class=\"share\">";
    if (kind != "sum" && !parts.empty() && parts.front()->device_bytes > 0) {
      const auto whole = static_cast<double>(parts.front()->device_bytes);
      const double share = 100.0 * static_cast<double>(bytes.front()) / whole;
      absl::StrAppendFormat(&html,
                            "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
                            "class=\"%s\" width=\"%.2f\" height=\"10\"/></svg>",
                            kind, share);
    }
    html += "</td></tr>\n";
  };
  for (size_t c = 0; c < kNumCategories; ++c) {
    row(absl::StrFormat("c%d", c), Words(NameOf(static_cast<Category>(c))),
        [&](const PartSummary& part) { return part.breakdown[c]; });
  }
  row("sum", "tensors at the peak", [](const PartSummary& part) { return part.peak_bytes; });
  const DeviceWords words = WordsOfDevice(report);
  if (MainPart(run).session) {
    row("extra", std::string(words.rest), [](const PartSummary& part) { return part.device_bytes - part.peak_bytes; });
  } else {
    row("extra", "rounding, cuBLAS workspace",
        [](const PartSummary& part) { return part.allocated_peak_bytes - part.peak_bytes; });
    row("extra", "cached by the allocator",
        [](const PartSummary& part) { return part.reserved_peak_bytes - part.allocated_peak_bytes; });
    row("extra", "CUDA context", [](const PartSummary& part) { return part.context_bytes; });
  }
  row("sum", std::string(words.whole), [](const PartSummary& part) { return part.device_bytes; });
  return html + "</tbody></table>\n";
}

std::string WherePeak(const PartSummary& part) {
  if (!part.peak.known) return "";
  std::string text = absl::StrFormat("Peak at step %s of %s, %s: <code>%s</code>", WithThousands(part.peak.step + 1),
                                     WithThousands(part.steps), NameOf(part.peak.phase), HtmlText(part.peak.op));
  const std::string& place = part.peak.module.empty() ? part.peak.node : part.peak.module;
  if (!place.empty()) absl::StrAppendFormat(&text, " in <code>%s</code>", HtmlText(place));
  return text;
}

std::string CardsHtml(const Report& report, const std::vector<Limit>& limits, const Screen& screen) {
  const RunSummary& run = report.runs.front();
  std::string html = "<div class=\"cards\">\n";
  for (const AnswerLine& line : AnswerLines(run, limits, screen.units)) {
    const PartSummary& part = line.part == "training" ? *run.training : *run.inference;
    absl::StrAppendFormat(&html, "<div class=\"card\"><h2>%s needs%s</h2><p class=\"size\">%s</p>",
                          line.part == "training" ? "Training" : "Inference", line.at_least ? " at least" : "",
                          line.size);
    if (limits.size() == 1) {  // several have a table
      absl::StrAppendFormat(&html, "<p class=\"verdict %s\">%s</p>", NameOf(line.answer), HtmlText(line.verdict));
    }
    if (!line.interval.empty()) {
      absl::StrAppendFormat(&html, "<p class=\"hint\">%s: %s</p>", HtmlText(line.interval), RangeWords(report, part));
    }
    absl::StrAppendFormat(&html, "<p class=\"hint\">%s</p></div>\n", WherePeak(part));
  }
  return html + "</div>\n";
}

std::string ModelLine(const Report& report) {
  std::string text;
  if (report.runs.size() == 1) absl::StrAppendFormat(&text, "batch %d · ", report.runs.front().batch);
  absl::StrAppendFormat(&text, "%s parameters", ShortCount(report.model.parameters));
  if (!report.model.parameter_dtype.empty()) absl::StrAppendFormat(&text, " (%s)", report.model.parameter_dtype);
  absl::StrAppendFormat(&text, " · %s nodes", WithThousands(report.model.nodes));
  if (!report.model.producer.empty()) absl::StrAppendFormat(&text, " · %s", report.model.producer);
  absl::StrAppendFormat(&text, " · from %s", report.model.source == "record" ? "a record of the run" : "the graph");
  return text;
}

// Several models or batches, a comparison, cards: told as the screen tells it.
bool IsOneRun(const Report& report) { return !report.model.path.empty() && report.runs.size() == 1; }

// Line by line, as a page may hold many more than the 400 bytes to which names are cut.
std::string ScreenHtml(const Report& report, const Screen& screen) {
  Screen page = screen;
  page.rows = 0;  // nothing scrolls away
  const std::string text = RenderText(report, page);
  std::string html = "<pre>";
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    html += HtmlText(std::string_view(text).substr(from, end - from)) + "\n";
    from = end + 1;
  }
  return html + "</pre>\n";
}

// What changed, by category and total and by layer; of each head two tables.
std::vector<Table> ChangeTables(const Comparison& comparison) {
  const std::vector<std::string> names = SideNames(comparison);
  std::vector<Table> tables;
  for (size_t h = 0; h < comparison.heads.size(); ++h) {
    const std::string head = comparison.heads.size() > 1 ? " of " + names[h + 1] : "";
    const std::string number = comparison.heads.size() > 1 ? absl::StrFormat("-%d", h + 1) : "";
    Table figures{"changed-figures" + number,
                  "Figures" + head,
                  {{"part", "of"},
                   {"figure", "figure"},
                   {"base", names[0], ColumnKind::kBytes},
                   {"head", names[h + 1], ColumnKind::kBytes},
                   {"delta", "change", ColumnKind::kBytes}},
                  {},
                  4};
    for (const ComparedFigure& figure :
         FiguresOf(comparison.base.report.runs.front(), comparison.heads[h].report.runs.front())) {
      figures.rows.push_back({figure.part, figure.title, figure.base, figure.head, figure.delta()});
    }
    tables.push_back(std::move(figures));
    if (!comparison.changes[h].layers) continue;
    Table layers{"changed-layers" + number,
                 "Layers" + head,
                 {{"layer", "layer"},
                  {"base", names[0], ColumnKind::kBytes},
                  {"head", names[h + 1], ColumnKind::kBytes},
                  {"delta", "change", ColumnKind::kBytes}},
                 {},
                 3};
    for (const LayerChange& layer : *comparison.changes[h].layers) {
      layers.rows.push_back({layer.name, layer.base_bytes, layer.head_bytes, layer.delta_bytes()});
    }
    tables.push_back(std::move(layers));
  }
  return tables;
}

// What a change costs stands before its flags, which are long.
Table WithFlagsLast(Table table) {
  const auto flags = std::find_if(table.columns.begin(), table.columns.end(),
                                  [](const Column& column) { return column.key == "flags"; });
  if (flags == table.columns.end()) return table;
  const auto at = flags - table.columns.begin();
  std::rotate(flags, flags + 1, table.columns.end());
  for (Row& row : table.rows) std::rotate(row.begin() + at, row.begin() + at + 1, row.end());
  if (table.rank_column > static_cast<size_t>(at)) --table.rank_column;
  return table;
}

}  // namespace

std::string AnswerHtml(const Report& report, const Screen& screen) {
  const std::string name = report.model.path.empty() ? report.command : BaseName(report.model.path);
  std::string html = absl::StrFormat("<h1><bdi>%s</bdi></h1>\n", HtmlText(name));
  if (!IsOneRun(report)) return html + ScreenHtml(report, screen);
  absl::StrAppendFormat(&html, "<p class=\"model\">%s</p>\n", HtmlText(ModelLine(report)));
  const auto* analyzed = std::get_if<AnalyzePart>(&report.part);
  if (std::holds_alternative<PlanPart>(report.part)) {
    html += "<div class=\"card wide\">";
    const std::vector<std::string> lines = PlanAnswerLines(report, screen);
    for (size_t i = 0; i < lines.size(); ++i) {
      absl::StrAppendFormat(&html, "<p%s>%s</p>", i == 0 ? " class=\"size small\"" : "", HtmlText(lines[i]));
    }
    for (const PlanPart::Held& held : std::get<PlanPart>(report.part).held) {
      absl::StrAppendFormat(&html, "<p class=\"verdict %s\">%s</p>", NameOf(held.verdict),
                            HtmlText(VerdictText(held.planned, held.limit, screen.units)));
    }
    html += "</div>\n";
  }
  const RunSummary& run = report.runs.front();
  const std::vector<Limit>& limits = LimitsOf(report);
  html += CardsHtml(report, limits, screen);
  if (limits.size() > 1) html += TableHtml(GpusTable(report.runs, limits), screen, /*stacks=*/true);
  html += PartsHtml(report, run, screen);
  if (analyzed == nullptr || analyzed->savings.rows.empty()) return html;
  Table ways = analyzed->savings;
  ways.title = "How to need less, cheapest first";
  ways.rows.clear();
  for (size_t way : CheapestWays(analyzed->savings)) ways.rows.push_back(analyzed->savings.rows[way]);
  return html + "<div class=\"scroll less\" tabindex=\"0\" role=\"region\" aria-label=\"How to need less\">" +
         TableHtml(WithFlagsLast(std::move(ways)), screen, /*stacks=*/true) + "</div>\n";
}

std::string TablesHtml(const Report& report, const Screen& screen) {
  std::string html;
  const auto add = [&](const Table& table) {
    if (!table.rows.empty()) html += TableHtml(table, screen);
  };
  if (const auto* compared = std::get_if<ComparePart>(&report.part)) {
    for (const Table& table : ChangeTables(**compared)) add(table);
  }
  if (!IsOneRun(report)) return html;
  if (const auto* planned = std::get_if<PlanPart>(&report.part)) add(SegmentsTable(*planned));
  for (std::string_view key : {"layers", "live_at_peak", "ops", "shapes"}) {
    if (const Table* table = TableNamed(report, key)) add(*table);
  }
  for (const Table& table : report.tables) {
    const bool shown = table.key == "layers" || table.key == "live_at_peak" || table.key == "ops" ||
                       table.key == "shapes" || table.key == "tensors" || table.key == "categories";
    if (!shown) add(table);
  }
  return html;
}

std::string NotesHtml(const Report& report, const Screen& screen) {
  std::string html;
  if (!report.assumptions.empty()) absl::StrAppendFormat(&html, "<p>%s</p>\n", HtmlText(AssumptionsText(report)));
  std::vector<const Diagnostic*> notes;
  for (const Diagnostic& note : report.notes) notes.push_back(&note);
  // Those that move most first.
  std::stable_sort(notes.begin(), notes.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return a->bytes.value_or(0) > b->bytes.value_or(0);
  });
  if (!notes.empty()) html += "<ul class=\"notes\">\n";
  for (const Diagnostic* note : notes) {
    absl::StrAppendFormat(&html, "<li class=\"%s\"><span class=\"worth\">%s</span><div><p>%s <code>%s</code></p>",
                          NameOf(note->severity), note->bytes ? FormatBytesIn(*note->bytes, screen.units) : "",
                          HtmlText(note->message), HtmlText(CodeOf(*note)));
    for (const std::string& line : note->details) {
      absl::StrAppendFormat(&html, "<p class=\"hint\">%s</p>", HtmlText(line));
    }
    html += "</div></li>\n";
  }
  if (!notes.empty()) html += "</ul>\n";
  return html;
}

}  // namespace onnx_mem
