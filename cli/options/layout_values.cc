#include "cli/options/layout_values.h"

#include <string>

#include "absl/strings/str_format.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "cli/options/option_values.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMostRanks = 1 << 20;

absl::StatusOr<int64_t> ParseRanks(std::string_view text, std::string_view example) {
  const absl::StatusOr<int64_t> ranks = ParseCount(text);
  if (ranks.ok() && *ranks >= 1 && *ranks <= kMostRanks) return *ranks;
  return UsageError(absl::StrFormat("'%s' is no number of ranks", text), {absl::StrFormat("try: %s", example)});
}

// One strategy of data parallelism is chosen.
absl::Status Choose(DataParallel data, std::string_view ranks, std::string_view example, Options& options) {
  RankLayout& layout = options.workload.layout;
  if (IsSpread(layout)) return UsageError("--ddp, --zero1, --fsdp and --hsdp: choose one");
  layout.data = data;
  ASSIGN_OR_RETURN(layout.ranks, ParseRanks(ranks, example));
  return absl::OkStatus();
}

// What stands behind the colon of `text`, if there is one.
absl::Status SetFsdpUnits(std::string_view text, Options& options) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return absl::OkStatus();
  const std::string_view pattern = text.substr(colon + 1);
  if (pattern.empty()) {
    return UsageError(absl::StrFormat("'%s' names no units behind its colon", text),
                      {"try: --fsdp 8 for the blocks that repeat, or --fsdp 8:'layers\\.\\d+'"});
  }
  RETURN_IF_ERROR(CheckRegex(pattern));
  options.workload.layout.units = std::string(pattern);
  return absl::OkStatus();
}

}  // namespace

absl::Status SetDdp(std::string_view text, Options& options) {
  return Choose(DataParallel::kDdp, text, "--ddp 8", options);
}

absl::Status SetZero1(std::string_view text, Options& options) {
  return Choose(DataParallel::kZero1, text, "--zero1 8", options);
}

absl::Status SetFsdp(std::string_view text, Options& options) {
  RETURN_IF_ERROR(Choose(DataParallel::kFsdp, text.substr(0, text.find(':')), "--fsdp 8:'layers\\.\\d+'", options));
  return SetFsdpUnits(text, options);
}

absl::Status SetHsdp(std::string_view text, Options& options) {
  constexpr std::string_view kExample = "--hsdp 2x8:'layers\\.\\d+'   # 2 copies, each over 8 ranks";
  const std::string_view mesh = text.substr(0, text.find(':'));
  const size_t times = mesh.find('x');
  if (times == std::string_view::npos) {
    return UsageError(absl::StrFormat("'%s' is no mesh of copies and ranks", text),
                      {absl::StrFormat("try: %s", kExample)});
  }
  RETURN_IF_ERROR(Choose(DataParallel::kFsdp, mesh.substr(times + 1), kExample, options));
  ASSIGN_OR_RETURN(options.workload.layout.replicas, ParseRanks(mesh.substr(0, times), kExample));
  return SetFsdpUnits(text, options);
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
                      {"try: --reshard no, or --reshard 8"});
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
                      {near.empty() ? "try: --rank 0, or --rank worst" : near});
  }
  options.workload.layout.rank = *rank;
  return absl::OkStatus();
}

void SettleLayout(Options& options) {
  if (!IsSpread(options.workload.layout)) return;
  if (!options.mode_given) options.workload.mode = Mode::kTraining;
  if (options.runtime == Runtime::kByFile) options.runtime = Runtime::kPyTorch;
}

absl::Status CheckLayout(const Options& options) {
  const RankLayout& layout = options.workload.layout;
  if (!IsSpread(layout)) {
    if (layout == RankLayout()) return absl::OkStatus();
    return UsageError("what is said of several cards wants a strategy",
                      {"try: --fsdp 8, --hsdp 2x8, --ddp 8 or --zero1 8"});
  }
  if (options.workload.mode != Mode::kTraining || options.runtime == Runtime::kOnnxruntime) {
    return UsageError("--ddp, --zero1, --fsdp and --hsdp are about training", {"try: --mode train"});
  }
  if (options.command == "plan") {
    return UsageError("a plan is found for one card",
                      {"try: onnx-mem plan MODEL -o plan.json", "then: onnx-mem MODEL --fsdp 8 --plan plan.json"});
  }
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
