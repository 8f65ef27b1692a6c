// Options -> whether what they say of several cards holds together, and for this command.
#include <algorithm>
#include <string>

#include "absl/strings/str_format.h"
#include "analyzer/graph/status_macros.h"
#include "cli/options/layout_values.h"
#include "cli/options/option_values.h"
#include "planner/code/rank_setup.h"

namespace onnx_mem {
namespace {

// fit names the fewest of a range; of ranks that each have the whole model no number needs less.
absl::Status CheckRankRange(const Options& options) {
  if (!options.ranks_among) return absl::OkStatus();
  if (options.command != "fit") {
    return UsageError("a range of ranks is about fit, which names the fewest",
                      {"try: onnx-mem fit MODEL --gpu NAME --fsdp 2..64"});
  }
  const RankLayout& layout = options.workload.layout;
  if (options.ranks_axis == RankAxis::kData && !IsSharded(layout)) {
    return UsageError("--ddp: more ranks need no less of each", {"try: onnx-mem fit MODEL --gpu NAME --fsdp 2..64"});
  }
  // Of these not every number is possible, so each is tried.
  constexpr int64_t kMostTried = 256;
  if (options.ranks_axis != RankAxis::kData && options.ranks_among->most > kMostTried) {
    return UsageError(absl::StrFormat("a range of stages, or of ranks that split tensors, ends at %d", kMostTried));
  }
  if (options.global_batch == 0 && !options.workload.layout.rank) return absl::OkStatus();
  return UsageError("a range of ranks is about the batch of one rank and the rank that needs most",
                    {"way out: -b N, without --global-batch and --rank"});
}

absl::Status CheckMoreRanks(const Options& options) {
  if (options.more_ranks.empty()) return absl::OkStatus();
  const RankLayout& layout = options.workload.layout;
  if (options.command == "fit" && layout.replicas == 1 && options.tensor_plan.empty()) {
    const int64_t first = RanksAlong(options.ranks_axis, layout);
    const auto [fewest, most] = std::minmax_element(options.more_ranks.begin(), options.more_ranks.end());
    return UsageError("fit takes a range of ranks, and names the fewest",
                      {absl::StrFormat("try: ... %s %d..%d", RanksFlag(options.ranks_axis, layout).first,
                                       std::min(first, *fewest), std::max(first, *most))});
  }
  const bool one_run = options.command == "analyze" && options.batches.size() <= 1 && options.operands.size() <= 1;
  if (one_run && options.global_batch == 0 && !options.workload.layout.rank) return absl::OkStatus();
  return UsageError("several numbers of ranks are about one model, one batch of a rank and the rank that needs most",
                    {"way out: onnx-mem MODEL -b N --fsdp 2,4,8"});
}

// What real processes have shown of stages that share their batch with copies of themselves.
absl::Status CheckDataInPipeline(const RankLayout& layout) {
  if (layout.data == DataParallel::kNone) return absl::OkStatus();
  if (layout.pipeline.stages_per_rank > 1) {
    return UsageError("--stages-per-rank is worked out without data parallelism",
                      {"why: torch's schedules of several stages do not reduce the gradients of FSDP by themselves",
                       "try: ... --schedule 1f1b, without --stages-per-rank"});
  }
  if (layout.host || layout.reshard == Reshard::kToSmallerMesh) {
    return UsageError("--fsdp-offload and --reshard K are not worked out for the stages of a pipeline",
                      {"try: ... --reshard no, without --fsdp-offload"});
  }
  return absl::OkStatus();
}

absl::Status CheckPipeline(const Options& options) {
  const RankLayout& layout = options.workload.layout;
  const PipelineLayout& pipeline = layout.pipeline;
  if (!IsPipeline(layout)) {
    if (pipeline == PipelineLayout()) return absl::OkStatus();
    return UsageError(
        "--split, --micro-batches, --schedule, --stages-per-rank and --no-return-outputs are about --pipeline",
        {"try: ... --pipeline 4"});
  }
  RETURN_IF_ERROR(CheckDataInPipeline(layout));
  if (options.workload.run.accumulate > 1) {
    return UsageError("--pipeline and --accumulate: a step of a pipeline has micro-batches already",
                      {"way out: --micro-batches N without --accumulate"});
  }
  const bool several = options.ranks_among || !options.more_ranks.empty();
  if (several && options.ranks_axis == RankAxis::kPipeline && !pipeline.split.empty()) {
    return UsageError("--split names the stages of one number of ranks", {"try: without --split"});
  }
  const auto stages = static_cast<size_t>(StagesOf(pipeline));
  if (pipeline.split.empty() || pipeline.split.size() + 1 == stages) return absl::OkStatus();
  return UsageError(
      absl::StrFormat("--split names %d modules: %d stages begin at %d", pipeline.split.size(), stages, stages - 1));
}

// Ranks that share the batch.
int64_t DataRanksOf(const RankLayout& layout) { return layout.ranks * layout.replicas; }

absl::Status CheckGlobalBatch(const Options& options) {
  if (options.global_batch == 0) return absl::OkStatus();
  const int64_t ranks = DataRanksOf(options.workload.layout);
  if (!IsSpread(options.workload.layout)) {
    return UsageError("--global-batch is about steps over several cards", {"way out: -b N"});
  }
  if (options.global_batch % ranks != 0) {
    return UsageError(
        absl::StrFormat("--global-batch %d: %d ranks do not share it evenly", options.global_batch, ranks));
  }
  const bool same = options.batches.size() == 1 && options.batches.front() * ranks == options.global_batch;
  return same ? absl::OkStatus() : UsageError("--global-batch and -b: choose one");
}

// Plans are looked for on one stage at a time.
absl::Status CheckPlannedPipeline(const Options& options) {
  const RankLayout& layout = options.workload.layout;
  const PipelineLayout& pipeline = layout.pipeline;
  if (layout.data != DataParallel::kNone || IsTensorParallel(layout)) {
    return UsageError("plans are looked for on the stages of a pipeline alone, not yet together with other strategies",
                      {"try: onnx-mem MODEL with the same options, and --plan FILE for segments of your own"});
  }
  if (pipeline.schedule == PipelineSchedule::kInterleavedZeroBubble) {
    return UsageError(
        "--schedule interleaved-zb has no plans: each part of a backward would run a segment's forward again",
        {"try: ... --schedule interleaved-1f1b"});
  }
  if (options.max_batch) {
    return UsageError("--max-batch does not vary the batch of a pipeline, which is that of all micro-batches",
                      {"way out: -b N and --budget, without --max-batch"});
  }
  if (options.plan_request.granularity != Granularity::kCall) return absl::OkStatus();
  return UsageError("calls that are kept are those of a whole model: not worked out for the stages of a pipeline",
                    {"try: ... --granularity module"});
}

absl::Status CheckOffload(const Options& options) {
  const RankLayout& layout = options.workload.layout;
  if (!options.plan_request.offload || (!IsPipeline(layout) && !IsTensorParallel(layout))) return absl::OkStatus();
  const std::string why = IsPipeline(layout)
                              ? "why: what leaves with one micro-batch comes back between others of the schedule"
                              : "why: layers that are split save DTensors, which stay on the card";
  return UsageError("--offload is about ranks that each run the whole step: --ddp, --zero1, --fsdp, --hsdp",
                    {why, "try: without --offload --host-memory"});
}

absl::Status CheckPlannedLayout(const Options& options) {
  if (options.command != "plan") return absl::OkStatus();
  const RankLayout& layout = options.workload.layout;
  RETURN_IF_ERROR(CheckOffload(options));
  if (IsPipeline(layout)) return CheckPlannedPipeline(options);
  if (layout.data == DataParallel::kFsdp && options.plan_request.granularity == Granularity::kCall) {
    return UsageError("segments of calls cross units of FSDP", {"try: ... --granularity module"});
  }
  const bool finer =
      options.plan_request.granularity == Granularity::kCall || options.plan_request.granularity == Granularity::kOp;
  if (IsTensorParallel(layout) && finer) {
    return UsageError("calls that are kept are those of whole tensors: not worked out for --tp",
                      {"try: ... --granularity module"});
  }
  return absl::OkStatus();
}

}  // namespace

void SettleLayout(Options& options) {
  if (!IsSpread(options.workload.layout)) return;
  if (!options.mode_given) options.workload.mode = Mode::kTraining;
  if (options.runtime == Runtime::kByFile) options.runtime = Runtime::kPyTorch;
  const int64_t ranks = DataRanksOf(options.workload.layout);
  const bool divides = options.global_batch > 0 && options.global_batch % ranks == 0;
  if (divides && options.batches.empty()) options.batches = {options.global_batch / ranks};
}

absl::Status CheckLayout(const Options& options) {
  const RankLayout& layout = options.workload.layout;
  RETURN_IF_ERROR(CheckGlobalBatch(options));
  RETURN_IF_ERROR(CheckMoreRanks(options));
  RETURN_IF_ERROR(CheckRankRange(options));
  if (!IsSpread(layout)) {
    if (layout == RankLayout()) return absl::OkStatus();
    return UsageError("what is said of several cards wants a strategy",
                      {"try: ... --fsdp 8   # or --hsdp 2x8, --ddp 8, --zero1 8, --tp 2, --pipeline 4"});
  }
  RETURN_IF_ERROR(CheckPipeline(options));
  if (!IsTensorParallel(layout) && layout.tensor != TensorLayout()) {
    return UsageError("--sequence-parallel and --loss-parallel are about --tp",
                      {"way out: --tp T, and with --sequence-parallel --tp T:PLAN, a JSON file"});
  }
  if (options.workload.mode != Mode::kTraining || options.runtime == Runtime::kOnnxruntime) {
    return UsageError("steps over several cards are about training", {"try: ... --mode train"});
  }
  RETURN_IF_ERROR(CheckPlannedLayout(options));
  const bool fsdp = layout.data == DataParallel::kFsdp;
  const bool of_fsdp =
      layout.reshard != Reshard::kDefault || layout.unsharded_type || layout.reduce_type || layout.host;
  if (of_fsdp && !fsdp) {
    return UsageError("--reshard, --fsdp-dtype, --reduce-dtype and --fsdp-offload are about --fsdp and --hsdp");
  }
  if (layout.bucket_view && fsdp) return UsageError("--ddp-bucket-view is about --ddp and --zero1");
  if (layout.reshard == Reshard::kToSmallerMesh && layout.ranks % layout.reshard_ranks != 0) {
    return UsageError(
        absl::StrFormat("--reshard %d: %d ranks are no multiple of it", layout.reshard_ranks, layout.ranks));
  }
  if (layout.unsharded_type && (options.workload.run.dtype || options.workload.run.autocast)) {
    return UsageError("--fsdp-dtype and --dtype or --amp: choose one");
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
