// From a step graph to the chain of blocks that it contains (chain.h).
//
//   forward  conv1 relu1 | conv2 add2 relu2 | fc          one tensor crosses each bar
//   backward fc | relu2 add2 conv2 | relu1 conv1          every backward operator reads its own block's tensors and
//                                                         what the block was given
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "solver/methods/chain.h"
#include "solver/problem/no_recompute.h"

namespace onnx_mem {
namespace {

class Extractor {
 public:
  Extractor(const StepGraph& graph, const StageProblem& problem) : graph_(graph), problem_(problem) {}

  std::optional<Chain> Extract() {
    if (!ListForward()) return std::nullopt;
    FindCuts();
    for (bool stable = false; !stable;) {
      NumberBlocks();
      stable = !RemoveCutsAcrossBackward();
    }
    Chain chain;
    int anchor = problem_.anchor_count();
    std::vector<ChainBlock> reversed;
    for (int block = 0; block < block_count_; ++block) {
      const int begin = FirstAnchorOf(block, anchor);
      reversed.push_back(MakeBlock(block, begin, anchor));
      anchor = begin;
    }
    chain.blocks = std::move(reversed);
    return chain;
  }

 private:
  struct Pass {
    std::vector<int> ops;
    int64_t cost = 0;
    int64_t peak_bytes = 0;
    int64_t kept_bytes = 0;
  };

  bool ListForward() {
    std::map<StepOpId, int> op_of;
    for (size_t i = 0; i < problem_.ops.size(); ++i) op_of[problem_.ops[i].id] = static_cast<int>(i);
    if (problem_.anchors.empty()) return false;
    bool backward = false;
    made_at_.assign(problem_.items.size(), -1);
    for (StepOpId id : RunOnce(problem_)) {
      const auto it = op_of.find(id);
      if (graph_.ops[id].kind == StepOpKind::kOrdered || (backward && it != op_of.end())) return false;
      if (it == op_of.end()) {
        backward = true;
        continue;
      }
      for (int item : problem_.ops[it->second].outputs) made_at_[item] = static_cast<int>(forward_.size());
      forward_.push_back(it->second);
    }
    return !forward_.empty();
  }

  // The item that serves the requirement when everything is kept, -1 if the backward itself makes it.
  int ServerOf(int requirement) const {
    int best = -1;
    for (int item : problem_.requirements[requirement].alternatives) {
      if (made_at_[item] >= 0 && (best < 0 || made_at_[item] < made_at_[best])) best = item;
    }
    return best;
  }

  // A cut after forward operator p: what later operators read of earlier ones is at most one requirement.
  void FindCuts() {
    const auto count = forward_.size();
    std::map<int, int> last_read;
    for (size_t p = 0; p < count; ++p) {
      for (int need : problem_.ops[forward_[p]].needs) last_read[need] = static_cast<int>(p);
    }
    std::vector<int> crossing(count + 1, 0);
    std::vector<int64_t> sum(count + 1, 0);
    for (const auto& [need, last] : last_read) {
      const int made = made_at_[ServerOf(need)];
      crossing[made] += 1;
      crossing[last] -= 1;
      sum[made] += need;
      sum[last] -= need;
    }
    is_cut_.assign(count, false);
    boundary_.assign(count, -1);
    int crosses = 0;
    int64_t needs = 0;
    for (size_t p = 0; p + 1 < count; ++p) {
      crosses += crossing[p];
      needs += sum[p];
      is_cut_[p] = crosses == 1;
      if (is_cut_[p]) boundary_[p] = static_cast<int>(needs);
    }
  }

  void NumberBlocks() {
    block_of_.assign(forward_.size(), 0);
    starts_ = {0};
    for (size_t p = 1; p < forward_.size(); ++p) {
      if (is_cut_[p - 1]) starts_.push_back(static_cast<int>(p));
      block_of_[p] = static_cast<int>(starts_.size()) - 1;
    }
    block_count_ = static_cast<int>(starts_.size());
    starts_.push_back(static_cast<int>(forward_.size()));
  }

  int BoundaryBefore(int block) const { return block == 0 ? -1 : boundary_[starts_[block] - 1]; }

