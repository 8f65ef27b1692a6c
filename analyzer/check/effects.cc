// What the diagnostics of an analysis move, measured against the run without what they tell of.
#include <array>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "analyzer/check/rules.h"
#include "analyzer/graph/bytes.h"

namespace onnx_mem {
namespace {

std::string Size(int64_t bytes) { return FormatBytes(bytes); }

// The peak as it is less the peak of `other`.
std::optional<int64_t> MoreThan(const CheckedExport& checked, const Workload& other) {
  const std::optional<int64_t> peak = PeakWith(checked, other);
  return peak ? std::optional(checked.peak_bytes - *peak) : std::nullopt;
}

std::optional<Effect> FoldedBatchNorms(const CheckedExport& checked) {
  Workload other = checked.workload;
  other.run.batch_norm = BatchNormMode::kAsIs;
  const std::optional<int64_t> more = MoreThan(checked, other);
  if (!more) return std::nullopt;
  return Effect{
      *more, absl::StrCat(Size(*more), " of the ", checked.peak_name, " are theirs (--bn as-is leaves them out)")};
}

std::optional<Effect> MissingDropout(const CheckedExport& checked) {
  constexpr double kUsual = 0.1;
  Workload other = checked.workload;
  other.run.dropout = kUsual;
  const std::optional<int64_t> more = MoreThan(checked, other);
  if (!more) return std::nullopt;
  return Effect{-*more, absl::StrCat("with --dropout 0.1 the ", checked.peak_name, " is ", Size(-*more), " more")};
}

std::optional<Effect> AssumedDropout(const CheckedExport& checked) {
  Workload other = checked.workload;
  other.run.dropout = 0.0;
  const std::optional<int64_t> more = MoreThan(checked, other);
  if (!more) return std::nullopt;
  return Effect{*more,
                absl::StrCat("without (--dropout file) the ", checked.peak_name, " is ", Size(*more), " less")};
}

// Of buffers that an operator without a rule made.
std::optional<Effect> AssumedBuffers(const CheckedExport& checked) {
  if (!checked.analysis.training) return std::nullopt;
  const RunFigures& figures = *checked.analysis.training;
  int64_t bytes = 0;
  for (const Buffer& buffer : figures.program.buffers) {
    const bool alive = buffer.begin <= figures.timeline.peak_step && figures.timeline.peak_step < buffer.end;
    if (buffer.assumed && alive) bytes += buffer.bytes;
  }
  return Effect{bytes, absl::StrCat(Size(bytes), " of the ", checked.peak_name, " come from them and are assumed")};
}

std::optional<Effect> TiedWeights(const CheckedExport& checked) {
  Workload other = checked.workload;
  other.run.tied = TiedMode::kNo;
  const std::optional<int64_t> more = MoreThan(checked, other);
  if (!more) return std::nullopt;
  return Effect{-*more, absl::StrCat("as weights of their own (--tied no) the ", checked.peak_name, " is ",
                                     Size(-*more), " more")};
}

std::optional<Effect> UntiedWeights(const CheckedExport& checked) {
  Workload other = checked.workload;
  other.run.tied = TiedMode::kYes;
  const std::optional<int64_t> more = MoreThan(checked, other);
  if (!more) return std::nullopt;
  return Effect{*more, absl::StrCat("shared (--tied yes) the ", checked.peak_name, " is ", Size(*more), " less")};
}

constexpr auto kEffectRows = std::to_array<EffectRow>({
    {"bn-folded", FoldedBatchNorms},
    {"eval-dropout", MissingDropout},
    {"dropout-assumed", AssumedDropout},
    {"assumed-op", AssumedBuffers},
    {"custom-op", AssumedBuffers},
    {"tied-weights", TiedWeights},
    {"maybe-tied", UntiedWeights},
});

}  // namespace

absl::Span<const EffectRow> EffectRows() { return kEffectRows; }

std::optional<Effect> EffectOfRewrite(const CheckedExport& checked, std::string_view code) {
  absl::string_view name(code.data(), code.size());
  if (!absl::ConsumePrefix(&name, "rewrite-") || name == "dropout") return std::nullopt;
  Workload other = checked.workload;
  other.run.disabled_rewrites.emplace_back(name);
  const std::optional<int64_t> change = MoreThan(checked, other);
  if (!change) return std::nullopt;
  const std::string other_peak =
      *change == 0 ? "the same" : absl::StrCat(Size(std::abs(*change)), *change > 0 ? " less" : " more");
  return Effect{*change,
                absl::StrCat("without it (--no-rewrite ", name, ") the ", checked.peak_name, " is ", other_peak)};
}

}  // namespace onnx_mem
