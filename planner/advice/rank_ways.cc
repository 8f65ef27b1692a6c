// A training step over several cards that needs less of each: what its strategy can do besides, and what that costs in
// traffic.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/devices/roofline.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/study/rank_traffic.h"
#include "planner/advice/way.h"

namespace onnx_mem {
namespace {

absl::StatusOr<TrafficCost> TrafficOfRun(const Situation& s, const Workload& workload) {
  const absl::StatusOr<Gpu> card = s.card != nullptr ? absl::StatusOr<Gpu>(*s.card) : FindGpu(kDefaultCard);
  if (!card.ok()) return card.status();
  return TrafficOn(s.study, workload, *card);
}

std::string Milliseconds(int64_t ns) { return absl::StrFormat("%.1f ms", static_cast<double>(ns) / 1e6); }

// "receives 980 MiB a step for 650 MiB (+1.2 ms over NVLink 3)".
std::string CostText(const Situation& s, const Workload& changed) {
  const absl::StatusOr<TrafficCost> now = TrafficOfRun(s, s.workload), then = TrafficOfRun(s, changed);
  if (!now.ok() || !then.ok()) return "";
  std::string text = "the same traffic";
  if (then->peer_bytes != now->peer_bytes) {
    text = absl::StrFormat("receives %s a step for %s (%s%s over %s)", FormatBytes(then->peer_bytes),
                           FormatBytes(now->peer_bytes), then->peer_ns < now->peer_ns ? "" : "+",
                           Milliseconds(then->peer_ns - now->peer_ns), then->peer_link);
  }
  if (then->host_bytes == now->host_bytes) return text;
  return absl::StrFormat("%s, %s to and from the host (%s over %s)", text, FormatBytes(then->host_bytes),
                         Milliseconds(then->host_ns), then->host_link);
}

Proposal Changed(const Situation& s, std::string change, std::vector<std::string> flags, RankLayout layout,
                 std::string_view instead = "") {
  Proposal proposal{std::move(change), std::move(flags), "", Price::kTime, s.workload};
  proposal.workload.layout = std::move(layout);
  proposal.cost = absl::StrFormat("%s%s%s", instead, instead.empty() ? "" : "; ", CostText(s, proposal.workload));
  return proposal;
}

bool IsOfDdp(const RankLayout& layout) {
  return layout.data == DataParallel::kDdp || layout.data == DataParallel::kZero1;
}

}  // namespace

std::vector<Proposal> ProposeBucketView(const Situation& s) {
  RankLayout layout = s.workload.layout;
  if (!IsOfDdp(layout) || layout.bucket_view) return {};
  layout.bucket_view = true;
  Proposal proposal = Changed(s, "gradients as views of DDP's buckets", {"--ddp-bucket-view"}, std::move(layout));
  proposal.price = Price::kNothing;
  proposal.cost = "gradient_as_bucket_view=True";
  return {std::move(proposal)};
}

std::vector<Proposal> ProposeShards(const Situation& s) {
  const RankLayout& now = s.workload.layout;
  std::vector<Proposal> proposals;
  if (!IsOfDdp(now) || now.ranks == 1) return proposals;
  const std::string ranks = absl::StrCat(now.ranks);
  if (now.data == DataParallel::kDdp) {
    RankLayout layout = now;
    layout.data = DataParallel::kZero1;
    proposals.push_back(Changed(s, "ZeRO-1", {"--zero1", ranks}, std::move(layout), "in place of --ddp"));
  }
  RankLayout layout = now;
  layout.data = DataParallel::kFsdp;
  layout.bucket_view = false;
  proposals.push_back(Changed(s, "FSDP2", {"--fsdp", ranks}, std::move(layout),
                              now.data == DataParallel::kDdp ? "in place of --ddp" : "in place of --zero1"));
  return proposals;
}

std::vector<Proposal> ProposeReshard(const Situation& s) {
  RankLayout layout = s.workload.layout;
  if (layout.data != DataParallel::kFsdp || layout.reshard == Reshard::kYes || layout.ranks == 1) return {};
  layout.reshard = Reshard::kYes;
  layout.reshard_ranks = 0;
  return {Changed(s, "parameters given back behind each forward", {"--reshard", "yes"}, std::move(layout))};
}

std::vector<Proposal> ProposeFsdpOffload(const Situation& s) {
  RankLayout layout = s.workload.layout;
  if (layout.data != DataParallel::kFsdp || layout.host || IsPipeline(layout)) return {};
  layout.host = true;
  return {Changed(s, "shards and optimizer on the host", {"--fsdp-offload"}, std::move(layout))};
}

}  // namespace onnx_mem
