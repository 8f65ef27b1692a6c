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

// A pipeline of one rank is none.
absl::StatusOr<int64_t> ParseRanks(RankAxis axis, std::string_view text, std::string_view example) {
  const int64_t fewest = axis == RankAxis::kPipeline ? 2 : 1;
  const absl::StatusOr<int64_t> ranks = ParseCount(text);
  if (ranks.ok() && *ranks >= fewest && *ranks <= kMostRanks) return *ranks;
  return UsageError(absl::StrFormat("'%s' is no number of ranks", text), {absl::StrFormat("try: ... %s", example)});
}

// "8", "2,4,8", or "2..64", of which fit looks for the fewest. Of one axis there may be several numbers.
absl::Status SetRanks(RankAxis axis, std::string_view text, std::string_view example, Options& options) {
  constexpr std::string_view kTo = "..";
  const size_t to = text.find(kTo);
  const bool several = to != std::string_view::npos || text.find(',') != std::string_view::npos;
  const bool others = options.ranks_axis != axis && (options.ranks_among || !options.more_ranks.empty());
  if (several && others) {
    return UsageError("several numbers of ranks are of one way to spread a step",
                      {"way out: one number of the others"});
  }
  if (!others) {
    options.more_ranks.clear();
    options.ranks_among.reset();
    options.ranks_axis = axis;
  }
  if (to != std::string_view::npos) {
    RankRange among;
    ASSIGN_OR_RETURN(among.fewest, ParseRanks(axis, text.substr(0, to), example));
    ASSIGN_OR_RETURN(among.most, ParseRanks(axis, text.substr(to + kTo.size()), example));
    if (among.most < among.fewest) return UsageError(absl::StrFormat("'%s' holds no number of ranks", text));
    options.ranks_among = among;
    SetRanksAlong(axis, among.most, options.workload.layout);
    return absl::OkStatus();
  }
  std::vector<int64_t> numbers;
  for (const std::string& each : std::vector<std::string>(absl::StrSplit(std::string(text), ','))) {
    ASSIGN_OR_RETURN(numbers.emplace_back(), ParseRanks(axis, each, example));
  }
  SetRanksAlong(axis, numbers.front(), options.workload.layout);
  if (several) options.more_ranks.assign(numbers.begin() + 1, numbers.end());
  return absl::OkStatus();
}

// One strategy of data parallelism is chosen; of the same one given again the last counts.
absl::Status Choose(DataParallel data, bool replicated, std::string_view ranks, std::string_view example,
                    Options& options) {
  RankLayout& layout = options.workload.layout;
  const bool other = layout.data != data || (layout.replicas > 1) != replicated;
  if (layout.data != DataParallel::kNone && other) return UsageError("--ddp, --zero1, --fsdp and --hsdp: choose one");
  layout.data = data;
  layout.units.clear();
  return SetRanks(RankAxis::kData, ranks, example, options);
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
  ASSIGN_OR_RETURN(options.workload.layout.replicas, ParseRanks(RankAxis::kData, mesh.substr(0, times), kExample));
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
  RETURN_IF_ERROR(SetRanks(RankAxis::kTensor, text.substr(0, colon), "--tp 2   # or --tp 2:plan.json", options));
  tensor.plan.clear();
  tensor.sequence_plan.clear();
  options.tensor_plan = colon == std::string_view::npos ? "" : std::string(text.substr(colon + 1));
  return options.tensor_plan.empty() ? absl::OkStatus() : ReadTensorPlan(options.tensor_plan, tensor);
}

absl::Status SetPipeline(std::string_view text, Options& options) {
  return SetRanks(RankAxis::kPipeline, text, "--pipeline 4", options);
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

}  // namespace onnx_mem
