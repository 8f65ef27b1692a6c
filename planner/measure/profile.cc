#include "planner/measure/profile.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/order/stable_sort.h"
#include "planner/measure/index.h"

namespace onnx_mem {
namespace {

// A candidate that frees less than this share of the peak is not worth a line in anyone's code: it is none. Where
// blocks are as small as that, all of one size count.
constexpr int64_t kNegligible = 1000;

// Lowered node of a step's file node; a file node that became several counts as its first.
using NodeIndex = absl::flat_hash_map<std::string, int32_t>;

NodeIndex IndexNodes(const FrameworkGraph& graph) {
  NodeIndex index;
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) index.emplace(graph.nodes[NodeId(i)].name, i);
  return index;
}

constexpr size_t kBlock = 64;  // nodes of Profile::block_live

// The most alive at nodes [begin, end) of the baseline.
int64_t MostLive(const Profile& profile, size_t begin, size_t end) {
  int64_t most = 0;
  const auto see = [&](size_t until) {
    for (; begin < until; ++begin) most = std::max({most, profile.forward_live[begin], profile.backward_live[begin]});
  };
  if (!profile.block_live.empty()) {
    see(std::min(end, (begin + kBlock - 1) / kBlock * kBlock));
    for (; begin + kBlock <= end; begin += kBlock) most = std::max(most, profile.block_live[begin / kBlock]);
  }
  see(end);
  return most;
}

std::vector<int64_t> BlocksOf(const Profile& profile) {
  std::vector<int64_t> blocks;
  const size_t count = profile.forward_live.size();
  for (size_t i = 0; i < count; i += kBlock) blocks.push_back(MostLive(profile, i, std::min(count, i + kBlock)));
  return blocks;
}

void FillBaseline(const Accountant& accountant, const NodeIndex& index, Profile& profile) {
  const MemoryProgram& program = accountant.baseline().program;
  const Timeline timeline = ComputeTimeline(program);
  profile.forward_live.assign(accountant.lowered().graph.nodes.size(), 0);
  profile.backward_live.assign(accountant.lowered().graph.nodes.size(), 0);
  profile.constant_peak = accountant.optimizer_peak_bytes();
  for (StepId id(0); program.steps.contains(id); id = StepId(id.value() + 1)) {
    const Step& step = program.steps[id];
    const int64_t live = timeline.live_bytes[Index(id.value())] + accountant.optimizer_state_bytes();
    const auto node = index.find(step.node.str());
    if (step.phase == Phase::kLoss || node == index.end()) {
      profile.loss_live = std::max(profile.loss_live, live);
    } else {
      auto& per_node = step.phase == Phase::kForward ? profile.forward_live : profile.backward_live;
      per_node[Index(node->second)] = std::max(per_node[Index(node->second)], live);
    }
  }
  profile.block_live = BlocksOf(profile);
  profile.baseline_peak = accountant.PeakOf(program);
}

// What makes two ranges cost the same: operators in order with the sizes of what they make, and what they read from
// within or from outside.
std::string LooksOf(const FrameworkGraph& graph, const Candidate& candidate) {
  std::string looks = candidate.segment.keep.empty() ? "" : "keep;";
  for (int32_t i = candidate.first; i <= candidate.last; ++i) {
    const FrameworkNode& node = graph.nodes[NodeId(i)];
    absl::StrAppend(&looks, node.op.str(), "(");
    for (TensorId id : node.inputs) {
      if (!id.valid()) continue;
      const Tensor& tensor = graph.tensors[id];
      const bool inside = tensor.producer.valid() && tensor.producer.value() >= candidate.first;
      if (inside) {
        absl::StrAppend(&looks, tensor.producer.value() - candidate.first, ",");
      } else {
        absl::StrAppend(&looks, "o", ToString(tensor.shape), ",");
      }
    }
    absl::StrAppend(&looks, ")");
    for (TensorId id : node.outputs) {
      if (!id.valid()) continue;
      absl::StrAppend(&looks, ToString(graph.tensors[id].shape), static_cast<int>(graph.tensors[id].dtype), "x",
                      graph.tensors[id].consumers.size());
    }
    absl::StrAppend(&looks, ";");
  }
  return looks;
}

class Profiler {
 public:
  Profiler(Accountant& accountant, const CandidateSet& set, const std::function<bool()>& may_go_on, bool negligible)
      : accountant_(accountant),
        set_(set),
        may_go_on_(may_go_on),
        negligible_(negligible),
        index_(IndexNodes(accountant.lowered().graph)) {}

