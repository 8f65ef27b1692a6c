#include "cli/options/layout_values.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/graph/whole_file.h"
#include "cli/options/option_choices.h"
#include "cli/options/option_values.h"
#include "nlohmann/json.hpp"

namespace onnx_mem {
namespace {

constexpr int64_t kMostRanks = 1 << 20;

absl::StatusOr<int64_t> ParseRanks(std::string_view text, std::string_view example) {
  const absl::StatusOr<int64_t> ranks = ParseCount(text);
  if (ranks.ok() && *ranks >= 1 && *ranks <= kMostRanks) return *ranks;
  const bool range = text.find("..") != std::string_view::npos;
  return UsageError(absl::StrFormat("'%s' is no number of ranks", text),
                    {range ? "try: onnx-mem fit MODEL --gpu NAME --fsdp 2   # looks for the fewest ranks by itself"
                           : absl::StrFormat("try: ... %s", example)});
}

// One strategy of data parallelism is chosen; of the same one given again the last counts.
absl::Status Choose(DataParallel data, bool replicated, std::string_view ranks, std::string_view example,
                    Options& options) {
  RankLayout& layout = options.workload.layout;
  const bool other = layout.data != data || (layout.replicas > 1) != replicated;
  if (layout.data != DataParallel::kNone && other) return UsageError("--ddp, --zero1, --fsdp and --hsdp: choose one");
  layout.data = data;
  layout.units.clear();
  options.more_ranks.clear();
  for (const std::string& each : std::vector<std::string>(absl::StrSplit(std::string(ranks), ','))) {
    ASSIGN_OR_RETURN(const int64_t number, ParseRanks(each, example));
    options.more_ranks.push_back(number);
  }
  layout.ranks = options.more_ranks.front();
  options.more_ranks.erase(options.more_ranks.begin());
  return absl::OkStatus();
}

absl::Status CheckMoreRanks(const Options& options) {
  if (options.more_ranks.empty()) return absl::OkStatus();
  const bool one_run = options.command == "analyze" && options.batches.size() <= 1 && options.operands.size() <= 1;
  if (one_run && options.global_batch == 0 && !options.workload.layout.rank) return absl::OkStatus();
  return UsageError("several numbers of ranks are about one model, one batch of a rank and the rank that needs most",
                    {"way out: onnx-mem MODEL -b N --fsdp 2,4,8"});
}

// What stands behind the colon of `text`, if there is one.
absl::Status SetFsdpUnits(std::string_view text, Options& options) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return absl::OkStatus();
  const std::string_view pattern = text.substr(colon + 1);
  if (pattern.empty()) {
    return UsageError(absl::StrFormat("'%s' names no units behind its colon", text),
                      {"try: ... --fsdp 8   # for the blocks that repeat"});
  }
  RETURN_IF_ERROR(CheckRegex(pattern));
  options.workload.layout.units = std::string(pattern);
  return absl::OkStatus();
}

}  // namespace

absl::Status SetDdp(std::string_view text, Options& options) {
  return Choose(DataParallel::kDdp, /*replicated=*/false, text, "--ddp 8", options);
}

absl::Status SetZero1(std::string_view text, Options& options) {
  return Choose(DataParallel::kZero1, /*replicated=*/false, text, "--zero1 8", options);
}

absl::Status SetFsdp(std::string_view text, Options& options) {
  RETURN_IF_ERROR(
      Choose(DataParallel::kFsdp, /*replicated=*/false, text.substr(0, text.find(':')), "--fsdp 8", options));
  return SetFsdpUnits(text, options);
}

absl::Status SetHsdp(std::string_view text, Options& options) {
  constexpr std::string_view kExample = "--hsdp 2x8   # 2 copies, each over 8 ranks";
  const std::string_view mesh = text.substr(0, text.find(':'));
  const size_t times = mesh.find('x');
  if (times == std::string_view::npos) {
    return UsageError(absl::StrFormat("'%s' is no mesh of copies and ranks", text),
                      {absl::StrFormat("try: ... %s", kExample)});
  }
  RETURN_IF_ERROR(Choose(DataParallel::kFsdp, /*replicated=*/true, mesh.substr(times + 1), kExample, options));
  ASSIGN_OR_RETURN(options.workload.layout.replicas, ParseRanks(mesh.substr(0, times), kExample));
  return SetFsdpUnits(text, options);
}

