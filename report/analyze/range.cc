#include "report/analyze/range.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "analyzer/order/stable_sort.h"
#include "report/analyze/answer.h"

namespace onnx_mem {
namespace {

int64_t WidthOf(const RangeCause& cause) { return cause.less_bytes + cause.more_bytes; }

// Gives `to` what `from` has, but for `kept_bytes` of its high end.
void Divide(int64_t kept_bytes, RangeCause& from, RangeCause& to) {
  to.less_bytes = std::exchange(from.less_bytes, 0);
  to.more_bytes = std::max<int64_t>(0, from.more_bytes - kept_bytes);
  from.more_bytes -= to.more_bytes;
}

}  // namespace

bool SizesVary(const Report& report) {
  return !AssumptionNamed(report, "shortest").empty() || !AssumptionNamed(report, "varied").empty();
}

std::vector<RangeCause> RangeCauses(const Report& report, const PartSummary& part) {
  if (part.device_low_bytes >= part.device_high_bytes) return {};
  const bool session = AssumptionNamed(report, "for") == "onnxruntime";
  const bool nccl = !report.runs.empty() && !report.runs.front().rank.empty();
  RangeCause context{"cuda_context", nccl ? "the context with NCCL" : "the CUDA context",
                     session ? "nvidia-smi beside a running session"
                             : "nvidia-smi of a running process less torch.cuda.memory_reserved()"};
  if (part.context_bytes > 0) {
    context.less_bytes = part.context_bytes - part.context_low_bytes;
    context.more_bytes = part.context_high_bytes - part.context_bytes;
  }
  RangeCause file{"file", "what the file leaves open", "what onnx-mem check names, or a record of the run"};
  if (part.peak_high_bytes > 0) {
    file.less_bytes = part.peak_bytes - part.peak_low_bytes;
    file.more_bytes = part.peak_high_bytes - part.peak_bytes;
  }
  RangeCause gaps{"allocator", session ? "the arena's gaps" : "the allocator's gaps",
                  session ? "the session's log of extensions" : "torch.cuda.max_memory_reserved() of one step"};
  // What comes on top of all that was counted: of libraries on a card, of the loader in a process.
  RangeCause above{
      "workspace", "library workspace",
      session ? "nvidia-smi beside a running session" : "a snapshot of a step: onnx-mem compare MODEL snapshot.pickle"};
  if (part.context_bytes == 0) {  // a process
    gaps = {"heap", "pages that the heap keeps", "VmRSS after malloc_trim(0)"};
    above = {"loading", "what loading takes for a time", "VmHWM"};
  }
  above.less_bytes = part.allocated_peak_bytes - part.allocated_low_bytes - file.less_bytes;
  gaps.less_bytes = part.device_bytes - part.device_low_bytes - context.less_bytes - file.less_bytes - above.less_bytes;
  above.more_bytes = part.device_high_bytes - part.device_bytes - context.more_bytes - file.more_bytes;
  RangeCause varied{"varied_sizes", "what varying sizes change", "torch.cuda.max_memory_reserved() of the whole run"};
  if (SizesVary(report)) {
    // What blocks that are not cut add to `allocated` is a few MiB where the other sizes are known, and stays with the
    // libraries'.
    const bool known = !AssumptionNamed(report, "shortest").empty();
    Divide(known ? part.allocated_high_bytes - part.allocated_peak_bytes - file.more_bytes : 0, above, varied);
  }
  std::vector<RangeCause> causes = {context, file, gaps, above, varied};
  std::erase_if(causes, [](const RangeCause& cause) { return cause.less_bytes == 0 && cause.more_bytes == 0; });
  StableSort(causes, [](const RangeCause& a, const RangeCause& b) { return WidthOf(a) > WidthOf(b); });
  return causes;
}

std::string RangeWords(const Report& report, const PartSummary& part) {
  const std::vector<RangeCause> causes = RangeCauses(report, part);
  if (causes.empty()) return "";
  constexpr int64_t kWorthAWord = 4;  // a cause of less than one part in so many of the range is not named
  const int64_t width = part.device_high_bytes - part.device_low_bytes;
  std::string words =
      absl::StrFormat("low and high, %sby %s", causes.size() > 1 ? "mostly " : "", causes.front().words);
  if (causes.size() > 1 && WidthOf(causes[1]) * kWorthAWord > width) {
    absl::StrAppendFormat(&words, " and %s", causes[1].words);
  }
  return words;
}

Table RangeTable(const Report& report) {
  Table table{"range",
              "How sure the figures are",
              {{"part", "of"},
               {"cause", "cause", ColumnKind::kWord},
               {"less_bytes", "low: less by", ColumnKind::kBytes},
               {"more_bytes", "high: more by", ColumnKind::kBytes},
               {"settled_by", "what settles it"}},
              {},
              3};
  table.has_total = false;
  if (report.runs.size() != 1) return table;
  const RunSummary& run = report.runs.front();
  for (const auto& [name, of, part] : kPartsOfRun) {
    if (!(run.*part)) continue;
    for (const RangeCause& cause : RangeCauses(report, *(run.*part))) {
      table.rows.push_back(
          {std::string(name), std::string(cause.key), cause.less_bytes, cause.more_bytes, std::string(cause.known_by)});
    }
  }
  return table;
}

}  // namespace onnx_mem
