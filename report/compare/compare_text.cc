// A comparison for a screen of at most 100 columns: what changed on the device first, then every category, the layers
// that changed most, and what an export in half precision did not halve.
//
//                              base          head        change        %
//   TRAINING on the GPU   6664.0 MiB    3502.0 MiB  -3162.0 MiB  -47.4 %
#include <algorithm>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/order/stable_sort.h"
#include "report/analyze/answer.h"
#include "report/compare/compare_forms.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostOperators = 5;

std::string Size(int64_t bytes, ByteUnit unit) { return bytes == 0 ? "-" : SizeIn(bytes, unit); }

ByteUnit UnitOf(const ComparedReports& comparison, ByteUnit chosen) {
  int64_t largest = 0;
  const auto look = [&](const RunSummary& run) { largest = std::max(largest, MainPart(run).device_bytes); };
  look(comparison.base.run());
  for (const ComparedSide& head : comparison.heads) look(head.run());
  return ColumnUnit(largest, chosen);
}

// "base  a.onnx  25.6 M parameters (float32)  122 nodes  batch 64", a line for each side.
std::string HeadingOf(const ComparedReports& comparison, const Screen& screen) {
  TextTable table;
  table.columns = {{}, {.shrinks = true}, {.optional = true}, {.right = true, .optional = true}, {.right = true}};
  const auto add = [&](std::string role, const Report& report) {
    const ReportedModel& model = report.model;
    table.rows.push_back({std::move(role), BaseName(model.path), ParameterWords(model),
                          absl::StrFormat("%d nodes", model.nodes),
                          absl::StrFormat("batch %d", report.runs.front().batch)});
  };
  add("base", comparison.base.report);
  const size_t heads = comparison.heads.size();
  for (size_t h = 0; h < heads; ++h) {
    add(heads == 1 ? "head" : absl::StrFormat("head %d", h + 1), comparison.heads[h].report);
  }
  return AlignedText(std::move(table), 0, kGap, screen);
}

// The figures of one head, with those of the base under autocast beside them where it was analyzed.
class FigureTable {
 public:
  FigureTable(const ComparedReports& comparison, size_t head, ByteUnit unit)
      : figures_(FiguresOf(comparison.base.run(), comparison.heads[head].run())), unit_(unit) {
    table_.columns = {
        {.shrinks = true}, {.right = true}, {.right = true}, {.right = true}, {.right = true, .optional = true}};
    table_.rows = {{"", "base", "head", "change", "%"}};
    if (!comparison.base_amp) return;
    amp_ = FiguresOf(comparison.base.run(), *comparison.base_amp);
    table_.columns.push_back({.right = true, .optional = true});
    table_.rows.front().push_back(absl::StrFormat("base --amp %s", AmpName(comparison)));
  }

  TextTable Take() {
    for (const PartOfRun& which : kPartsOfRun) {
      if (const ComparedFigure* device = Find(figures_, which.name, "device_bytes")) {
        Add(*device, absl::StrFormat("%s on the GPU", absl::AsciiStrToUpper(std::string(which.name))));
      }
    }
    for (const PartOfRun& which : kPartsOfRun) {
      if (!Find(figures_, which.name, "device_bytes")) continue;
      AddBlank();
      table_.rows.emplace_back(table_.columns.size()).front() = which.name;
      AddPart(which.name);
    }
    return std::move(table_);
  }

 private:
  static const ComparedFigure* Find(const std::vector<ComparedFigure>& figures, std::string_view part,
                                    std::string_view key) {
    for (const ComparedFigure& figure : figures) {
      if (figure.part == part && figure.key == key) return &figure;
    }
    return nullptr;
  }

  void AddBlank() { table_.rows.emplace_back(table_.columns.size()); }

  void Add(const ComparedFigure& figure, std::string title) {
    std::vector<std::string> row = {std::move(title), Size(figure.base, unit_), Size(figure.head, unit_),
                                    SignedSize(figure.delta(), unit_), SignedPercent(figure.base, figure.head)};
    if (row.size() < table_.columns.size()) {
      const ComparedFigure* amp = Find(amp_, figure.part, figure.key);
      row.push_back(amp ? Size(amp->head, unit_) : "-");
    }
    table_.rows.push_back(std::move(row));
  }

