#include "solver/exact/preceding_cost.h"

#include <algorithm>
#include <utility>

#include "solver/bound/cut_graph.h"
#include "solver/bound/cut_value.h"
#include "solver/exact/anchor_room.h"

namespace onnx_mem {
namespace {

// See work().
constexpr size_t kRecent = 128;

constexpr int64_t kWorkPerKnapsack = 1000;
constexpr int64_t kWorkPerNode = 40;
constexpr int64_t kWorkPerCutGraph = 20000;
constexpr int64_t kWorkPerArc = 4;
constexpr int64_t kWorkPerState = 5'000'000;  // beyond which a state is held against no further moment

}  // namespace

PrecedingCost::PrecedingCost(const StageProblem& problem, int64_t budget_bytes, const PrecedingEffort& effort,
                             const std::function<bool()>& stop)
    : problem_(problem), budget_bytes_(budget_bytes), effort_(effort) {
  const auto requirement_count = static_cast<int>(problem.requirements.size());
  const int anchor_count = problem.anchor_count();
  words_ = WordsFor(std::max(requirement_count, 1));
  for (auto* row : {&made_by_anchor_, &row_, &needed_}) row->assign(words_, 0);
  for (int r = 0; r < requirement_count; ++r) {
    for (int item : problem.requirements[r].alternatives) {
      if (problem.items[item].maker >= 0) SetBit(made_by_anchor_.data(), r);
    }
  }
  reach_ = BitRows(requirement_count, words_);
  for (int r = 0; r < requirement_count; ++r) {
    if (!TestBit(made_by_anchor_.data(), r)) Reach(r, made_by_anchor_.data(), reach_[r]);
  }
  group_cost_.assign(problem.group_count, 0);
  due_ = BitRows(anchor_count + 1, words_);
  for (int t = 0; t <= anchor_count; ++t) {
    if (t > 0) {
      std::copy_n(due_[t - 1], words_, due_[t]);
      for (int need : problem.anchors[t - 1].needs) {
        for (int w = 0; w < words_; ++w) due_[t][w] |= reach_[need][w];
      }
    }
    due_cost_.push_back(CostOf(due_[t]));
  }
  for (int k = 0; k < anchor_count; ++k) moments_.push_back(DescribeMoment(k));
  const int chosen_count = static_cast<int>(std::min(effort.moments, moments_.size()));
  for (int i = 0; i < chosen_count; ++i) {  // evenly, the last one among them
    chosen_.push_back(anchor_count - 1 - static_cast<int>(int64_t{chosen_count - 1 - i} * anchor_count / chosen_count));
    DescribeNeedsUntil(moments_[chosen_.back()]);
  }
  const auto enough = [&] { return work_ > effort.window_work || stop(); };
  AddUpWindows(enough);
  OrderMoments(enough);
}

// Adds the requirement and, in turn, what every way of making it needs, down to what `there` serves.
void PrecedingCost::Reach(int requirement, const Word* there, Word* row) const {
  std::vector<int> open{requirement};
  SetBit(row, requirement);
  while (!open.empty()) {
    const int r = open.back();
    open.pop_back();
    for (int sub : problem_.requirements[r].subs) {
      if (TestBit(row, sub) || TestBit(there, sub)) continue;
      SetBit(row, sub);
      open.push_back(sub);
    }
  }
}

// Of each group that must run for one of the requirements, the most that any of them asks.
int64_t PrecedingCost::CostOf(const Word* requirements) {
  int64_t cost = 0;
  groups_.clear();
  ForEachBit(requirements, words_, [&](int r) {
    const StageRequirement& requirement = problem_.requirements[r];
    if (requirement.group < 0) {
      if (!CanBeProduced(problem_, requirement)) cost = kImpossible;
      return;
    }
    int64_t& charged = group_cost_[requirement.group];
    if (requirement.cost <= charged) return;
    if (charged == 0) groups_.push_back(requirement.group);
    cost += requirement.cost - charged;
    charged = requirement.cost;
  });
  for (int group : groups_) group_cost_[group] = 0;
  return std::min(cost, kImpossible);
}

bool PrecedingCost::ServedBy(int r, const Word* row) const {
  const auto& alternatives = problem_.requirements[r].alternatives;
  return std::any_of(alternatives.begin(), alternatives.end(), [&](int item) { return TestBit(row, item); });
}

PrecedingCost::Moment PrecedingCost::DescribeMoment(int k) const {
  const StageAnchor& anchor = problem_.anchors[k];
  AnchorRoom room = RoomAt(problem_, anchor, budget_bytes_);
  Moment moment{k,         room.room_bytes,  std::move(room.bytes), std::vector<Word>(words_, 0),
                BitRows(), due_cost_[k + 1], RowMap(words_)};
  std::vector<Word> resident(words_, 0);
  for (int item : anchor.outputs) SetBit(resident.data(), item);
  for (int need : anchor.needs) {
    if (need < problem_.item_count()) SetBit(resident.data(), need);
  }
  for (size_t r = 0; r < problem_.requirements.size(); ++r) {
    const auto& alternatives = problem_.requirements[r].alternatives;
    const bool later =
        std::any_of(alternatives.begin(), alternatives.end(), [&](int item) { return problem_.items[item].maker > k; });
    if (later || ServedBy(static_cast<int>(r), resident.data())) SetBit(moment.there.data(), static_cast<int>(r));
  }
  for (int need : anchor.needs) SetBit(moment.there.data(), need);
  return moment;
}

void PrecedingCost::DescribeNeedsUntil(Moment& moment) const {
  const int anchor_count = problem_.anchor_count();
  moment.needs_until = BitRows(anchor_count + 1, words_);
  for (int t = moment.anchor + 2; t <= anchor_count; ++t) {
    std::copy_n(moment.needs_until[t - 1], words_, moment.needs_until[t]);
    for (int need : problem_.anchors[t - 1].needs) SetBit(moment.needs_until[t], need);
  }
}

// What precedes each moment: the best chain of windows that ends there, or the closure alone.
void PrecedingCost::AddUpWindows(const std::function<bool()>& stop) {
  const std::vector<Word> nothing(words_, 0);
  bool stopped = false;
  for (size_t k = 1; k < moments_.size(); ++k) {
    int64_t& before = moments_[k].before;
    before = std::max(before, moments_[k - 1].before);
    for (int j : chosen_) {
      stopped = stopped || stop();
      if (stopped || j >= static_cast<int>(k)) break;
      const int64_t window = DropCost(moments_[j], static_cast<int>(k) + 1, nothing.data());
      before = std::min(kImpossible, std::max(before, moments_[j].before + window));
    }
  }
}

// For every t the chosen moments, those first that bound best where nothing but the anchors before t asks for
// something; and the last one, which sees what is required best.
void PrecedingCost::OrderMoments(const std::function<bool()>& stop) {
  const std::vector<Word> nothing(words_, 0);
  best_moments_.resize(moments_.size() + 1);
  for (size_t t = 1; t <= moments_.size(); ++t) {
    std::vector<std::pair<int64_t, int>> order;
    for (int k : chosen_) {
      if (k >= static_cast<int>(t)) break;
      int64_t bound = moments_[k].before;
      if (!stop()) bound += DropCost(moments_[k], static_cast<int>(t), nothing.data());
      order.emplace_back(-bound, -k);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [bound, k] : order) best_moments_[t].push_back(-k);
    const int last = static_cast<int>(t) - 1;
    if (std::find(best_moments_[t].begin(), best_moments_[t].end(), last) == best_moments_[t].end()) {
      best_moments_[t].insert(best_moments_[t].begin(), last);
    }
  }
}

int64_t PrecedingCost::ClosureCost(int t, const Word* required) {
  std::copy_n(due_[t], words_, row_.begin());
  bool more = false;
  ForEachBit(required, words_, [&](int item) {
    if (TestBit(row_.data(), item) || TestBit(made_by_anchor_.data(), item)) return;
    more = true;
    for (int w = 0; w < words_; ++w) row_[w] |= reach_[item][w];
  });
  return more ? CostOf(row_.data()) : due_cost_[t];
}

int64_t PrecedingCost::Bound(int t, const Word* required, int64_t enough) {
  int64_t most = ClosureCost(t, required);
  const int64_t most_work = work_ + kWorkPerState;
  auto& moments = best_moments_[t];
  for (size_t i = 0; i < moments.size(); ++i) {
    if (most >= enough || work_ > most_work) break;
    const int64_t before = moments_[moments[i]].before;
    most = std::max(most, before + DropCost(moments_[moments[i]], t, required, most - before, enough - before));
    // What settled this state comes first for the next.
    if (most >= enough) std::rotate(moments.begin(), moments.begin() + i, moments.begin() + i + 1);
  }
  return std::min(most, kImpossible);
}

int64_t PrecedingCost::DropCost(Moment& moment, int t, const Word* required, int64_t least, int64_t enough) {
  if (moment.room_bytes < 0) return kImpossible;
  int64_t most_overflow = -moment.room_bytes;
  const Word* until = t == moment.anchor + 1 ? nullptr : moment.needs_until[t];
  for (int w = 0; w < words_; ++w) needed_[w] = (required[w] | (until ? until[w] : 0)) & ~moment.there[w];
  ForEachBit(needed_.data(), words_, [&](int r) {
    const StageRequirement& requirement = problem_.requirements[r];
    const bool free = requirement.group < 0 ? CanBeProduced(problem_, requirement)
                                            : requirement.cost == 0 && requirement.subs.empty();
    if (free || (r >= problem_.item_count() && ServedBy(r, needed_.data()))) {
      ClearBit(needed_.data(), r);
      return;
    }
    int64_t most_bytes = 0;
    for (int item : requirement.alternatives) most_bytes = std::max(most_bytes, moment.bytes[item]);
    most_overflow += most_bytes;
  });
  if (most_overflow <= 0) return 0;
  if (const int64_t* known = moment.known.Find(needed_.data())) return *known;
  if (const Recent* similar = Similar(moment, least, enough)) return similar->cost >= enough ? similar->cost : 0;
  const int64_t cost = SolveDrop(moment, needed_.data(), enough);
  moment.known.Insert(needed_.data(), cost);
  if (moment.recent.size() < kRecent) moment.recent.emplace_back();
  moment.recent[moment.next_recent] = {needed_, cost};
  moment.next_recent = (moment.next_recent + 1) % kRecent;
  return cost;
}

// An answer that settles this question: more is needed here, and less is enough already; or less is needed here, and
// more is of no use yet.
const PrecedingCost::Recent* PrecedingCost::Similar(const Moment& moment, int64_t least, int64_t enough) const {
  for (const Recent& recent : moment.recent) {
    const bool too_little = recent.cost <= least;
    if (!too_little && recent.cost < enough) continue;
    bool inside = true;
    for (int w = 0; inside && w < words_; ++w) {
      const Word outside = too_little ? needed_[w] & ~recent.needed[w] : recent.needed[w] & ~needed_[w];
      inside = outside == 0;
    }
    if (inside) return &recent;
  }
  return nullptr;
}

int64_t PrecedingCost::SolveDrop(const Moment& moment, const Word* needed, int64_t enough) {
  std::vector<int> items;
  std::vector<int> choices;  // to be served one way or the other, which may take more than one run
  int64_t overflow = -moment.room_bytes;
  std::vector<Word> intermediates(words_, 0);
  ForEachBit(needed, words_, [&](int r) {
    const bool made_for_nothing = problem_.requirements[r].group >= 0 && problem_.requirements[r].cost == 0;
    if (r < problem_.item_count() && !made_for_nothing) {
      items.push_back(r);
      overflow += moment.bytes[r];
    } else {
      choices.push_back(r);
    }
    Reach(r, moment.there.data(), intermediates.data());
  });
  std::vector<Word> keepable(words_, 0);
  for (int w = 0; w < words_; ++w) intermediates[w] &= ~needed[w];
  for (int choice : choices) SetBit(intermediates.data(), choice);
  for (int r = 0; r < static_cast<int>(problem_.requirements.size()); ++r) {
    if (!TestBit(intermediates.data(), r)) continue;
    const bool free = problem_.requirements[r].group < 0 && CanBeProduced(problem_, problem_.requirements[r]);
    if (free || (r >= problem_.item_count() && ServedBy(r, needed))) {
      ClearBit(intermediates.data(), r);
      continue;
    }
    for (int item : problem_.requirements[r].alternatives) SetBit(keepable.data(), item);
  }
  DropQuestion question{problem_,
                        moment.bytes,
                        std::move(items),
                        std::move(keepable),
                        std::move(intermediates),
                        std::vector<int64_t>(problem_.group_count, 0)};
  question.node_limit = effort_.knapsack_nodes;
  const DropValue value = CheapestDrop(std::move(question), overflow, choices);
  work_ += kWorkPerKnapsack + value.nodes * kWorkPerNode;
  if (value.is_exact || effort_.cut_branches < 0) return value.cost;
  return std::max(value.cost, CutBehind(moment, needed, enough));
}

// The same by minimum cuts, where the knapsack is too large: what it takes to make the intermediates counts in full.
int64_t PrecedingCost::CutBehind(const Moment& moment, const Word* needed, int64_t enough) {
  std::vector<int> needs;
  ForEachBit(needed, words_, [&](int r) { needs.push_back(r); });
  CutGraph graph(problem_, budget_bytes_, moment.anchor, needs);
  CutLimits limits;
  limits.branch_limit = effort_.cut_branches;
  limits.enough = enough;
  const CutValue value = SolveCut(graph, problem_.cost_unit, limits);
  work_ += kWorkPerCutGraph + graph.cut().work() * kWorkPerArc;
  return value.impossible ? kImpossible : value.lower_bound;
}

}  // namespace onnx_mem
