// When it peaks and who holds the memory then: the lower half of the first screen.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kSparkWidth = 60;
constexpr int64_t kShown = 5;
constexpr int64_t kShownVerbose = 20;
constexpr size_t kColumnGap = 2;
constexpr size_t kShapeWidth = 22;
constexpr size_t kLeastLabel = 20;
constexpr size_t kLayerBar = 10;
constexpr size_t kBlockGap = 3;
constexpr size_t kLeastTensorBlock = 48;
constexpr size_t kLeastLayerBlock = 40;
constexpr size_t kLayerName = 28;

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
  if (run.with_plan && run.recompute_flops > 0) {
    const double step = static_cast<double>(run.forward_flops + run.backward_flops);
    absl::StrAppendFormat(&text, ", recomputed %s (+%.1f %%)", ShortCount(run.recompute_flops),
                          100 * static_cast<double>(run.recompute_flops) / step);
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

// Rows of either list; 0: all.
size_t MostShown(const Report& report) {
  return static_cast<size_t>(report.top_given ? report.top : report.verbose ? kShownVerbose : kShown);
}

// At most `width` columns; the bars are left out where names need the room.
std::vector<std::string> LayerLines(const std::vector<LayerShare>& layers, size_t most, const PartSummary& part,
                                    const Screen& screen, size_t width) {
  if (layers.empty() || (layers.size() == 1 && part.peak.module.empty())) return {};
  TextTable table;
  table.columns = {{.shrinks = true}, {.right = true}, {.right = true}, {.optional = true}};
  const ByteUnit unit = ColumnUnit(part.peak_bytes, screen.units);
  const auto add = [&](const std::string& name, int64_t bytes, bool bar) {
    const double share = part.peak_bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(part.peak_bytes) : 0;
    table.rows.push_back({Shortened(name, kLayerName, screen.utf8), SizeIn(bytes, unit),
                          Percent(bytes, part.peak_bytes), bar ? Bar(share, kLayerBar, screen.utf8) : ""});
  };
  int64_t rest = 0;
  size_t rest_count = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (most == 0 || i < most) {
      add(layers[i].name, layers[i].bytes, true);
    } else {
      rest += layers[i].bytes;
      ++rest_count;
    }
  }
  if (rest_count > 0) add("(" + Others(static_cast<int64_t>(rest_count)) + ")", rest, false);
  std::vector<std::string> lines = {std::string(kIndent, ' ') + "Layers that hold most at the peak"};
  Screen narrow = screen;
  narrow.width = width;
  for (std::string& line : Aligned(std::move(table), 2 * kIndent, kColumnGap, narrow)) lines.push_back(std::move(line));
  return lines;
}

// A tensor as its reader knows it: "layer1.0.bn3 (cudnn_batch_norm)" for what an operator made, since names of values
// in a file are an exporter's ("getitem_15"), or the module alone where both are wider than `width`; the name for
// parameters, their state, and what has no module.
std::string TensorLabel(const Table& table, const Row& row, size_t width, bool utf8) {
  const auto text = [&](std::string_view key) { return std::get<std::string>(CellAt(table, row, key)); };
  const std::string module = text("module"), category = text("category");
  if (text("op").empty() || module.empty()) return Shortened(text("name"), width, utf8);
  const bool gradient = category == NameOf(Category::kGradients) || category == NameOf(Category::kActivationGradients);
  const std::string label = absl::StrFormat("%s (%s)", module, gradient ? "gradient" : text("op"));
  return Shortened(DisplayWidth(label) <= width ? label : module, width, utf8);
}

// `room`: columns for the whole block.
std::vector<std::string> TensorLines(const Table& table, size_t most, const PartSummary& part, const Screen& screen,
                                     size_t room) {
  if (table.rows.empty()) return {};
  const size_t count = most == 0 ? table.rows.size() : std::min(most, table.rows.size());
  const ByteUnit unit = ColumnUnit(part.peak_bytes, screen.units);
  TextTable text_table{{{.right = true}, {}, {}}, {}};
  auto& rows = text_table.rows;
  size_t widest_size = 0, widest_shape = 0;
  for (size_t i = 0; i < count; ++i) {
    const Row& row = table.rows[i];
    const std::string shape = CellText(CellAt(table, row, "shape"), ColumnKind::kShape, ByteUnit::kAuto);
    rows.push_back({CellText(CellAt(table, row, "bytes"), ColumnKind::kBytes, unit), "",
                    Shortened(shape, kShapeWidth, screen.utf8)});
    widest_size = std::max(widest_size, DisplayWidth(rows.back()[0]));
    widest_shape = std::max(widest_shape, DisplayWidth(rows.back()[2]));
  }
  const size_t taken = 2 * kIndent + widest_size + widest_shape + 2 * kColumnGap;
  const size_t label_width = std::max(kLeastLabel, room - std::min(room, taken));
  for (size_t i = 0; i < count; ++i) rows[i][1] = TensorLabel(table, table.rows[i], label_width, screen.utf8);
  std::vector<std::string> lines = {std::string(kIndent, ' ') + "Tensors that hold most at the peak"};
  for (std::string& line : Aligned(std::move(text_table), 2 * kIndent, kColumnGap, screen)) {
    lines.push_back(std::move(line));
  }
  const int64_t others = table.omitted_rows + static_cast<int64_t>(table.rows.size() - count);
  if (others > 0) lines.push_back(absl::StrFormat("    (%d more: --by tensor)", others));
  return lines;
}

}  // namespace