  // Categories, those that changed most first; then the totals.
  void AddPart(std::string_view part) {
    std::vector<ComparedFigure> rows;
    for (const ComparedFigure& figure : figures_) {
      if (figure.part == part && figure.key != "device_bytes") rows.push_back(figure);
    }
    // Autocast may have what neither side has: casts of the weights.
    for (const ComparedFigure& figure : amp_) {
      if (figure.part == part && !Find(figures_, part, figure.key)) {
        rows.push_back({figure.part, figure.key, figure.title, false, 0, 0});
      }
    }
    StableSort(rows, [](const ComparedFigure& a, const ComparedFigure& b) {
      if (a.total != b.total) return b.total;
      return !a.total && std::llabs(a.delta()) > std::llabs(b.delta());
    });
    for (const ComparedFigure& figure : rows) Add(figure, std::string(kIndent, ' ') + figure.title);
  }

  std::vector<ComparedFigure> figures_, amp_;
  ByteUnit unit_;
  TextTable table_;
};

// Several heads: a row each.
TextTable HeadTable(const ComparedReports& comparison, ByteUnit unit) {
  const RunSummary& base = comparison.base.run();
  const std::vector<std::string> names = SideNames(comparison);
  TextTable table;
  table.columns = {{.shrinks = true}};
  table.rows = {{""}};
  for (const PartOfRun& which : kPartsOfRun) {
    if (!(base.*which.part)) continue;
    for (const std::string& title :
         {absl::AsciiStrToUpper(std::string(which.name)), std::string("change"), std::string("%")}) {
      table.columns.push_back({.right = true, .optional = title == "%"});
      table.rows.front().push_back(title);
    }
  }
  const auto add = [&](const std::string& name, const RunSummary& run) {
    std::vector<std::string> row = {name};
    for (const PartOfRun& which : kPartsOfRun) {
      const std::optional<PartSummary>&before = base.*which.part, &after = run.*which.part;
      if (!before) continue;
      if (!after) {
        row.insert(row.end(), {"-", "-", ""});
        continue;
      }
      row.insert(row.end(),
                 {Size(after->device_bytes, unit), SignedSize(after->device_bytes - before->device_bytes, unit),
                  SignedPercent(before->device_bytes, after->device_bytes)});
    }
    table.rows.push_back(std::move(row));
  };
  add(names[0], base);
  for (size_t h = 0; h < comparison.heads.size(); ++h) add(names[h + 1], comparison.heads[h].run());
  if (comparison.base_amp) {
    add(absl::StrFormat("%s --amp %s", names[0], AmpName(comparison)), *comparison.base_amp);
  }
  return table;
}

std::string LayersText(const Change& change, const Report& report, const Screen& screen) {
  if (!change.layers) {
    return Sentence("Layers: not compared, since a saved report has none; -o report.json saves them", screen);
  }
  std::vector<LayerChange> layers = report.shown_table == "layers" ? *change.layers : Coarse(*change.layers);
  std::erase_if(layers, [](const LayerChange& layer) { return layer.delta_bytes() == 0; });
  if (layers.empty()) return "";
  int64_t largest = 0;
  LayerChange sum, rest;
  const size_t most = report.top == 0 ? layers.size() : std::min(layers.size(), static_cast<size_t>(report.top));
  for (size_t i = 0; i < layers.size(); ++i) {
    largest = std::max({largest, layers[i].base_bytes, layers[i].head_bytes});
    for (LayerChange* into : {&sum, i >= most ? &rest : nullptr}) {
      if (!into) continue;
      into->base_bytes += layers[i].base_bytes;
      into->head_bytes += layers[i].head_bytes;
    }
  }
  const ByteUnit unit = ColumnUnit(largest, screen.units);
  TextTable table;
  table.columns = {{.shrinks = true},
                   {.right = true, .optional = true},
                   {.right = true, .optional = true},
                   {.right = true},
                   {.right = true, .optional = true}};
  table.rows = {{"Layers that changed most", "base", "head", "change", "%"}};
  const auto add = [&](std::string name, const LayerChange& layer) {
    table.rows.push_back({std::string(kIndent, ' ') + std::move(name), Size(layer.base_bytes, unit),
                          Size(layer.head_bytes, unit), SignedSize(layer.delta_bytes(), unit),
                          SignedPercent(layer.base_bytes, layer.head_bytes)});
  };
  for (size_t i = 0; i < most; ++i) add(std::string(TagOf(layers[i].presence)) + layers[i].name, layers[i]);
  if (most < layers.size()) add("(" + Others(static_cast<int64_t>(layers.size() - most)) + ")", rest);
  if (layers.size() > 1) add("all that changed", sum);
  return AlignedText(std::move(table), kIndent, kGap, screen);
}

