// Several models side by side: a row each, and for each the layers that hold its parameters, do its work and store what
// backward needs, with a bar for the share of the model's own total.
#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"
#include "report/parts/figures.h"
#include "report/parts/grouped.h"
#include "report/parts/layout.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kMeasures = 3;
constexpr std::array<std::string_view, kMeasures> kKeys = {"parameters", "flops", "saved_bytes"};
constexpr std::array<std::string_view, kMeasures> kTitles = {"parameters", "FLOPs", "saved tensors"};
constexpr size_t kModelBarWidth = 12;
constexpr size_t kMostLayers = 14;

using Figures = std::array<int64_t, kMeasures>;

struct NamedFigures {
  std::string name;
  Figures figures = {};
};

int64_t NumberAt(const Table& table, const Row& row, std::string_view key) {
  const auto* number = std::get_if<int64_t>(&CellAt(table, row, key));
  return number ? *number : 0;
}

void AddTo(Figures& sum, const Figures& figures) {
  for (size_t i = 0; i < kMeasures; ++i) sum[i] += figures[i];
}

// The first `depth` components of a path; names of nodes are no paths.
std::string Ancestor(const std::string& path, size_t depth) {
  if (path.empty() || path.front() == '/' || path.front() == '(') return path;
  size_t at = 0;
  for (size_t i = 0; i < depth; ++i) {
    at = path.find('.', at);
    if (at == std::string::npos) return path;
    ++at;
  }
  return path.substr(0, at - 1);
}

// Layers by the shallowest path at which no group holds more than half of a measure, unless it is one layer.
std::vector<NamedFigures> Grouping(const std::vector<NamedFigures>& leaves, const Figures& total) {
  Grouped<size_t> depths;
  const auto group_of = [&](const NamedFigures& leaf) {
    for (size_t depth = 1;; ++depth) {
      std::string name = Ancestor(leaf.name, depth);
      if (name == leaf.name || depths[name] == 0) return name;
    }
  };
  for (bool split = true; split;) {
    split = false;
    Grouped<NamedFigures> groups;
    Grouped<int64_t> members;
    for (const NamedFigures& leaf : leaves) {
      const std::string name = group_of(leaf);
      AddTo(groups[name].figures, leaf.figures);
      ++members[name];
    }
    std::vector<NamedFigures> layers;
    for (const auto& [name, layer] : groups.groups()) {
      bool large = false;
      for (size_t i = 0; i < kMeasures; ++i) large = large || layer.figures[i] > total[i] / 2;
      if (large && members[name] > 1) {
        depths[name] = 1;
        split = true;
      }
      layers.push_back({name, layer.figures});
    }
    if (!split) return layers;
  }
  return {};
}

// All layers in their order, of more than `most` those with the largest share of anything, then the sum of the others.
std::vector<NamedFigures> Shown(std::vector<NamedFigures> layers, const Figures& total, size_t most) {
  if (layers.size() <= most) return layers;
  const auto share = [&](const NamedFigures& layer) {
    double largest = 0;
    for (size_t i = 0; i < kMeasures; ++i) {
      if (total[i] > 0)
        largest = std::max(largest, static_cast<double>(layer.figures[i]) / static_cast<double>(total[i]));
    }
    return largest;
  };
  std::vector<double> shares;
  for (const NamedFigures& layer : layers) shares.push_back(share(layer));
  std::vector<double> sorted = shares;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<NamedFigures> shown;
  NamedFigures others;
  size_t count = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (shares[i] >= sorted[most - 1] && shown.size() < most) {
      shown.push_back(std::move(layers[i]));
    } else {
      AddTo(others.figures, layers[i].figures);
      ++count;
    }
  }
  others.name = "(" + Others(static_cast<int64_t>(count)) + ")";
  shown.push_back(std::move(others));
  return shown;
}

void AddFigures(const Figures& figures, const Figures& of, const std::array<ByteUnit, kMeasures>& units, bool utf8,
                std::vector<std::string>& cells) {
  for (size_t i = 0; i < kMeasures; ++i) {
    const bool none = figures[i] == 0;
    cells.push_back(none ? "-" : i == 2 ? SizeIn(figures[i], units[i]) : ShortCount(figures[i]));
    const double share = of[i] > 0 ? static_cast<double>(figures[i]) / static_cast<double>(of[i]) : 0;
    cells.push_back(Bar(share, kModelBarWidth, utf8));
  }
}

