// When it peaks and who holds the memory then: the lower half of the first screen.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "cli/report/figures.h"
#include "cli/report/layout.h"
#include "cli/report/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kSparkWidth = 60;
constexpr int64_t kShownLayers = 5;
constexpr size_t kLayerBar = 10;
constexpr size_t kBlockGap = 3;
constexpr size_t kLeastTensorBlock = 50;

std::string PlaceText(const PartSummary& part) {
  std::string place;
  for (const std::string& word : {part.peak.module.empty() ? part.peak.node : part.peak.module}) {
    if (!word.empty()) place = ", " + word;
  }
  return absl::StrFormat("Peak at step %d of %d: %s%s (%s)", part.peak.step + 1, part.steps, NameOf(part.peak.phase),
                         place, part.peak.op);
}

std::string FlopsText(const RunSummary& run) {
  if (run.forward_flops == 0) return "";
  std::string text = absl::StrFormat("FLOPs: forward %s", ShortCount(run.forward_flops));
  if (run.backward_flops > 0) absl::StrAppendFormat(&text, ", backward %s", ShortCount(run.backward_flops));
  if (run.recompute_flops && *run.recompute_flops > 0) {
    const double step = static_cast<double>(run.forward_flops + run.backward_flops);
    absl::StrAppendFormat(&text, ", recomputed %s (+%.1f %%)", ShortCount(*run.recompute_flops),
                          100 * static_cast<double>(*run.recompute_flops) / step);
  }
  return text;
}

// Two blocks of lines beside each other, or one above the other where they are too wide.
std::string Beside(const std::vector<std::string>& left, const std::vector<std::string>& right, size_t width) {
  size_t left_width = 0, right_width = 0;
  for (const std::string& line : left) left_width = std::max(left_width, DisplayWidth(line));
  for (const std::string& line : right) right_width = std::max(right_width, DisplayWidth(line));
  std::string text;
  const auto add = [&](std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  if (left_width + kBlockGap + right_width > width) {
    for (const std::string& line : left) add(line);
    if (!left.empty() && !right.empty()) text += "\n";
    for (const std::string& line : right) add(line);
    return text;
  }
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    add(PadRight(i < left.size() ? left[i] : "", left_width + kBlockGap) + (i < right.size() ? right[i] : ""));
  }
  return text;
}

std::vector<std::string> LayerLines(const Report& report, const PartSummary& part, const Screen& screen) {
  const auto& layers = report.layers_at_peak;
  if (layers.empty() || (layers.size() == 1 && part.peak.module.empty())) return {};
  const auto most = static_cast<size_t>(report.top_given ? report.top : kShownLayers);
  std::vector<std::vector<std::string>> rows;
  const ByteUnit unit = ColumnUnit(layers.front().second, screen.units);
  const auto add = [&](const std::string& name, int64_t bytes, bool bar) {
    const double share = part.peak_bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(part.peak_bytes) : 0;
    rows.push_back(
        {name, SizeIn(bytes, unit), Percent(bytes, part.peak_bytes), bar ? Bar(share, kLayerBar, screen.utf8) : ""});
  };
  int64_t rest = 0;
  size_t rest_count = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (most == 0 || i < most) {
      add(layers[i].first, layers[i].second, true);
    } else {
      rest += layers[i].second;
      ++rest_count;
    }
  }
  if (rest_count > 0) add(absl::StrFormat("(%d others)", rest_count), rest, false);
  std::vector<std::string> lines = {std::string(kIndent, ' ') + "Layers holding most then"};
  const std::vector<TextColumn> columns = {{false, 24}, {true, 0}, {true, 0}, {false, 0}};
  for (std::string& line : Aligned(rows, columns, 2 * kIndent, 2, screen)) lines.push_back(std::move(line));
  return lines;
}