namespace {

// {REGEX: STYLE}.
absl::Status ReadStyles(const nlohmann::ordered_json& plan, std::vector<std::pair<std::string, TensorStyle>>& styles) {
  if (!plan.is_object()) return UsageError("a plan of tensor parallelism names a style for each pattern");
  for (const auto& [pattern, name] : plan.items()) {
    RETURN_IF_ERROR(CheckRegex(pattern));
    TensorStyle style{};
    RETURN_IF_ERROR(Choose(name.is_string() ? name.get<std::string>() : std::string(), kTensorStyles, style));
    styles.emplace_back(pattern, style);
  }
  return absl::OkStatus();
}

// {"plan": {REGEX: STYLE}, "sequence_parallel": {REGEX: STYLE}}.
absl::Status ReadTensorPlan(const std::string& path, TensorLayout& tensor) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  const nlohmann::ordered_json plan = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!plan.is_object() || !plan.contains("plan")) {
    return UsageError(absl::StrFormat("'%s' is no plan of tensor parallelism", path),
                      {R"(a plan: {"plan": {"layers\\.\\d+\\.q_proj": "colwise"}})"});
  }
  RETURN_IF_ERROR(ReadStyles(plan.at("plan"), tensor.plan));
  return plan.contains("sequence_parallel") ? ReadStyles(plan.at("sequence_parallel"), tensor.sequence_plan)
                                            : absl::OkStatus();
}

}  // namespace

absl::Status SetTensorParallel(std::string_view text, Options& options) {
  TensorLayout& tensor = options.workload.layout.tensor;
  const size_t colon = text.find(':');
  ASSIGN_OR_RETURN(tensor.ranks, ParseRanks(text.substr(0, colon), "--tp 2, or --tp 2:plan.json"));
  tensor.plan.clear();
  tensor.sequence_plan.clear();
  if (colon == std::string_view::npos) return absl::OkStatus();
  return ReadTensorPlan(std::string(text.substr(colon + 1)), tensor);
}

absl::Status SetSplit(std::string_view text, Options& options) {
  std::vector<std::string>& split = options.workload.layout.pipeline.split;
  split = absl::StrSplit(std::string(text), ',', absl::SkipEmpty());
  if (split.empty())
    return UsageError("--split names no module", {"way out: names of modules, as in --split layers.8,layers.16"});
  return absl::OkStatus();
}

absl::Status SetReshard(std::string_view text, Options& options) {
  RankLayout& layout = options.workload.layout;
  if (SameWord(text, "yes") || SameWord(text, "no")) {
    layout.reshard = SameWord(text, "yes") ? Reshard::kYes : Reshard::kNo;
    return absl::OkStatus();
  }
  const absl::StatusOr<int64_t> ranks = ParseCount(text);
  if (!ranks.ok() || *ranks < 2 || *ranks > kMostRanks) {
    return UsageError(absl::StrFormat("'%s' is not yes, no or the ranks of a smaller mesh", text),
                      {"try: ... --reshard no   # or --reshard 8"});
  }
  layout.reshard = Reshard::kToSmallerMesh;
  layout.reshard_ranks = *ranks;
  return absl::OkStatus();
}

absl::Status SetRank(std::string_view text, Options& options) {
  options.workload.layout.rank.reset();
  if (SameWord(text, "worst")) return absl::OkStatus();
  const absl::StatusOr<int64_t> rank = ParseCount(text);
  if (!rank.ok() || *rank < 0) {
    const std::string near = DidYouMean(text, {"worst"});
    return UsageError(absl::StrFormat("'%s' is no rank", text),
                      {near.empty() ? "try: ... --rank 0   # or --rank worst" : near});
  }
  options.workload.layout.rank = *rank;
  return absl::OkStatus();
}

namespace {

absl::Status CheckPipeline(const Options& options) {
  const RankLayout& layout = options.workload.layout;
  const PipelineLayout& pipeline = layout.pipeline;
  if (!IsPipeline(layout)) {
    if (pipeline == PipelineLayout()) return absl::OkStatus();
    return UsageError(
        "--split, --micro-batches, --schedule, --stages-per-rank and --no-return-outputs are about --pipeline",
        {"try: ... --pipeline 4"});
  }
  if (layout.data != DataParallel::kNone || IsTensorParallel(layout)) {
    return UsageError("--pipeline together with other strategies is not worked out yet");
  }
  if (options.command == "fit") {
    return UsageError("fit does not vary the batch of a pipeline yet",
                      {"way out: onnx-mem MODEL --pipeline 4 -b N --gpu NAME"});
  }
  if (options.workload.run.accumulate > 1) {
    return UsageError("--pipeline and --accumulate: a step of a pipeline has micro-batches already",
                      {"way out: --micro-batches N without --accumulate"});
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

// Every rank of data parallelism runs the whole step of one card, which is where plans are looked for.
absl::Status CheckPlannedLayout(const Options& options) {
  if (options.command != "plan") return absl::OkStatus();
  const RankLayout& layout = options.workload.layout;
  if (IsPipeline(layout) || IsTensorParallel(layout)) {
    return UsageError("plans for --tp and --pipeline are not worked out yet: no rank of them runs the whole model",
                      {"try: onnx-mem plan MODEL -b 8 --fsdp 8   # also --hsdp, --ddp and --zero1"});
  }
  if (options.plan_request.offload) {
    return UsageError("--offload is about a step on one card", {"way out: the same without --offload"});
  }
  if (layout.data == DataParallel::kFsdp && options.plan_request.granularity == Granularity::kCall) {
    return UsageError("segments of calls cross units of FSDP", {"try: ... --granularity module"});
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
