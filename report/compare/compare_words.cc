// A comparison in words, the same in every form for people.
#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/analyze/answer.h"
#include "report/compare/compare_forms.h"
#include "report/parts/figures.h"

namespace onnx_mem {
namespace {

std::string GroupsText(const std::vector<OperatorGroup>& groups, ByteUnit units) {
  constexpr size_t kMost = 6;
  std::vector<std::string> parts;
  int64_t bytes = 0;
  for (const OperatorGroup& group : groups) {
    if (parts.size() < kMost) parts.push_back(absl::StrFormat("%d %s", group.count, group.op));
    bytes += group.bytes;
  }
  if (groups.size() > kMost) parts.push_back(absl::StrFormat("%d more kinds", groups.size() - kMost));
  return absl::StrFormat("%s (%s)", absl::StrJoin(parts, ", "), FormatBytesIn(bytes, units));
}

std::string PartInWords(std::string_view name, const PartSummary& base, const PartSummary& head, ByteUnit units) {
  const int64_t delta = head.device_bytes - base.device_bytes;
  const std::string need = absl::StrFormat("%s needs %s on the GPU", name, FormatBytesIn(head.device_bytes, units));
  if (delta == 0) return need + " as before";
  return absl::StrFormat("%s, %s (%s)", need, FormatSignedBytes(delta, units),
                         SignedPercent(base.device_bytes, head.device_bytes));
}

}  // namespace

std::string_view NameOf(Presence presence) {
  switch (presence) {
    case Presence::kBoth: return "both";
    case Presence::kNew: return "new";
    case Presence::kGone: return "deleted";
  }
  return "";
}

std::string_view TagOf(Presence presence) {
  return presence == Presence::kNew ? "[NEW] " : presence == Presence::kGone ? "[DEL] " : "";
}

std::string_view AmpName(const ComparedReports& comparison) {
  return comparison.amp_dtype == DType::kBFloat16 ? "bf16" : "fp16";
}

std::string SignedSize(int64_t delta_bytes, ByteUnit unit) {
  if (delta_bytes == 0) return "-";
  return (delta_bytes < 0 ? "-" : "+") + SizeIn(std::llabs(delta_bytes), unit);
}

std::string SignedPercent(int64_t base, int64_t head) {
  if (base == head) return "";
  if (base == 0) return "new";
  if (head == 0) return "gone";
  const double percent = 100.0 * (static_cast<double>(head) - static_cast<double>(base)) / static_cast<double>(base);
  if (std::abs(percent) < 0.05) return percent < 0 ? "-0.0 %" : "+0.0 %";
  return absl::StrFormat("%+.1f %%", percent);
}

std::string ChangeInWords(const ComparedReports& comparison, size_t head, const Screen& screen) {
  const std::vector<std::string> names = SideNames(comparison);
  const RunSummary& before = comparison.base.run();
  const RunSummary& after = comparison.heads[head].run();
  std::vector<std::string> parts;
  for (const auto& [name, of, part] : kPartsOfRun) {
    if (before.*part && after.*part) parts.push_back(PartInWords(name, *(before.*part), *(after.*part), screen.units));
  }
  const bool one_model = comparison.heads[head].report.model.path == comparison.base.report.model.path;
  const std::string of = one_model ? absl::StrCat(BaseName(comparison.base.report.model.path), ", ") : "";
  return absl::StrFormat("%s%s against %s: %s", of, names[head + 1], names[0], absl::StrJoin(parts, "; "));
}

std::vector<std::string> GateInWords(const ComparedReports& comparison, const Screen& screen) {
  if (!comparison.gate) return {};
  const Gate& gate = *comparison.gate;
  if (gate.exceeded.empty()) {
    return {absl::StrFormat("OK: no peak, and nothing on the GPU, grew by more than %g %%", gate.most_percent)};
  }
  const std::vector<std::string> names = SideNames(comparison);
  std::vector<std::string> lines;
  for (const Excess& excess : gate.exceeded) {
    const std::string of = comparison.heads.size() > 1 ? absl::StrCat(names[excess.head + 1], ": ") : "";
    lines.push_back(absl::StrFormat("TOO MUCH: %s%s %s, %s to %s; %g %% allowed", of, excess.figure,
                                    SignedPercent(excess.base_bytes, excess.head_bytes),
                                    FormatBytesIn(excess.base_bytes, screen.units),
                                    FormatBytesIn(excess.head_bytes, screen.units), gate.most_percent));
  }
  return lines;
}

std::vector<std::string> HeldInWords(const ComparedReports& comparison, const Screen& screen) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < comparison.limits.size(); ++i) {
    lines.push_back(absl::StrFormat("%s %s %s", comparison.heads.size() == 1 ? "The head" : "Every head",
                                    WordsOf(VerdictOfHeads(comparison, i)),
                                    LimitText(comparison.limits[i], screen.units)));
  }
  return lines;
}

std::vector<std::string> PrecisionInWords(const ComparedReports& comparison, const Screen& screen) {
  const std::vector<std::string> names = SideNames(comparison);
  std::vector<std::string> lines;
  for (size_t h = 0; h < comparison.heads.size(); ++h) {
    const std::optional<HalfPrecision>& half = comparison.heads[h].half;
    if (!half) continue;
    const std::string of = comparison.heads.size() > 1 ? absl::StrCat(names[h + 1], ": ") : "";
    if (!half->kept_fp32.empty()) {
      lines.push_back(absl::StrCat(of, "Kept in fp32 by the exporter: ", GroupsText(half->kept_fp32, screen.units)));
    }
    if (half->fp32_weights > 0) {
      lines.push_back(absl::StrFormat("%sWeights kept in fp32: %d (%s)", of, half->fp32_weights,
                                      FormatBytesIn(half->fp32_weight_bytes, screen.units)));
    }
    if (const auto& casts = comparison.changes[h].casts_added; !casts.empty()) {
      lines.push_back(absl::StrCat(of, "Casts added: ", GroupsText(casts, screen.units)));
    }
  }
  if (comparison.base_amp && comparison.base_amp->training) {
    const PartSummary& amp = *comparison.base_amp->training;
    const int64_t state = amp.breakdown[static_cast<size_t>(Category::kParameters)] +
                          amp.breakdown[static_cast<size_t>(Category::kOptimizerState)];
    lines.push_back(absl::StrFormat(
        "A %s export trains in %s throughout; mixed precision keeps fp32 weights and optimizer state (%s): base with "
        "--amp %s needs %s to train",
        NameOf(comparison.amp_dtype), NameOf(comparison.amp_dtype), FormatBytesIn(state, screen.units),
        AmpName(comparison), FormatBytesIn(amp.device_bytes, screen.units)));
  }
  return lines;
}

}  // namespace onnx_mem