  absl::StatusOr<Profile> Make() {
    FillBaseline(accountant_, index_, profile_);
    figures_.resize(set_.list.size());
    done_.assign(set_.list.size(), false);
    // Whole modules first, short before long: if time ends, the rest is added up from them.
    std::vector<size_t> order(set_.list.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    StableSort(order, [&](size_t a, size_t b) {
      const auto key = [&](size_t i) { return std::pair(set_.list[i].is_run, set_.list[i].last - set_.list[i].first); };
      return key(a) < key(b);
    });
    for (size_t i : order) RETURN_IF_ERROR(Fill(i));
    const int64_t least = negligible_ ? std::numeric_limits<int64_t>::min() : LeastOfUse();
    for (size_t i = 0; i < figures_.size(); ++i) {
      if (figures_[i].saves_bytes < least && !IsConventionUnmeasured(i)) continue;
      profile_.candidates.push_back(set_.list[i]);
      profile_.figures.push_back(figures_[i]);
    }
    profile_.left_negligible = profile_.candidates.size() < set_.list.size();
    return std::move(profile_);
  }

 private:
  int64_t LeastOfUse() const {
    int64_t largest_block = 0;
    for (size_t i = 0; i < figures_.size(); ++i) {
      if (set_.list[i].is_block) largest_block = std::max(largest_block, figures_[i].saves_bytes);
    }
    const int64_t least_bytes = profile_.baseline_peak / kNegligible;
    return std::max<int64_t>(1, largest_block > 0 ? std::min(least_bytes, largest_block / 4) : least_bytes);
  }

  // Blocks and stages are tried whatever the effort: where nothing at all was measured, none is negligible yet.
  bool IsConventionUnmeasured(size_t i) const {
    return !any_enacted_ && (set_.list[i].is_block || set_.list[i].is_stage);
  }

  int64_t BackwardPeakWithin(const Candidate& c) const {
    return *std::max_element(profile_.backward_live.begin() + c.first, profile_.backward_live.begin() + c.last + 1);
  }

  absl::Status Fill(size_t i) {
    const Candidate& candidate = set_.list[i];
    std::string looks = LooksOf(accountant_.lowered().graph, candidate);
    // No plan may touch segments that the user's code has already.
    if (accountant_.HasOwnSegments()) absl::StrAppend(&looks, "#", i);
    const auto [alike, is_new] = alike_.emplace(std::move(looks), i);
    if (!is_new) {
      FillFromAlike(i, alike->second);
    } else if (may_go_on_()) {
      RETURN_IF_ERROR(FillByEnactment(i));
    } else {
      FillFromParts(i);
      alike_.erase(alike);
    }
    done_[i] = true;
    return absl::OkStatus();
  }

  absl::Status FillByEnactment(size_t i) {
    const Candidate& candidate = set_.list[i];
    absl::StatusOr<Enacted> alone = accountant_.Enact({candidate.segment});
    const bool meets_own = accountant_.HasOwnSegments() && DiagnosticOf(alone.status()).code == Code::kBadPlan;
    if (!alone.ok() && meets_own) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Enacted enacted, std::move(alone));
    any_enacted_ = true;
    CandidateFigures& figures = figures_[i];
    figures.enacted = true;
    figures.saves_bytes = accountant_.baseline().end_of_forward_bytes - enacted.end_of_forward_bytes;
    figures.recompute_flops = enacted.recompute_flops - accountant_.baseline().recompute_flops;
    figures.cost = accountant_.ScoreOf(enacted).cost;
    const Timeline timeline = ComputeTimeline(enacted.program);
    for (StepId id(0); enacted.program.steps.contains(id); id = StepId(id.value() + 1)) {
      const Step& step = enacted.program.steps[id];
      if (step.phase != Phase::kBackward) continue;
      const auto node = index_.find(step.node.str());
      if (node == index_.end() || node->second < candidate.first || node->second > candidate.last) continue;
      const int64_t live = timeline.live_bytes[Index(id.value())] + accountant_.optimizer_state_bytes();
      figures.rerun_peak_bytes = std::max(figures.rerun_peak_bytes, live);
    }
    return absl::OkStatus();
  }

