#include "analyzer/analysis/training_bounds.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/bytes.h"

namespace onnx_mem {
namespace {

constexpr double kUsualProbability = 0.1;

void DropNothing(Run& run) { run.dropout = 0.0; }
void DropAtUsualPlaces(Run& run) { run.dropout = kUsualProbability; }
void DropEverywhere(Run& run) {
  run.dropout = kUsualProbability;
  run.dropout_everywhere = true;
}
void Share(Run& run) { run.tied = TiedMode::kYes; }
void WriteNothingOver(Run& run) { run.inplace = "none"; }
void WriteOverAll(Run& run) { run.inplace = "all"; }
void SpellOutSilu(Run& run) { run.disabled_rewrites.emplace_back("silu"); }
void SpellOutHardswish(Run& run) { run.disabled_rewrites.emplace_back("hardswish"); }
void SpellOutMish(Run& run) { run.disabled_rewrites.emplace_back("mish"); }
void SpellOutGlu(Run& run) { run.disabled_rewrites.emplace_back("glu"); }
void SpellOutFunctions(Run& run) { run.disabled_rewrites.emplace_back("custom-function"); }
void KeepNothingInFunctions(Run& run) { run.disabled_rewrites.emplace_back("function-inputs"); }
void UnfoldAll(Run& run) { run.batch_norm = BatchNormMode::kUnfold; }
void FreezeScales(Run& run) { run.freeze_scales = true; }
void KeepApart(Run& run) { run.tied = TiedMode::kNo; }

struct Alternative {
  std::string_view code;  // of the diagnostic that tells what was lost
  void (*apply)(Run& run);
  std::string_view name;
  bool usual = true;  // as likely as what was taken, rather than the most that may be
};

constexpr auto kAlternatives = std::to_array<Alternative>({
    {"dropout-assumed", DropNothing, "with --dropout file"},
    {"dropout-assumed", DropEverywhere, "with one behind every activation as well", false},
    {"eval-dropout", DropAtUsualPlaces, "with --dropout 0.1"},
    {"eval-dropout", DropEverywhere, "with one behind every activation as well", false},
    {"tied-weights", KeepApart, "with --tied no"},
    {"maybe-tied", Share, "with --tied yes"},
    {"bn-undecided", UnfoldAll, "with --bn unfold"},
    {"trained-undecided", FreezeScales, "with these frozen", false},
    {"inplace-assumed", WriteNothingOver, "with --inplace none"},
    {"inplace-possible", WriteOverAll, "with --inplace all"},
    {"silu-assumed", SpellOutSilu, "with --no-rewrite silu", false},
    {"hardswish-assumed", SpellOutHardswish, "with --no-rewrite hardswish", false},
    {"mish-assumed", SpellOutMish, "with --no-rewrite mish", false},
    {"glu-assumed", SpellOutGlu, "with --no-rewrite glu", false},
    {"custom-function", SpellOutFunctions, "with --no-rewrite custom-function"},
    {"custom-function", KeepNothingInFunctions, "with --no-rewrite function-inputs", false},
});

struct Measured {
  const Alternative* alternative;
  int64_t peak_bytes;
};

bool MovesMuch(int64_t other_bytes, int64_t peak_bytes) {
  constexpr int64_t kOnePartIn = 100;
  return std::abs(other_bytes - peak_bytes) > peak_bytes / kOnePartIn;
}

// What each alternative to what `d` tells gives; those that change nothing are left out.
absl::StatusOr<std::vector<Measured>> MeasureOthers(const Run& asked, int64_t peak_bytes, PeakOfRun peak_of,
                                                    const Diagnostic& d) {
  std::vector<Measured> measured;
  for (const Alternative& alternative : kAlternatives) {
    if (alternative.code != d.code) continue;
    Run run = asked;
    alternative.apply(run);
    ASSIGN_OR_RETURN(const int64_t other, peak_of(run));
    if (other != peak_bytes) measured.push_back({&alternative, other});
  }
  return measured;
}

// Peak of the run with all alternatives that lead down, or up, taken together.
absl::StatusOr<int64_t> PeakOfAll(Run run, PeakOfRun peak_of, const std::vector<Measured>& towards) {
  for (const Measured& one : towards) one.alternative->apply(run);
  return peak_of(run);
}

}  // namespace

absl::StatusOr<PeakBounds> BoundTraining(const Run& run, int64_t peak_bytes, PeakOfRun peak_of,
                                         std::vector<Diagnostic>& diagnostics) {
  PeakBounds bounds{peak_bytes, peak_bytes};
  std::vector<Measured> down, up;
  for (Diagnostic& d : diagnostics) {
    ASSIGN_OR_RETURN(const std::vector<Measured> others, MeasureOthers(run, peak_bytes, peak_of, d));
    if (others.empty()) continue;
    d.details.push_back(absl::StrCat("range: the training peak is ",
                                     absl::StrJoin(others, ", ",
                                                   [](std::string* out, const Measured& m) {
                                                     absl::StrAppend(out, FormatBytes(m.peak_bytes), " ",
                                                                     std::string(m.alternative->name));
                                                   }),
                                     " instead of ", FormatBytes(peak_bytes)));
    for (const Measured& other : others) {
      if (other.alternative->usual && MovesMuch(other.peak_bytes, peak_bytes)) d.severity = Severity::kWarning;
      bounds.low_bytes = std::min(bounds.low_bytes, other.peak_bytes);
      bounds.high_bytes = std::max(bounds.high_bytes, other.peak_bytes);
      (other.peak_bytes < peak_bytes ? down : up).push_back(other);
    }
  }
  if (down.size() > 1) {
    ASSIGN_OR_RETURN(const int64_t all, PeakOfAll(run, peak_of, down));
    bounds.low_bytes = std::min(bounds.low_bytes, all);
  }
  if (up.size() > 1) {
    ASSIGN_OR_RETURN(const int64_t all, PeakOfAll(run, peak_of, up));
    bounds.high_bytes = std::max(bounds.high_bytes, all);
  }
  return bounds;
}

}  // namespace onnx_mem