std::string PeakText(const PartSummary& part, const Screen& screen) {
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
  return text;
}

std::string WhenText(const RunSummary& run, const AnalyzePart& analyzed, const Screen& screen) {
  std::string text = PeakText(MainPart(run), screen);
  if (text.empty()) return "";
  if (const std::string flops = FlopsText(run); !flops.empty()) text += std::string(kIndent, ' ') + flops + "\n";
  text += TimeText(run, analyzed, screen);
  return run.traffic ? text + Sentence("Each rank " + TrafficWords(*run.traffic, screen.units), screen) : text;
}

std::string TimeText(const RunSummary& run, const AnalyzePart& analyzed, const Screen& screen) {
  const std::optional<TimeEstimate>& time = MainPart(run).time;
  if (!time) {
    if (analyzed.time_unknown.empty()) return "";
    return Sentence(absl::StrFormat("Time: not estimated, %s", analyzed.time_unknown), screen);
  }
  const bool all_measured = time->measured_ns == time->step_ns;
  std::string text = absl::StrFormat("Time (%s) on %s%s: ",
                                     all_measured            ? "measured"
                                     : time->measured_ns > 0 ? "partly measured"
                                                             : "estimate",
                                     time->card, analyzed.card_named ? "" : " (no --gpu)");
  if (run.training) {
    absl::StrAppendFormat(&text, "forward %s, backward %s", ShortTime(time->forward_ns + time->loss_ns),
                          ShortTime(time->backward_ns));
    if (time->offload_ns > 0) absl::StrAppendFormat(&text, ", host %s", ShortTime(time->offload_ns));
    if (time->recompute_ns > 0) absl::StrAppendFormat(&text, ", recompute %s", ShortTime(time->recompute_ns));
    if (time->optimizer_ns > 0) absl::StrAppendFormat(&text, ", optimizer %s", ShortTime(time->optimizer_ns));
    absl::StrAppendFormat(&text, ", step %s", ShortTime(time->step_ns));
    if (run.inference && run.inference->time) {
      absl::StrAppendFormat(&text, "; inference %s", ShortTime(run.inference->time->step_ns));
    }
  } else {
    text += ShortTime(time->step_ns);
  }
  if (time->bound != Bound::kNothing) {
    absl::StrAppendFormat(&text, "; bound by %s (%s)", NameOf(time->bound),
                          Percent(time->by_bound_ns[static_cast<size_t>(time->bound)], time->step_ns));
  }
  for (const std::string& assumption : time->assumptions) text += "; " + assumption;
  return Sentence(text, screen);
}

std::string WhoText(const Report& report, const AnalyzePart& analyzed, const Screen& screen) {
  const PartSummary& part = MainPart(report.runs.front());
  const size_t most = MostShown(report);
  const auto width_of = [](const std::vector<std::string>& lines) {
    size_t width = 0;
    for (const std::string& line : lines) width = std::max(width, DisplayWidth(line));
    return width;
  };
  // Beside each other where both can be read, else one above the other.
  const size_t left = screen.width - std::min(screen.width, kLeastTensorBlock + kBlockGap);
  std::vector<std::string> layers =
      LayerLines(analyzed.layers_at_peak, most, part, screen, std::max(left, kLeastLayerBlock));
  size_t room = screen.width - std::min(screen.width, width_of(layers) + kBlockGap);
  if (room < kLeastTensorBlock) {
    layers = LayerLines(analyzed.layers_at_peak, most, part, screen, screen.width);
    room = screen.width;
  }
  return Beside(layers, TensorLines(analyzed.largest_tensors, most, part, screen, room), screen.width);
}

}  // namespace onnx_mem