  void FillFromAlike(size_t i, size_t twin) {
    figures_[i] = figures_[twin];
    figures_[i].enacted = false;
    figures_[i].rerun_peak_bytes += BackwardPeakWithin(set_.list[i]) - BackwardPeakWithin(set_.list[twin]);
  }

  // All of a range is alive when its backward begins, as without it. What it frees is at least what its largest
  // disjoint parts free.
  void FillFromParts(size_t i) {
    ++profile_.added_up;
    const Candidate& whole = set_.list[i];
    CandidateFigures& figures = figures_[i];
    figures.rerun_peak_bytes = BackwardPeakWithin(whole);
    int32_t next = whole.first;
    const auto begin = std::partition_point(set_.list.begin(), set_.list.end(),
                                            [&](const Candidate& part) { return part.first < whole.first; });
    for (auto k = static_cast<size_t>(begin - set_.list.begin()); k < set_.list.size(); ++k) {
      const Candidate& part = set_.list[k];  // by first node, longest first
      if (part.first > whole.last) break;
      if (!done_[k] || part.is_run || part.first < next || part.last > whole.last) continue;
      figures.saves_bytes += figures_[k].saves_bytes;
      figures.recompute_flops += figures_[k].recompute_flops;
      figures.cost += figures_[k].cost;
      figures.rerun_peak_bytes = std::max(figures.rerun_peak_bytes, figures_[k].rerun_peak_bytes);
      next = part.last + 1;
    }
    if (any_enacted_ || whole.is_run) return;
    // Of no part anything is known: what the baseline's forward gathers while it runs.
    if (forward_flops_.empty()) CountForward();
    figures.saves_bytes =
        std::max<int64_t>(0, profile_.forward_live[Index(whole.last)] - profile_.forward_live[Index(whole.first)]);
    figures.recompute_flops = figures.cost = 0;
    for (int32_t node = whole.first; node <= whole.last; ++node) {
      figures.recompute_flops += forward_flops_[Index(node)];
      figures.cost += forward_cost_[Index(node)];
    }
  }

  // What the baseline's forward of each node takes.
  void CountForward() {
    forward_flops_.assign(profile_.forward_live.size(), 0);
    forward_cost_.assign(profile_.forward_live.size(), 0);
    for (const Step& step : accountant_.baseline().program.steps) {
      const auto node = step.phase == Phase::kForward ? index_.find(step.node.str()) : index_.end();
      if (node == index_.end()) continue;
      forward_flops_[Index(node->second)] += step.flops;
      forward_cost_[Index(node->second)] += accountant_.CostOf(step);
    }
  }

  Accountant& accountant_;
  const CandidateSet& set_;
  const std::function<bool()>& may_go_on_;
  bool negligible_;
  NodeIndex index_;
  Profile profile_;
  std::vector<CandidateFigures> figures_;
  std::vector<bool> done_;
  bool any_enacted_ = false;
  std::vector<int64_t> forward_flops_;
  std::vector<int64_t> forward_cost_;
  std::map<std::string, size_t> alike_;
};

}  // namespace

absl::StatusOr<Profile> MakeProfile(Accountant& accountant, const CandidateSet& candidates,
                                    const std::function<bool()>& may_go_on, bool negligible) {
  return Profiler(accountant, candidates, may_go_on, negligible).Make();
}

Score Estimate(const Profile& profile, const Choice& choice) {
  Score score;
  int64_t saved = 0;
  int64_t peak = profile.constant_peak;
  int32_t p = 0;
  const auto plain_until = [&](int32_t end) {
    const int64_t live = p < end ? MostLive(profile, Index(p), Index(end)) : 0;
    peak = std::max(peak, live - saved);
    p = std::max(p, end);
  };
  for (int32_t c : choice) {
    const Candidate& candidate = profile.candidates[Index(c)];
    const CandidateFigures& figures = profile.figures[Index(c)];
    plain_until(candidate.first);
    peak = std::max(peak, figures.rerun_peak_bytes - saved);
    p = candidate.last + 1;
    saved += figures.saves_bytes;
    score.cost += figures.cost;
  }
  plain_until(static_cast<int32_t>(profile.forward_live.size()));
  score.peak_bytes = std::max(peak, profile.loss_live - saved);
  return score;
}

std::vector<Segment> SegmentsOf(const Profile& profile, const Choice& choice) {
  std::vector<Segment> segments;
  for (int32_t c : choice) segments.push_back(profile.candidates[Index(c)].segment);
  return segments;
}

}  // namespace onnx_mem
