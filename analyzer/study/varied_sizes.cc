// What a study knows of steps whose sizes vary.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/build/recorded.h"
#include "analyzer/runtimes/runtime.h"
#include "analyzer/study/axis.h"
#include "analyzer/study/study.h"
#include "analyzer/study/varied_steps.h"

namespace onnx_mem {
namespace {

// Sizes that are tried, the longest among them: so many lie close enough that more of them change little.
constexpr int64_t kSizes = 16;

struct VariedAxis {
  Axis axis;
  SizeGrid grid;
  int64_t shortest = 0, longest = 0;  // numbers on the grid

  // The size at `part` of kSizes - 1 on the way from the shortest to the longest.
  int64_t At(int64_t part) const { return grid.At(shortest + (longest - shortest) * part / (kSizes - 1)); }
};

absl::StatusOr<VariedAxis> AxisOf(const std::string& name, int64_t shortest, const Bindings& bindings,
                                  const ImportedModel& model) {
  VariedAxis varied{.axis = AxisNamed(name), .grid = {}};
  RETURN_IF_ERROR(CheckAxis(varied.axis, "--shortest", model));
  varied.grid = GridAlong(varied.axis, model);
  const int64_t longest = SizeAlong(varied.axis, bindings, model);
  if (shortest > longest) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                       absl::StrCat("--shortest ", name, "=", shortest, ": the longest is ", longest),
                       {absl::StrCat("try: ... --shortest ", name, "=", std::max<int64_t>(longest / 2, 1))});
  }
  varied.longest = varied.grid.NumberOf(longest);
  varied.shortest = std::min(varied.longest, std::max<int64_t>(1, varied.grid.NumberOf(shortest)));
  return varied;
}

Diagnostic NoteOf(const Workload& workload, const VariedPeaks& peaks, int64_t longest_bytes) {
  const std::string run = workload.run.training ? "training" : "inference";
  return {.code = Code::kVariedSizes,
          .message =
              absl::StrCat(run, ": with steps in random order PyTorch reserves ",
                           FormatBytes(peaks.middle_reserved_bytes), ", up to ", FormatBytes(peaks.high_reserved_bytes),
                           "; for the longest alone ", FormatBytes(longest_bytes)),
          .details = {"why: a cached block that is too small for a longer step stays beside the new one",
                      "on a card without that room PyTorch gives cached blocks back, which costs time",
                      "way out: PYTORCH_ALLOC_CONF=expandable_segments:True, or the longest step first"},
          .bytes = peaks.high_reserved_bytes - longest_bytes};
}

Diagnostic NoteOfUnknown(const Workload& workload) {
  const std::string run = workload.run.training ? "training" : "inference";
  return {.code = Code::kVariedSizes,
          .message = absl::StrCat(run,
                                  ": the range holds what is allocated; what PyTorch keeps of steps of other sizes "
                                  "may be reserved beyond it"),
          .details = {"why: a cached block that is too small for a longer step stays beside the new one",
                      "what tells it: --shortest NAME=N in place of --varied"}};
}

// What is allocated is reserved.
void LowerTo(int64_t allocated_bytes, PeakFigures& figures) {
  figures.allocated_low_bytes = std::min(figures.allocated_low_bytes, allocated_bytes);
  figures.device_low_bytes = std::min(figures.device_low_bytes, allocated_bytes + figures.context_low_bytes);
}

void RaiseTo(int64_t allocated_bytes, PeakFigures& figures) {
  figures.allocated_high_bytes = std::max(figures.allocated_high_bytes, allocated_bytes);
  figures.device_high_bytes = std::max(figures.device_high_bytes, allocated_bytes + figures.context_high_bytes);
}

}  // namespace

absl::StatusOr<std::vector<Workload>> Study::Varied(const Workload& workload) {
  if (!RuntimeOf(workload).eager) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                       "sizes that vary: what onnxruntime's arena keeps of shorter runs is not modelled",
                       {"try: ... --for pytorch   # or without --shortest"});
  }
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, Import(workload.bindings));
  std::vector<VariedAxis> axes;
  for (const auto& [name, shortest] : workload.shortest) {
    ASSIGN_OR_RETURN(axes.emplace_back(), AxisOf(name, shortest, workload.bindings, *model));
  }
  std::vector<Workload> workloads;
  for (int64_t part = 0; part < kSizes; ++part) {
    Workload one = workload;
    one.shortest.clear();
    for (const VariedAxis& varied : axes) {
      const int64_t before = SizeAlong(varied.axis, workload.bindings, *model);
      one.bindings = WithSize(varied.axis, std::move(one.bindings), *model, before, varied.At(part));
    }
    if (workloads.empty() || workloads.back().bindings != one.bindings) workloads.push_back(std::move(one));
  }
  return workloads;
}

absl::StatusOr<std::vector<LocalStep>> Study::StepsOf(const std::vector<Workload>& workloads) {
  std::vector<LocalStep> steps;
  for (const Workload& one : workloads) {
    if (one.run.training) {
      ASSIGN_OR_RETURN(const Shared<LocalStep> step, Local(one));
      steps.push_back(*step);
    } else {
      ASSIGN_OR_RETURN(const Shared<Enacted> enacted, Enact(one));
      steps.push_back({.program = {enacted, &enacted->program}, .trained = {}});
    }
  }
  return steps;
}

absl::Status Study::WidenByVaried(const Workload& workload, std::vector<Diagnostic>& diagnostics,
                                  PeakFigures& figures) {
  if (workload.shortest.empty() && !workload.varied) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<Workload> workloads, Varied(workload));
  ASSIGN_OR_RETURN(const std::vector<LocalStep> steps, StepsOf(workloads));
  LowerTo(LowestOfVaried(steps.back(), workload.varied ? nullptr : &steps.front(), workload), figures);
  if (workload.varied) {
    ASSIGN_OR_RETURN(const int64_t highest, HighestOfVaried(steps.back(), workload));
    RaiseTo(highest, figures);
    diagnostics.push_back(NoteOfUnknown(workload));
  }
  if (workload.shortest.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const VariedPeaks peaks, PeaksOfVaried(steps, workload));
  RaiseTo(peaks.high_allocated_bytes, figures);
  if (peaks.high_reserved_bytes + figures.context_high_bytes <= figures.device_high_bytes) return absl::OkStatus();
  figures.device_high_bytes = peaks.high_reserved_bytes + figures.context_high_bytes;
  diagnostics.push_back(NoteOf(workload, peaks, figures.reserved_peak_bytes));
  return absl::OkStatus();
}

}  // namespace onnx_mem