std::string OperatorsText(const Change& change, const Screen& screen) {
  std::vector<std::string> parts;
  for (const OperatorChange& op : change.operators) {
    if (parts.size() == kMostOperators) {
      parts.push_back(absl::StrFormat("%d more kinds", change.operators.size() - kMostOperators));
      break;
    }
    parts.push_back(
        absl::StrFormat("%s%d %s%s", TagOf(op.presence), op.count, op.op,
                        op.bytes == 0 ? "" : absl::StrFormat(" (%s)", FormatBytesIn(op.bytes, screen.units))));
  }
  if (parts.empty()) return "";
  return Sentence("Operators of one side only: " + absl::StrJoin(parts, ", "), screen);
}

// Texts of all heads; the name of the head before each where there are several.
template <class TextOf>
std::string OfEachHead(const ComparedReports& comparison, TextOf text_of, const Screen& screen) {
  const std::vector<std::string> names = SideNames(comparison);
  std::string text;
  for (size_t h = 0; h < comparison.heads.size(); ++h) {
    const std::string part = text_of(h);
    if (part.empty()) continue;
    if (comparison.heads.size() > 1) {
      absl::StrAppendFormat(&text, "%s%s\n", text.empty() ? "" : "\n",
                            Painted(Shortened(names[h + 1], screen.width, screen.utf8), Paint::kBold, screen));
    }
    text += part;
  }
  return text;
}

}  // namespace

std::string CompareText(const ComparedReports& comparison, const Report& report, const Screen& screen) {
  const ByteUnit unit = UnitOf(comparison, screen.units);
  std::vector<std::string> parts;
  std::string verdict;
  for (const std::string& line : GateInWords(comparison, screen)) {
    const bool within = comparison.gate->exceeded.empty();
    verdict += Painted(Wrapped(line, screen.width, kIndent, 2 * kIndent), within ? Paint::kGreen : Paint::kRed, screen);
    verdict += '\n';
  }
  parts.push_back(HeadingOf(comparison, screen));
  parts.push_back(verdict);
  parts.push_back(HeldText(comparison, screen));
  TextTable figures =
      comparison.heads.size() == 1 ? FigureTable(comparison, 0, unit).Take() : HeadTable(comparison, unit);
  parts.push_back(AlignedText(std::move(figures), kIndent, kGap, screen));
  parts.push_back(
      OfEachHead(comparison, [&](size_t h) { return LayersText(comparison.changes[h], report, screen); }, screen));
  parts.push_back(
      OfEachHead(comparison, [&](size_t h) { return OperatorsText(comparison.changes[h], screen); }, screen));
  std::string words;
  for (const std::string& line : PrecisionInWords(comparison, screen)) {
    words += Sentence(line, screen);
  }
  parts.push_back(words);
  if (const std::string assumed = AssumptionsText(comparison.heads.front().report); !assumed.empty()) {
    parts.push_back(Sentence(assumed, screen, kIndent));
  }
  return Paragraphs(parts);
}

}  // namespace onnx_mem
