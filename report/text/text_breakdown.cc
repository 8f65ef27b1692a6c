// What the memory consists of: the middle of the first screen.
//
//                            training          inference
//   parameters             97.5 MiB    2 %     97.5 MiB
//   ...
//   alive at the peak    5592.7 MiB           830.5 MiB   exact sizes, each storage once
//   allocated            5688.8 MiB           867.3 MiB   torch.cuda.max_memory_allocated()
#include <algorithm>
#include <array>

#include "absl/strings/str_format.h"
#include "analyzer/graph/bytes.h"
#include "report/analyze/answer.h"
#include "report/analyze/range.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/text/part_columns.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

struct CategoryLabel {
  Category category;
  std::string_view label;
  Paint paint;
};

// In the order in which a reader adds them up.
constexpr auto kLabels = std::to_array<CategoryLabel>({
    {Category::kParameters, "parameters", Paint::kCyan},
    {Category::kGradients, "gradients", Paint::kCyan},
    {Category::kOptimizerState, "optimizer state", Paint::kCyan},
    {Category::kSavedActivations, "saved activations", Paint::kYellow},
    {Category::kTransientActivations, "transient activations", Paint::kYellow},
    {Category::kActivationGradients, "activation gradients", Paint::kYellow},
    {Category::kOptimizerTemporaries, "optimizer temporaries", Paint::kDim},
    {Category::kInputs, "inputs", Paint::kDim},
    {Category::kBuffers, "buffers", Paint::kDim},
    {Category::kWorkspace, "workspace", Paint::kDim},
    {Category::kUnshardedParameters, "unsharded parameters", Paint::kDim},
    {Category::kCommunication, "communication", Paint::kDim},
});

constexpr size_t kLabelWidth = 22;
constexpr size_t kSizeWidth = 13;
constexpr size_t kBarWidth = 28;

bool IsOfTorch(std::string_view allocator) { return allocator.empty() || allocator.starts_with("pytorch"); }

PartLine TotalLine(const RunSummary& run, std::string label, int64_t PeakFigures::*field, std::string rest) {
  PartLine line{.label = std::move(label), .rest = std::move(rest), .paint = Paint::kDim};
  if (run.training) line.training = (*run.training).*field;
  if (run.inference) line.inference = (*run.inference).*field;
  return line;
}

// True if what the file does not show moves the peak by more than the small things that no file shows.
bool HasWideInterval(const std::optional<PartSummary>& part) {
  constexpr int64_t kPercentOfEveryFile = 3;
  return part && part->peak_high_bytes - part->peak_low_bytes > part->peak_bytes / 100 * kPercentOfEveryFile;
}

// The same of what is allocated, and of what libraries take.
bool HasWideAllocation(const std::optional<PartSummary>& part) {
  return part && part->allocated_high_bytes - part->allocated_low_bytes > part->allocated_peak_bytes / 100;
}

std::string AllocatedEnds(const Report& report, const PartColumns& block) {
  const RunSummary& run = report.runs.front();
  if (!HasWideAllocation(run.training) && !HasWideAllocation(run.inference)) return "";
  const bool vary = SizesVary(report);
  return block.Text(TotalLine(run, "  low", &PeakFigures::allocated_low_bytes,
                              vary ? "in the first step of a process" : "by what the file leaves open")) +
         block.Text(TotalLine(run, "  high", &PeakFigures::allocated_high_bytes,
                              vary ? "with larger blocks of other steps" : "with what cuBLAS and cuDNN may take"));
}

int64_t Largest(const RunSummary& run, int64_t PeakFigures::*field) {
  return std::max(run.training ? (*run.training).*field : int64_t{0},
                  run.inference ? (*run.inference).*field : int64_t{0});
}

// What a session took, in its own words.
std::string SessionLines(const RunSummary& run, const SessionFigures& session, const PartColumns& block) {
  const auto line = [&](std::string label, int64_t bytes, std::string rest) {
    PartLine shown{.label = std::move(label), .rest = std::move(rest), .paint = Paint::kDim};
    if (run.inference) shown.inference = bytes;
    return block.Text(shown);
  };
  return line("weights", session.weight_bytes, "kept once, packed or as in the file") +
         line("arena", session.arena_bytes, "its regions, as its log of extensions adds up") +
         (run.inference->context_bytes > 0
              ? ""
              : line("  written to", session.touched_bytes, "what of it is resident: untouched pages cost nothing")) +
         line("  memory pattern", session.pattern_bytes, "one block for all activations from run 2 on");
}

// "optimizer state (adam)", where the column has room for the name.
std::string WithOptimizer(std::string label, const Report& report) {
  const std::string name = AssumptionNamed(report, "optimizer");
  if (name.empty()) return label;
  std::string whole = absl::StrFormat("%s (%s)", label, name);
  return whole.size() <= kLabelWidth ? whole : label;
}

