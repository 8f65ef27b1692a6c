#include "analyzer/parallel/rank_note.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/parallel/fsdp_units.h"
#include "analyzer/parallel/schedules.h"
#include "analyzer/parallel/step_facts.h"
#include "analyzer/parallel/traffic.h"

namespace onnx_mem {
namespace {

std::string UnitsText(const std::vector<FsdpUnit>& units) {
  if (units.size() == 1) return "the root alone is a unit: all parameters are gathered at once";
  const std::string first = absl::StrCat("units: ", units[1].module);
  if (units.size() == 2) return absl::StrCat(first, " and the root");
  return absl::StrCat(first, " to ", units.back().module, " (", units.size() - 1, ") and the root");
}

std::string PeaksText(const LocalStep& step, const RankLayout& layout) {
  return absl::StrCat("bytes alive at the peak, by rank", RanksOfStage(layout) > 1 ? " of the pipeline: " : ": ",
                      absl::StrJoin(step.peaks, ", ", [](std::string* out, const RankPeak& peak) {
                        absl::StrAppend(out, FormatBytes(peak.bytes));
                      }));
}

// All ranks need the same.
bool AreAlike(const RankLayout& layout) {
  return !IsPipeline(layout) && (layout.data == DataParallel::kNone || layout.data == DataParallel::kDdp);
}

std::string DataTextOf(const RankLayout& layout) {
  const std::string units = layout.units.empty() ? "" : absl::StrCat(":", layout.units);
  switch (layout.data) {
    case DataParallel::kNone: break;
    case DataParallel::kDdp: return absl::StrCat("ddp ", layout.ranks);
    case DataParallel::kZero1: return absl::StrCat("zero1 ", layout.ranks);
    case DataParallel::kFsdp:
      return layout.replicas == 1 ? absl::StrCat("fsdp ", layout.ranks, units)
                                  : absl::StrCat("hsdp ", layout.replicas, "x", layout.ranks, units);
  }
  return "";
}

}  // namespace

std::string RankText(const LocalStep& step, const RankLayout& layout) {
  const int64_t ranks = WorldOf(layout);
  if (AreAlike(layout)) return absl::StrCat("each of ", ranks, " ranks");
  const std::string others = step.peaks.empty() ? "" : absl::StrCat("; ", PeaksText(step, layout));
  return absl::StrCat("rank ", step.rank, " of ", ranks, layout.rank ? "" : ", which needs most", others);
}

std::string RankName(int64_t rank, const RankLayout& layout) {
  const PipelineLayout& pipeline = layout.pipeline;
  if (!IsPipeline(layout)) return absl::StrCat("rank ", rank, " of ", WorldOf(layout));
  std::vector<std::string> stages;
  for (int64_t s = StageRankOf(layout, rank); s < StagesOf(pipeline); s += pipeline.ranks)
    stages.push_back(absl::StrCat(s));
  return absl::StrCat("rank ", rank, ": stage", stages.size() == 1 ? " " : "s ", absl::StrJoin(stages, ", "), " of ",
                      StagesOf(pipeline));
}

absl::StatusOr<Diagnostic> RankNote(const Enacted& enacted, const LocalStep& step, const RankLayout& layout) {
  Diagnostic note{.code = Code::kOneRank, .severity = Severity::kNote, .count = 1};
  note.message = absl::StrCat("figures are of ", RankText(step, layout));
  if (const Overhead nccl = CommunicatorBuffers(layout); nccl.high_bytes > 0) {
    absl::StrAppend(&note.message, "; with NCCL's buffers, outside of the allocator: ", FormatBytes(nccl.low_bytes),
                    " to ", FormatBytes(nccl.high_bytes), " by its source");
  }
  if (layout.data == DataParallel::kFsdp) {
    ASSIGN_OR_RETURN(const std::vector<FsdpUnit> units, UnitsOf(FactsOf(enacted), layout));
    note.details.push_back(UnitsText(units));
  }
  note.details.push_back("why: they follow PyTorch's code on tensors without data; no card has confirmed them");
  return note;
}

std::pair<std::string, std::string> RanksFlag(RankAxis axis, const RankLayout& layout) {
  if (axis == RankAxis::kTensor) return {"--tp", absl::StrCat(layout.tensor.ranks)};
  if (axis == RankAxis::kPipeline) return {"--pipeline", absl::StrCat(layout.pipeline.ranks)};
  const std::string text = DataTextOf(layout);
  return {absl::StrCat("--", text.substr(0, text.find(' '))), text.substr(text.find(' ') + 1)};
}

std::string TextOf(const RankLayout& layout) {
  if (IsPipeline(layout)) {
    return absl::StrCat("pipeline ", layout.pipeline.ranks, " --micro-batches ", MicroBatchesOf(layout.pipeline),
                        " --schedule ", std::string(NameOf(layout.pipeline.schedule)));
  }
  const std::string data = DataTextOf(layout);
  if (!IsTensorParallel(layout)) return data;
  return absl::StrCat(data, data.empty() ? "tp " : " --tp ", layout.tensor.ranks);
}

}  // namespace onnx_mem