  bool JoinRange(int low, int high) {
    bool changed = false;
    for (int block = low + 1; block <= high; ++block) {
      changed |= is_cut_[starts_[block] - 1];
      is_cut_[starts_[block] - 1] = false;
    }
    return changed;
  }

  // Says whether any cut went.
  bool RemoveCutsAcrossBackward() {
    bool changed = false;
    anchor_block_.assign(problem_.anchors.size(), block_count_ - 1);
    int current = block_count_ - 1;
    for (size_t t = 0; t < problem_.anchors.size(); ++t) {
      int own = -1;
      for (int need : problem_.anchors[t].needs) {
        if (ServerOf(need) >= 0) own = std::max(own, block_of_[made_at_[ServerOf(need)]]);
      }
      if (own < 0) own = current;
      for (int need : problem_.anchors[t].needs) {
        if (ServerOf(need) < 0) continue;
        const int block = block_of_[made_at_[ServerOf(need)]];
        if (block == own || (block == own - 1 && need == BoundaryBefore(own))) continue;
        changed |= JoinRange(block, own);
      }
      if (own > current) changed |= JoinRange(current, own);
      current = std::min(current, own);
      anchor_block_[t] = current;
    }
    return changed;
  }

  int FirstAnchorOf(int block, int end) const {
    int begin = end;
    while (begin > 0 && anchor_block_[begin - 1] <= block) --begin;
    return begin;
  }

  ChainBlock MakeBlock(int block, int first_anchor, int end_anchor) const {
    const int out = block + 1 < block_count_ ? BoundaryBefore(block + 1) : -1;
    const std::vector<int> ops(forward_.begin() + starts_[block], forward_.begin() + starts_[block + 1]);
    ChainBlock result;
    result.gap_bytes = first_anchor < problem_.anchor_count() ? problem_.anchors[first_anchor].gap_bytes : 0;
    if (first_anchor == problem_.anchor_count()) result.gap_bytes = problem_.anchors.back().fixed_bytes;

    const Pass run = Measure(RunOps(ops, out), Servers(out));
    result.output_bytes = run.kept_bytes;
    result.run_bytes = run.peak_bytes;
    result.run_cost = run.cost;
    result.run = Ids(run.ops);

    const std::map<int, int> saved = SavedItems(block, first_anchor, end_anchor, out);
    std::set<int> kept;
    for (const auto& [item, last] : saved) kept.insert(item);
    const Pass save = Measure(ops, kept);
    ChainSaving saving;
    saving.saved_bytes = save.kept_bytes;
    saving.forward_bytes = save.peak_bytes;
    saving.cost = save.cost;
    saving.forward = Ids(ops);
    std::vector<int64_t> until(static_cast<size_t>(end_anchor - first_anchor), 0);  // bytes that an anchor reads last
    for (const auto& [item, last] : saved) {
      if (last >= 0) until[static_cast<size_t>(last - first_anchor)] += problem_.items[item].bytes;
    }
    int64_t saved_bytes = 0;
    for (int t = end_anchor; t-- > first_anchor;) {
      saved_bytes += until[static_cast<size_t>(t - first_anchor)];
      saving.backward_bytes = std::max(saving.backward_bytes, problem_.anchors[t].fixed_bytes + saved_bytes);
    }
    for (int t = first_anchor; t < end_anchor; ++t) saving.backward.push_back(problem_.anchors[t].id);
    result.savings.push_back(std::move(saving));
    return result;
  }

  std::set<int> Servers(int requirement) const {
    if (requirement < 0) return {};
    const auto& alternatives = problem_.requirements[requirement].alternatives;
    return {alternatives.begin(), alternatives.end()};
  }

  // What the block keeps for its backward, with the last anchor of the block that reads it (-1: none does), and
  // something that serves as its output.
  std::map<int, int> SavedItems(int block, int first_anchor, int end_anchor, int out) const {
    std::map<int, int> saved;
    for (int t = first_anchor; t < end_anchor; ++t) {
      for (int need : problem_.anchors[t].needs) {
        const int item = ServerOf(need);
        if (item >= 0 && block_of_[made_at_[item]] == block) saved[item] = t;
      }
    }
    if (out < 0) return saved;
    const std::set<int> servers = Servers(out);
    const bool served = std::any_of(servers.begin(), servers.end(), [&](int item) { return saved.contains(item); });
    if (!served) saved[ServerOf(out)] = -1;
    return saved;
  }

