// What the diagnostics of an analysis move, measured against the run without what they tell of.
#include <array>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "analyzer/assume/table/assumptions.h"
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
  return Effect{*more,
                absl::StrCat(Size(*more), " of the ", checked.peak_name, " are theirs (--bn as-is leaves them out)")};
}

// Of buffers that an operator without a rule made.
std::optional<Effect> AssumedBuffers(const CheckedExport& checked) {
  if (checked.analysis.training() == nullptr) return std::nullopt;
  const RunFigures& figures = *checked.analysis.training();
  int64_t bytes = 0;
  for (const Buffer& buffer : figures.program->buffers) {
    const bool alive = buffer.begin <= figures.timeline.peak_step && figures.timeline.peak_step < buffer.end;
    if (buffer.assumed && alive) bytes += buffer.bytes;
  }
  return Effect{bytes, absl::StrCat(Size(bytes), " of the ", checked.peak_name, " come from them and are assumed")};
}

constexpr auto kEffectRows = std::to_array<EffectRow>({
    {Code::kBnFolded, FoldedBatchNorms},
    {Code::kAssumedOp, AssumedBuffers},
    {Code::kCustomOp, AssumedBuffers},
});

}  // namespace

absl::Span<const EffectRow> EffectRows() { return kEffectRows; }

std::optional<Effect> EffectOfAssumption(const CheckedExport& checked, Code code) {
  const Assumption* row = FindAssumption(code);
  if (row == nullptr || row->alternatives.empty() || row->alternatives.front().run == nullptr) return std::nullopt;
  const Alternative& other_way = row->alternatives.front();
  Workload other = checked.workload;
  other_way.run(other.run);
  const std::optional<int64_t> less = MoreThan(checked, other);
  if (!less) return std::nullopt;
  const std::string words(other_way.words);
  return Effect{std::abs(*less), absl::StrCat(words, " the ", checked.peak_name, " is ", Size(std::abs(*less)),
                                              *less > 0 ? " less" : " more")};
}

std::optional<Effect> EffectOfRewrite(const CheckedExport& checked, const std::string& rewrite) {
  Workload other = checked.workload;
  other.run.disabled_rewrites.emplace_back(rewrite);
  const std::optional<int64_t> change = MoreThan(checked, other);
  if (!change) return std::nullopt;
  const std::string other_peak =
      *change == 0 ? "the same" : absl::StrCat(Size(std::abs(*change)), *change > 0 ? " less" : " more");
  return Effect{*change,
                absl::StrCat("without it (--no-rewrite ", rewrite, ") the ", checked.peak_name, " is ", other_peak)};
}

}  // namespace onnx_mem
