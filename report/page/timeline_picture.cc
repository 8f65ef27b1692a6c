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

// As the page's script stacks them (web/series.mjs): what stays is at the bottom, what comes and goes on top.
constexpr auto kBottomToTop =
    std::to_array<Category>({Category::kParameters, Category::kBuffers, Category::kOptimizerState, Category::kInputs,
                             Category::kGradients, Category::kSavedActivations, Category::kTransientActivations,
                             Category::kActivationGradients, Category::kOptimizerTemporaries, Category::kWorkspace});

struct PictureColumn {
  size_t step = 0;  // the one of its steps with the most bytes
  int64_t bytes = 0;
};

int64_t SumOf(const BytesByCategory& bytes) {
  int64_t sum = 0;
  for (int64_t of_category : bytes) sum += of_category;
  return sum;
}

std::vector<PictureColumn> ColumnsOf(const std::vector<BytesByCategory>& steps) {
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

}  // namespace

std::string TimelinePicture(const MemoryProgram& program, int64_t limit_bytes) {
  const std::vector<BytesByCategory> steps = BytesPerStep(program);
  if (steps.empty()) return "";
  const Timeline timeline = ComputeTimeline(program);
  const std::vector<PictureColumn> columns = ColumnsOf(steps);
  const bool limited = limit_bytes > 0 && limit_bytes < 4 * timeline.peak_bytes;
  const int64_t highest = std::max({timeline.peak_bytes, limited ? limit_bytes : 0, int64_t{1}});
  const double most = 1.05 * static_cast<double>(highest);
  const auto y_of = [&](int64_t bytes) { return kTop + kHeight * (1 - static_cast<double>(bytes) / most); };
  const double column_width = kWidth / static_cast<double>(columns.size());
  const auto step_x = [&](size_t step) {
    return kLeft + kWidth * static_cast<double>(step) / static_cast<double>(steps.size());
  };

  std::string svg = absl::StrFormat(
      "<svg class=\"static\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Bytes alive at each of %d steps; the peak "
      "is %s at step %d\">\n",
      static_cast<int>(kLeft + kWidth + 10), static_cast<int>(kTop + kHeight + 26), steps.size(),
      FormatBytes(timeline.peak_bytes), timeline.peak_step.value() + 1);
  for (int tick = 0; tick <= 4; ++tick) {
    const auto bytes = static_cast<int64_t>(static_cast<double>(timeline.peak_bytes) * tick / 4);
    svg += Line(kLeft, y_of(bytes), kLeft + kWidth, y_of(bytes), "grid");
    svg += Text(kLeft - 8, y_of(bytes) + 4, "end", FormatBytes(bytes));
  }
  std::vector<int64_t> below(columns.size(), 0);
  for (Category category : kBottomToTop) {
    std::string up, down;
    bool any = false;
    for (size_t i = 0; i < columns.size(); ++i) {
      const int64_t bytes = steps[columns[i].step][static_cast<size_t>(category)];
      const double left = kLeft + static_cast<double>(i) * column_width, right = left + column_width;
      any = any || bytes > 0;
      absl::StrAppendFormat(&up, "%.1f,%.1f %.1f,%.1f ", left, y_of(below[i] + bytes), right, y_of(below[i] + bytes));
      down = absl::StrFormat("%.1f,%.1f %.1f,%.1f ", right, y_of(below[i]), left, y_of(below[i])) + down;
      below[i] += bytes;
    }
    if (!any) continue;
    absl::StrAppendFormat(&svg, "<polygon class=\"c%d\" points=\"%s%s\"><title>%s</title></polygon>\n",
                          static_cast<int>(category), up, down, Words(NameOf(category)));
  }
  size_t begin = 0;
  for (size_t end = 1; end <= steps.size(); ++end) {
    const Phase phase = program.steps[StepId(static_cast<int>(begin))].phase;
    if (end < steps.size() && program.steps[StepId(static_cast<int>(end))].phase == phase) continue;
    if (begin > 0) svg += Line(step_x(begin), kTop, step_x(begin), kTop + kHeight + 6, "phase");
    if (step_x(end) - step_x(begin) > 60) {
      svg += Text((step_x(begin) + step_x(end)) / 2, kTop + kHeight + 20, "middle", NameOf(phase));
    }
    begin = end;
  }
  if (limited) {
    svg += Line(kLeft, y_of(limit_bytes), kLeft + kWidth, y_of(limit_bytes), "limit");
    svg += Text(kLeft + kWidth, y_of(limit_bytes) - 4, "end", "limit " + FormatBytes(limit_bytes));
  }
  const double peak_x = step_x(static_cast<size_t>(timeline.peak_step.value())) + column_width / 2;
  svg += Line(peak_x, kTop - 8, peak_x, y_of(timeline.peak_bytes), "peak");
  const std::string_view anchor = peak_x > kLeft + kWidth / 2 ? "end" : "start";
  svg += Text(peak_x + (anchor == "end" ? -6 : 6), kTop - 6, anchor, "peak " + FormatBytes(timeline.peak_bytes));
  return svg + "</svg>\n";
}

}  // namespace onnx_mem