std::string CategoryLines(const Report& report, const PartColumns& block, const Screen& screen) {
  const RunSummary& run = report.runs.front();
  const PartSummary& main = MainPart(run);
  std::string text;
  for (const CategoryLabel& row : kLabels) {
    const auto c = static_cast<size_t>(row.category);
    PartLine line{.label = std::string(row.label), .paint = row.paint};
    if (run.training) {
      line.training = run.training->breakdown[c];
      line.whole = run.training->peak_bytes;
    }
    if (run.inference) line.inference = run.inference->breakdown[c];
    if (line.training.value_or(0) == 0 && line.inference.value_or(0) == 0) continue;
    if (row.category == Category::kTransientActivations && !run.training) line.label = "activations";
    if (row.category == Category::kOptimizerState) line.label = WithOptimizer(line.label, report);
    const double share =
        main.peak_bytes > 0 ? static_cast<double>(main.breakdown[c]) / static_cast<double>(main.peak_bytes) : 0;
    line.rest = Bar(share, kBarWidth, screen.utf8);
    text += block.Text(line);
  }
  return text;
}

// What is allocated, and within it.
std::string AllocatedLines(const Report& report, const PartColumns& block) {
  const RunSummary& run = report.runs.front();
  const std::string allocator = AssumptionNamed(report, "allocator");
  const bool torch = IsOfTorch(allocator);
  std::string text = block.Text(TotalLine(run, "allocated", &PeakFigures::allocated_peak_bytes,
                                          torch                  ? "torch.cuda.max_memory_allocated()"
                                          : allocator == "exact" ? "without an allocator's rounding"
                                                                 : "with the allocator's rounding, and workspace"));
  if (torch) text += AllocatedEnds(report, block);
  if (torch && Largest(run, &PeakFigures::workspace_bytes) > 0) {
    text += block.Text(TotalLine(run, "(cuBLAS workspace)", &PeakFigures::workspace_bytes,
                                 "in allocated, by card and version of PyTorch"));
  }
  return text;
}

// What the device has for it.
std::string DeviceLines(const Report& report, const PartColumns& block) {
  const RunSummary& run = report.runs.front();
  const PartSummary& main = MainPart(run);
  const DeviceWords words = WordsOfDevice(report);
  const bool torch = IsOfTorch(AssumptionNamed(report, "allocator"));
  std::string text = block.Text(TotalLine(run, "reserved", &PeakFigures::reserved_peak_bytes,
                                          torch ? "torch.cuda.max_memory_reserved()" : "taken from the device"));
  if (main.context_bytes > 0) {
    text +=
        block.Text(TotalLine(run, run.rank.empty() ? "CUDA context" : "CUDA context, NCCL", &PeakFigures::context_bytes,
                             absl::StrFormat("%d to %d MiB, by card and version", main.context_low_bytes >> 20,
                                             main.context_high_bytes >> 20)));
  }
  text += block.Text(
      TotalLine(run, std::string(words.whole), &PeakFigures::device_bytes,
                main.context_bytes > 0 ? "nvidia-smi: reserved and the context" : std::string(words.shown_by)));
  if (main.session && main.context_bytes == 0) {
    text += block.Text(TotalLine(run, "  in use", &PeakFigures::device_low_bytes, "VmRSS after malloc_trim(0)"));
  }
  return text;
}

}  // namespace

std::string BreakdownText(const Report& report, const Screen& screen) {
  const RunSummary& run = report.runs.front();
  const PartColumns block(run, kLabelWidth, kSizeWidth, screen);
  std::string text = block.Header() + CategoryLines(report, block, screen) + block.Rule();
  text += block.Text(TotalLine(run, "alive at the peak", &PeakFigures::peak_bytes, "exact sizes, each storage once"));
  if (HasWideInterval(run.training) || HasWideInterval(run.inference)) {
    text += block.Text(TotalLine(run, "  at least", &PeakFigures::peak_low_bytes, "by what the file leaves open"));
    text += block.Text(TotalLine(run, "  at most", &PeakFigures::peak_high_bytes, "onnx-mem check says why"));
  }
  text += AllocatedLines(report, block);
  if (MainPart(run).session) text += SessionLines(run, *MainPart(run).session, block);
  text += DeviceLines(report, block);
  if (run.training && run.training->first_step_peak_bytes > run.training->peak_bytes) {
    text += block.Text(TotalLine(run, "(first step)", &PeakFigures::first_step_peak_bytes,
                                 "peaks higher: optimizer state appears in it"));
  }
  return text;
}

}  // namespace onnx_mem
