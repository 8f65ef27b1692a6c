#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_format.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/memory/timeline.h"
#include "report/page/page.h"
#include "report/parts/figures.h"

namespace onnx_mem {
namespace {

constexpr double kWidth = 1000, kHeight = 250, kLeft = 70, kTop = 26;
constexpr size_t kMostColumns = 500;

// As the page's script stacks them (web/series.mjs): what stays is at the bottom, what comes and is freed on top.
constexpr auto kBottomToTop = std::to_array<Category>(
    {Category::kParameters, Category::kBuffers, Category::kOptimizerState, Category::kInputs, Category::kGradients,
     Category::kSavedActivations, Category::kTransientActivations, Category::kActivationGradients,
     Category::kOptimizerTemporaries, Category::kWorkspace, Category::kUnshardedParameters, Category::kCommunication});

struct PictureColumn {
  size_t step = 0;  // the one of its steps with the most bytes
  int64_t bytes = 0;
};

int64_t SumOf(const BytesByCategory& bytes) {
  int64_t sum = 0;
  for (int64_t of_category : bytes) sum += of_category;
  return sum;
}

std::vector<PictureColumn> PictureColumnsOf(const std::vector<BytesByCategory>& steps) {
  std::vector<PictureColumn> columns(std::min(steps.size(), kMostColumns));
  for (size_t step = 0; step < steps.size(); ++step) {
    PictureColumn& column = columns[step * columns.size() / steps.size()];
    const int64_t bytes = SumOf(steps[step]);
    if (bytes > column.bytes) column = {step, bytes};
  }
  return columns;
}

std::string Text(double x, double y, std::string_view anchor, std::string_view text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, HtmlText(text));
}

std::string Line(double x1, double y1, double x2, double y2, std::string_view kind) {
  return absl::StrFormat("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kind, x1, y1, x2,
                         y2);
}

// Where steps and bytes are in the picture.
struct PictureScale {
  size_t steps;
  double most_bytes;
  double YOf(int64_t bytes) const { return kTop + kHeight * (1 - static_cast<double>(bytes) / most_bytes); }
  double XOf(size_t step) const { return kLeft + kWidth * static_cast<double>(step) / static_cast<double>(steps); }
};

// A polygon for each category, from the bottom to the top.
std::string StackOf(const std::vector<BytesByCategory>& steps, const PictureScale& scale) {
  const std::vector<PictureColumn> columns = PictureColumnsOf(steps);
  const double column_width = kWidth / static_cast<double>(columns.size());
  std::string svg;
  std::vector<int64_t> below(columns.size(), 0);
  for (Category category : kBottomToTop) {
    std::string up, down;
    bool any = false;
    for (size_t i = 0; i < columns.size(); ++i) {
      const int64_t bytes = steps[columns[i].step][static_cast<size_t>(category)];
      const double left = kLeft + static_cast<double>(i) * column_width, right = left + column_width;
      const double low = scale.YOf(below[i]), high = scale.YOf(below[i] + bytes);
      any = any || bytes > 0;
      absl::StrAppendFormat(&up, "%.1f,%.1f %.1f,%.1f ", left, high, right, high);
      down = absl::StrFormat("%.1f,%.1f %.1f,%.1f ", right, low, left, low) + down;
      below[i] += bytes;
    }
    if (!any) continue;
    absl::StrAppendFormat(&svg, "<polygon class=\"c%d\" points=\"%s%s\"><title>%s</title></polygon>\n",
                          static_cast<int>(category), up, down, Words(NameOf(category)));
  }
  return svg;
}

std::string PhasesOf(const MemoryProgram& program, const PictureScale& scale) {
  std::string svg;
  size_t begin = 0;
  for (size_t end = 1; end <= scale.steps; ++end) {
    const Phase phase = program.steps[StepId(static_cast<int>(begin))].phase;
    if (end < scale.steps && program.steps[StepId(static_cast<int>(end))].phase == phase) continue;
    const double left = scale.XOf(begin), right = scale.XOf(end);
    if (begin > 0) svg += Line(left, kTop, left, kTop + kHeight + 6, "phase");
    if (right - left > 60) svg += Text((left + right) / 2, kTop + kHeight + 20, "middle", NameOf(phase));
    begin = end;
  }
  return svg;
}

}  // namespace

std::string TimelinePicture(const MemoryProgram& program, int64_t limit_bytes) {
  const std::vector<BytesByCategory> steps = BytesPerStep(program);
  if (steps.empty()) return "";
  const Timeline timeline = ComputeTimeline(program);
  const bool limited = limit_bytes > 0 && limit_bytes < 4 * timeline.peak_bytes;
  const int64_t highest = std::max({timeline.peak_bytes, limited ? limit_bytes : 0, int64_t{1}});
  const PictureScale scale{steps.size(), 1.05 * static_cast<double>(highest)};
  std::string svg = absl::StrFormat(
      "<svg class=\"static\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Bytes alive at each of %d steps; the peak "
      "is %s at step %d\">\n",
      static_cast<int>(kLeft + kWidth + 10), static_cast<int>(kTop + kHeight + 26), steps.size(),
      FormatBytes(timeline.peak_bytes), timeline.peak_step.value() + 1);
  for (int tick = 0; tick <= 4; ++tick) {
    const auto bytes = static_cast<int64_t>(static_cast<double>(timeline.peak_bytes) * tick / 4);
    svg += Line(kLeft, scale.YOf(bytes), kLeft + kWidth, scale.YOf(bytes), "grid");
    svg += Text(kLeft - 8, scale.YOf(bytes) + 4, "end", FormatBytes(bytes));
  }
  svg += StackOf(steps, scale) + PhasesOf(program, scale);
  if (limited) {
    const double y = scale.YOf(limit_bytes);
    svg += Line(kLeft, y, kLeft + kWidth, y, "limit");
    svg += Text(kLeft + kWidth, y - 4, "end", "limit " + FormatBytes(limit_bytes));
  }
  const double column_width = kWidth / static_cast<double>(PictureColumnsOf(steps).size());
  const double peak_x = scale.XOf(timeline.peak_step.index()) + column_width / 2;
  svg += Line(peak_x, kTop - 8, peak_x, scale.YOf(timeline.peak_bytes), "peak");
  const std::string_view anchor = peak_x > kLeft + kWidth / 2 ? "end" : "start";
  svg += Text(peak_x + (anchor == "end" ? -6 : 6), kTop - 6, anchor, "peak " + FormatBytes(timeline.peak_bytes));
  return svg + "</svg>\n";
}

}  // namespace onnx_mem