// A tensor as its reader knows it: "layer1.0.bn3 (cudnn_batch_norm)" for what an operator made, since names of values
// in a file are an exporter's ("getitem_15"); the name for parameters, their state, and what has no module.
std::string TensorLabel(const Table& table, const Row& row) {
  const auto text = [&](std::string_view key) { return std::get<std::string>(CellAt(table, row, key)); };
  if (text("op").empty() || text("module").empty()) return text("name");
  const std::string category = text("category");
  const bool gradient = category == NameOf(Category::kGradients) || category == NameOf(Category::kActivationGradients);
  return absl::StrFormat("%s (%s)", text("module"), gradient ? "gradient" : text("op"));
}

// `room`: columns for the whole block.
std::vector<std::string> TensorLines(const Report& report, const Screen& screen, size_t room) {
  const Table& table = report.largest_tensors;
  const auto most = static_cast<size_t>(report.top_given ? report.top : kShownLayers);
  std::vector<std::vector<std::string>> rows;
  if (table.rows.empty()) return {};
  const ByteUnit unit = ColumnUnit(std::get<int64_t>(CellAt(table, table.rows.front(), "bytes")), screen.units);
  for (const Row& row : table.rows) {
    if (most > 0 && rows.size() == most) break;
    rows.push_back({CellText(CellAt(table, row, "bytes"), ColumnKind::kBytes, unit), TensorLabel(table, row),
                    CellText(CellAt(table, row, "shape"), ColumnKind::kShape, ByteUnit::kAuto)});
  }
  std::vector<std::string> lines = {std::string(kIndent, ' ') + "Tensors holding most then"};
  size_t taken = 2 * kIndent + 2 * 2;  // the indent and the gaps
  for (size_t c : {0, 2}) {
    size_t widest = 0;
    for (const auto& row : rows) widest = std::max(widest, DisplayWidth(row[c]));
    taken += std::min<size_t>(widest, 22);
  }
  const std::vector<TextColumn> columns = {
      {true, 0}, {false, std::max<size_t>(20, room - std::min(room, taken))}, {false, 22}};
  for (std::string& line : Aligned(rows, columns, 2 * kIndent, 2, screen)) lines.push_back(std::move(line));
  const int64_t others = table.omitted_rows + static_cast<int64_t>(table.rows.size() - rows.size());
  if (others > 0) lines.push_back(absl::StrFormat("    (%d more: --by tensor)", others));
  return lines;
}

}  // namespace

std::string WhenText(const Report& report, const Screen& screen) {
  const RunSummary& run = report.runs.front();
  const PartSummary& part = MainPart(run);
  if (!part.peak.known) return "";
  const std::string indent(kIndent, ' ');
  std::string text = absl::StrFormat("%s%s\n", indent, Shortened(PlaceText(part), screen.width - kIndent, screen.utf8));
  const SparkColumns columns =
      ColumnsOf(part.live_bytes, part.phases, std::min(kSparkWidth, screen.width - 2 * kIndent));
  if (columns.bytes.size() > 1) {
    text += indent + Sparkline(columns.bytes, screen.utf8) + "\n";
    std::vector<std::string> names;
    for (const PhaseSpan& span : part.phases) names.emplace_back(NameOf(span.phase));
    text += indent + Painted(PhaseRuler(names, columns.widths, screen.utf8), Paint::kDim, screen) + "\n";
  }
  if (const std::string flops = FlopsText(run); !flops.empty()) text += indent + flops + "\n";
  return text;
}

std::string WhoText(const Report& report, const Screen& screen) {
  const PartSummary& part = MainPart(report.runs.front());
  const std::vector<std::string> layers = LayerLines(report, part, screen);
  size_t room = screen.width;
  for (const std::string& line : layers) room = std::min(room, screen.width - DisplayWidth(line) - kBlockGap);
  // Below this, names say nothing: the blocks stand one above the other.
  if (room < kLeastTensorBlock) room = screen.width;
  return Beside(layers, TensorLines(report, screen, room), screen.width);
}

}  // namespace onnx_mem