  // The operators that make the block's output and nothing else, each in the variant that writes the fewest bytes.
  std::vector<int> RunOps(const std::vector<int>& ops, int out) const {
    std::set<int> needed;
    if (out >= 0) needed.insert(out);
    std::vector<int> chosen;
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      std::vector<int> serves;
      for (int need : needed) {
        if (Writes(*op, need)) serves.push_back(need);
      }
      if (serves.empty()) continue;
      const int variant = SmallestVariant(*op, serves);
      for (int need : serves) needed.erase(need);
      needed.insert(problem_.ops[variant].needs.begin(), problem_.ops[variant].needs.end());
      chosen.push_back(variant);
    }
    std::reverse(chosen.begin(), chosen.end());
    return chosen;
  }

  bool Writes(int op, int requirement) const {
    const auto& outputs = problem_.ops[op].outputs;
    const auto& alternatives = problem_.requirements[requirement].alternatives;
    return std::any_of(alternatives.begin(), alternatives.end(),
                       [&](int item) { return std::find(outputs.begin(), outputs.end(), item) != outputs.end(); });
  }

  int64_t OutputBytes(int op) const {
    int64_t bytes = 0;
    for (int item : problem_.ops[op].outputs) bytes += problem_.items[item].bytes;
    return bytes;
  }

  std::array<int64_t, 3> Footprint(int op) const {
    return {OutputBytes(op), problem_.ops[op].cost, problem_.ops[op].work_bytes};
  }

  int SmallestVariant(int op, const std::vector<int>& serves) const {
    int best = op;
    const StageOp& given = problem_.ops[op];
    if (graph_.ops[given.id].group.empty()) return best;
    for (size_t i = 0; i < problem_.ops.size(); ++i) {
      const auto variant = static_cast<int>(i);
      const bool fits = problem_.ops[i].group == given.group && problem_.ops[i].needs == given.needs &&
                        std::all_of(serves.begin(), serves.end(), [&](int need) { return Writes(variant, need); });
      if (fits && Footprint(variant) < Footprint(best)) best = variant;
    }
    return best;
  }

  // Runs `ops` one after the other; what nobody needs any more goes, but for items of `kept`.
  Pass Measure(const std::vector<int>& ops, const std::set<int>& kept) const {
    Pass pass;
    pass.ops = ops;
    std::map<int, size_t> last_use;  // of items made in this pass
    for (size_t i = 0; i < ops.size(); ++i) {
      for (int need : problem_.ops[ops[i]].needs) {
        for (int item : problem_.requirements[need].alternatives) {
          if (!last_use.contains(item)) continue;
          last_use[item] = i;
          break;
        }
      }
      for (int item : problem_.ops[ops[i]].outputs) last_use[item] = i;
    }
    std::map<size_t, int64_t> dies;
    for (const auto& [item, last] : last_use) {
      if (!kept.contains(item)) dies[last] += problem_.items[item].bytes;
    }
    int64_t live = 0;
    for (size_t i = 0; i < ops.size(); ++i) {
      live += OutputBytes(ops[i]);
      pass.peak_bytes = std::max(pass.peak_bytes, live + problem_.ops[ops[i]].work_bytes);
      if (const auto it = dies.find(i); it != dies.end()) live -= it->second;
      pass.cost += problem_.ops[ops[i]].cost;
    }
    pass.kept_bytes = live;
    return pass;
  }

  OpSequence Ids(const std::vector<int>& ops) const {
    OpSequence ids;
    for (int op : ops) ids.push_back(problem_.ops[op].id);
    return ids;
  }

  const StepGraph& graph_;
  const StageProblem& problem_;
  std::vector<int> forward_;   // operators in the order of their first runs
  std::vector<int> made_at_;   // by item: position in forward_, -1 if the forward does not make it
  std::vector<bool> is_cut_;   // after forward operator p
  std::vector<int> boundary_;  // the requirement that crosses there
  std::vector<int> block_of_;
  std::vector<int> starts_;
  std::vector<int> anchor_block_;
  int block_count_ = 0;
};

}  // namespace

std::optional<Chain> ExtractChain(const StepGraph& graph, const StageProblem& problem) {
  return Extractor(graph, problem).Extract();
}

}  // namespace onnx_mem
