// What a study knows of a training step over several cards.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/analysis/recorded_step.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/parallel/rank_note.h"
#include "analyzer/runtimes/figures.h"
#include "analyzer/study/study.h"

namespace onnx_mem {

absl::StatusOr<Bindings> Study::EnactedBindings(const Workload& workload) {
  Bindings bindings = workload.bindings;
  if (!IsPipeline(workload.layout)) return bindings;
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, Import(workload.bindings));
  const int64_t micro_batches = MicroBatchesOf(workload.layout.pipeline);
  const int64_t batch = bindings.batch.value_or(model->info.file_batch);
  if (batch % micro_batches != 0 || !bindings.inputs.empty()) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                       absl::StrCat("a step of batch ", batch, " has no ", micro_batches, " equal micro-batches"),
                       {absl::StrCat("try: ... -b ", micro_batches * ((batch + micro_batches - 1) / micro_batches),
                                     "   # the batch of the whole step, without --input")});
  }
  bindings.batch = batch / micro_batches;
  return bindings;
}

absl::StatusOr<Shared<LocalStep>> Study::Local(const Workload& workload) {
  ASSIGN_OR_RETURN(const Shared<ImportedModel> model, Import(workload.bindings));
  Workload key = WithTorchOf(model->info, workload);
  key.mode = Mode::kTraining;
  key.run.training = true;
  key.allocator.clear();
  key.platform = Platform();
  key.shortest.clear();
  key.varied = false;
  if (const auto* known = locals_.Find(key)) return *known;
  ASSIGN_OR_RETURN(const Shared<Enacted> enacted, Enact(key));
  if (IsRecordedStep(model->graph)) {
    return std::make_shared<const LocalStep>(LocalStep{{enacted, &enacted->program}, WholeParameters(*enacted)});
  }
  ASSIGN_OR_RETURN(const Bindings bindings, EnactedBindings(key));
  ASSIGN_OR_RETURN(const Shared<Lowered> lowered, Lower(bindings, EnactedRun(key.run, key.layout)));
  ASSIGN_OR_RETURN(LocalStep step, RankStep(*lowered, *enacted, key.run, key.layout, key.optimizer));
  if (step.program.get() == &enacted->program) step.program = {enacted, &enacted->program};
  return locals_.Keep(std::move(key), std::make_shared<const LocalStep>(std::move(step)));
}

absl::Status Study::AddRanks(const Workload& workload, Analysis& analysis) {
  constexpr size_t kMostDrawn = 16;
  const RankLayout& layout = workload.layout;
  const bool pipeline = IsPipeline(layout);
  if (workload.mode != Mode::kTraining || layout.rank || (!IsSharded(layout) && !pipeline)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Shared<LocalStep> worst, Local(workload));
  analysis.ranks.push_back({worst->rank, RankName(worst->rank, layout) + ", which needs most", nullptr});
  std::vector<int64_t> ranks;
  for (const RankPeak& peak : worst->peaks) ranks.push_back(peak.rank);
  ranks.resize(std::min(ranks.size(), kMostDrawn));
  if (!pipeline) ranks.push_back(WorldOf(layout) - 1);
  for (const int64_t rank : ranks) {
    if (rank == worst->rank) continue;
    Workload other = workload;
    other.layout.rank = rank;
    ASSIGN_OR_RETURN(Analysis drawn, Expected(other));
    RETURN_IF_ERROR(AddAddresses(other, drawn));
    analysis.ranks.push_back({rank, RankName(rank, layout), std::make_shared<const Analysis>(std::move(drawn))});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Study::WhoseFigures(const Workload& workload) {
  ASSIGN_OR_RETURN(const Shared<LocalStep> step, Local(workload));
  const std::string text = RankText(*step, workload.layout);
  const RankLayout& layout = workload.layout;
  if (layout.rank || layout.data != DataParallel::kFsdp || IsPipeline(layout)) return text;
  Workload least = workload;
  least.layout.rank = WorldOf(workload.layout) - 1;
  ASSIGN_OR_RETURN(const int64_t least_bytes, PeakBytes(least));
  const int64_t less = TrainingPeak(*step, workload) - least_bytes;
  if (less == 0) return text;
  return absl::StrCat(text, "; rank ", *least.layout.rank, ": ", FormatBytes(less), " less alive");
}

}  // namespace onnx_mem
