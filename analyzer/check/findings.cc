#include "analyzer/check/findings.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/check/rules.h"
#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

std::optional<Effect> EffectOf(const CheckedExport& checked, const Diagnostic& reported) {
  if (reported.code == Code::kRewrite) return EffectOfRewrite(checked, reported.rewrite);
  for (const EffectRow& row : EffectRows()) {
    if (row.code == reported.code) return row.measure(checked);
  }
  return EffectOfAssumption(checked, reported.code);
}

}  // namespace

std::optional<int64_t> PeakWith(const CheckedExport& checked, const Workload& workload) {
  Workload alone = workload;
  alone.mode = checked.analysis.training() ? Mode::kTraining : Mode::kInference;
  const absl::StatusOr<int64_t> peak = checked.study.PeakBytes(alone);
  return peak.ok() ? std::optional(*peak) : std::nullopt;
}

std::vector<Diagnostic> CheckExport(Study& study, const Workload& workload, const Analysis& analysis) {
  CheckedExport checked{study, workload, analysis};
  if (const RunFigures* figures = MainFigures(analysis)) checked.peak_bytes = figures->peak_bytes;
  checked.peak_name = absl::StrCat(analysis.training() ? "training" : "inference", " peak at batch ", analysis.batch);
  std::vector<Diagnostic> findings = analysis.diagnostics;
  findings.insert(findings.end(), analysis.plain_rewrites.begin(), analysis.plain_rewrites.end());
  for (Diagnostic& finding : findings) {
    if (finding.bytes) continue;
    std::optional<Effect> effect = EffectOf(checked, finding);
    if (!effect) continue;
    finding.bytes = effect->bytes;
    finding.details.insert(finding.details.begin(), "effect: " + std::move(effect->text));
  }
  for (const FindingRow& row : FindingRows()) {
    if (std::optional<Diagnostic> finding = row.find(checked)) findings.push_back(*std::move(finding));
  }
  StableSort(findings, [](const Diagnostic& a, const Diagnostic& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    return std::abs(a.bytes.value_or(0)) > std::abs(b.bytes.value_or(0));
  });
  return findings;
}

}  // namespace onnx_mem