// Names, then for each measure its figure and its bar.
TextTable StartTable(std::string title) {
  TextTable table;
  table.columns = {{.shrinks = true}};
  std::vector<std::string> head = {std::move(title)};
  for (std::string_view measure : kTitles) {
    table.columns.insert(table.columns.end(), {{.right = true}, {}});
    head.insert(head.end(), {"", std::string(measure)});
  }
  table.rows.push_back(std::move(head));
  return table;
}

std::string ModelLayersText(const std::string& model, const Table& table, size_t most, const Screen& screen) {
  std::vector<NamedFigures> leaves;
  Figures total = {};
  for (const Row& row : table.rows) {
    if (std::get<std::string>(CellAt(table, row, "model")) != model) continue;
    NamedFigures& leaf = leaves.emplace_back();
    leaf.name = std::get<std::string>(CellAt(table, row, "module"));
    for (size_t i = 0; i < kMeasures; ++i) leaf.figures[i] = NumberAt(table, row, kKeys[i]);
    AddTo(total, leaf.figures);
  }
  std::array<ByteUnit, kMeasures> units = {};
  units[2] = ColumnUnit(total[2], screen.units);
  TextTable text = StartTable(BaseName(model));
  for (const NamedFigures& layer : Shown(Grouping(leaves, total), total, most)) {
    if (layer.figures == Figures{}) continue;
    std::vector<std::string> cells = {"  " + layer.name};
    AddFigures(layer.figures, total, units, screen.utf8, cells);
    text.rows.push_back(std::move(cells));
  }
  return AlignedText(std::move(text), kIndent, 1, screen);
}

// " may fit"; "" without a limit.
std::string VerdictOfRow(const Table& models, const Row& row) {
  std::string verdict = std::get<std::string>(CellAt(models, row, "verdict"));
  std::replace(verdict.begin(), verdict.end(), '-', ' ');
  return verdict.empty() ? "" : " " + verdict;
}

}  // namespace

std::string ModelsText(const Report& report, const Screen& screen) {
  const Table& models = *TableNamed(report, "models");
  Figures most = {};
  int64_t largest_device = 0;
  const auto figures_of = [&](const Row& row) {
    return Figures{NumberAt(models, row, "parameters"), NumberAt(models, row, "forward_flops"),
                   NumberAt(models, row, "saved_activation_bytes")};
  };
  for (const Row& row : models.rows) {
    const Figures figures = figures_of(row);
    for (size_t i = 0; i < kMeasures; ++i) most[i] = std::max(most[i], figures[i]);
    for (std::string_view key : {"training_device_bytes", "inference_device_bytes"}) {
      largest_device = std::max(largest_device, NumberAt(models, row, key));
    }
  }
  std::array<ByteUnit, kMeasures> units = {};
  units[2] = ColumnUnit(most[2], screen.units);
  const ByteUnit device_unit = ColumnUnit(largest_device, screen.units);
  TextTable text = StartTable(absl::StrFormat("batch %d", NumberAt(models, models.rows.front(), "batch")));
  text.columns.push_back({.right = true, .optional = true});
  const bool trains = std::any_of(models.rows.begin(), models.rows.end(),
                                  [&](const Row& row) { return NumberAt(models, row, "training_device_bytes") > 0; });
  text.rows.front().push_back(trains ? "training" : "inference");
  for (const Row& row : models.rows) {
    std::vector<std::string> cells = {"  " + BaseName(std::get<std::string>(CellAt(models, row, "model")))};
    AddFigures(figures_of(row), most, units, screen.utf8, cells);
    const int64_t device_bytes = NumberAt(models, row, trains ? "training_device_bytes" : "inference_device_bytes");
    cells.push_back((device_bytes > 0 ? SizeIn(device_bytes, device_unit) : "-") + VerdictOfRow(models, row));
    text.rows.push_back(std::move(cells));
  }
  std::string result = AlignedText(std::move(text), kIndent, 1, screen);
  if (const Table* gpus = TableNamed(report, "gpus")) result += "\n" + ListText(*gpus, report, screen);
  if (report.shown_table != "layers") return result;
  const size_t rows = report.top_given ? static_cast<size_t>(std::max<int64_t>(report.top, 0)) : kMostLayers;
  for (const Row& row : models.rows) {
    const std::string& model = std::get<std::string>(CellAt(models, row, "model"));
    result += "\n" + ModelLayersText(model, *TableNamed(report, "layers"), rows == 0 ? SIZE_MAX : rows, screen);
  }
  return result;
}

}  // namespace onnx_mem
