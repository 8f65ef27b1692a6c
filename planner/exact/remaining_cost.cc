#include "planner/exact/remaining_cost.h"

#include <algorithm>
#include <utility>

#include "planner/exact/anchor_room.h"

namespace onnx_mem {
namespace {

uint64_t PartlyCovered(uint64_t seed, int requirement, int64_t price) {
  const Word row[] = {seed, static_cast<Word>(requirement), static_cast<Word>(price)};
  return HashRow(row, 3, 0);
}

}  // namespace

RemainingCost::RemainingCost(const StageProblem& problem, int64_t budget_bytes, const std::vector<CutChain>& chains)
    : problem_(problem) {
  const auto requirement_count = static_cast<int>(problem.requirements.size());
  const int anchor_count = problem.anchor_count();
  words_ = WordsFor(std::max(requirement_count, 1));
  made_later_ = BitRows(anchor_count + 1, words_);
  needed_after_ = BitRows(anchor_count + 1, words_);
  subs_ = BitRows(requirement_count, words_);
  group_outputs_ = BitRows(std::max(problem.group_count, 1), words_);
  for (auto* row : {&satisfied_, &visited_, &produced_, &stack_}) row->resize(words_);
  charged_.resize(problem.group_count, 0);

  for (int r = 0; r < requirement_count; ++r) {
    for (int sub : problem.requirements[r].subs) SetBit(subs_[r], sub);
    for (int item : problem.requirements[r].alternatives) {
      for (int t = 0; t <= problem.items[item].maker; ++t) SetBit(made_later_[t], r);
    }
  }
  for (const StageOp& op : problem.ops) {
    for (int item : op.outputs) SetBit(group_outputs_[op.group], item);
  }
  for (int t = anchor_count - 1; t >= 0; --t) {
    std::copy_n(needed_after_[t + 1], words_, needed_after_[t]);
    for (int need : problem.anchors[t].needs) SetBit(needed_after_[t], need);
    for (int w = 0; w < words_; ++w) needed_after_[t][w] &= ~made_later_[t][w];
  }

  std::vector<int> anchors;
  for (const CutChain& chain : chains) anchors.insert(anchors.end(), chain.begin(), chain.end());
  std::sort(anchors.begin(), anchors.end());
  anchors.erase(std::unique(anchors.begin(), anchors.end()), anchors.end());
  for (int anchor : anchors) moments_.push_back(DescribeMoment(anchor, budget_bytes));
  for (const CutChain& chain : chains) {
    std::vector<Window>& windows = chains_.emplace_back();
    for (size_t i = 0; i < chain.size(); ++i) {
      const auto moment = std::lower_bound(anchors.begin(), anchors.end(), chain[i]) - anchors.begin();
      const int until = i + 1 < chain.size() ? chain[i + 1] : anchor_count - 1;
      windows.push_back(DescribeWindow(static_cast<size_t>(moment), until));
    }
  }
}

RemainingCost::Moment RemainingCost::DescribeMoment(int k, int64_t budget_bytes) const {
  const StageAnchor& anchor = problem_.anchors[k];
  AnchorRoom room = RoomAt(problem_, anchor, budget_bytes);
  Moment moment{k, room.room_bytes, std::move(room.bytes), BitRows(k + 1, words_), std::vector<Word>(words_),
                std::vector<int64_t>(problem_.group_count, 0)};
  for (int t = k; t >= 0; --t) {
    Word* row = moment.needed_until[t];
    if (t < k) std::copy_n(moment.needed_until[t + 1], words_, row);
    for (int need : problem_.anchors[t].needs) SetBit(row, need);
    for (int w = 0; w < words_; ++w) row[w] &= ~made_later_[t][w];
  }
  return moment;
}

RemainingCost::Window RemainingCost::DescribeWindow(size_t moment, int until) const {
  const StageAnchor& anchor = problem_.anchors[moments_[moment].anchor];
  Window window;
  window.moment = moment;
  window.known = RowMap(3 * words_ + 1);
  std::vector<Word> seen(words_, 0);  // what is there anyway, or is decided for itself
  for (int item : anchor.outputs) SetBit(seen.data(), item);
  for (int need : anchor.needs) SetBit(seen.data(), need);
  std::vector<int> choices;
  for (int t = moments_[moment].anchor + 1; t <= until; ++t) {
    for (int need : problem_.anchors[t].needs) {
      if (TestBit(seen.data(), need) || TestBit(made_later_[moments_[moment].anchor + 1], need)) continue;
      SetBit(seen.data(), need);
      (need < problem_.item_count() ? window.droppable : choices).push_back(need);
    }
  }
  const std::vector<Word> decided(seen);
  const auto there_anyway = [&](int r) {
    const auto& alternatives = problem_.requirements[r].alternatives;
    return std::any_of(alternatives.begin(), alternatives.end(), [&](int i) { return TestBit(decided.data(), i); });
  };
  for (int choice : choices) {
    if (!there_anyway(choice)) window.choices.push_back(choice);
  }
  std::vector<int> open(window.droppable);
  open.insert(open.end(), window.choices.begin(), window.choices.end());
  while (!open.empty()) {
    const StageRequirement& requirement = problem_.requirements[open.back()];
    open.pop_back();
    for (int sub : requirement.subs) {
      if (TestBit(seen.data(), sub) || there_anyway(sub)) continue;
      SetBit(seen.data(), sub);
      window.between.push_back(sub);
      open.push_back(sub);
    }
  }
  window.between.insert(window.between.end(), window.choices.begin(), window.choices.end());
  return window;
}

void RemainingCost::Satisfy(int t, const Word* resident) {
  for (int w = 0; w < words_; ++w) satisfied_[w] = resident[w] | made_later_[t][w];
  for (int r = problem_.item_count(); r < static_cast<int>(problem_.requirements.size()); ++r) {
    for (int item : problem_.requirements[r].alternatives) {
      if (TestBit(resident, item)) SetBit(satisfied_.data(), r);
    }
  }
  produced_ = satisfied_;
  std::fill(visited_.begin(), visited_.end(), 0);
  cost_ = 0;
  for (int group : charged_groups_) charged_[group] = 0;
  charged_groups_.clear();
}

void RemainingCost::Visit(const Word* needed) {
  for (int w = 0; w < words_; ++w) stack_[w] = needed[w] & ~satisfied_[w] & ~visited_[w];
  for (int w = 0; w < words_;) {
    if (stack_[w] == 0) {
      ++w;
      continue;
    }
    const int r = w * 64 + std::countr_zero(stack_[w]);
    stack_[w] &= stack_[w] - 1;
    SetBit(visited_.data(), r);
    const StageRequirement& requirement = problem_.requirements[r];
    const int group = requirement.group;
    if (group < 0) {
      if (!CanBeProduced(problem_, requirement)) cost_ = kImpossible;
      for (int item : requirement.alternatives) SetBit(produced_.data(), item);  // whichever serves it
      continue;
    }
    if (requirement.cost > charged_[group]) {
      if (charged_[group] == 0) charged_groups_.push_back(group);
      cost_ += requirement.cost - charged_[group];
      charged_[group] = requirement.cost;
    }
    const Word* subs = subs_[r];
    const Word* outputs = group_outputs_[group];
    for (int v = words_ - 1; v >= 0; --v) {
      produced_[v] |= outputs[v];
      stack_[v] |= subs[v] & ~satisfied_[v] & ~visited_[v];
      if (stack_[v] != 0) w = std::min(w, v);
    }
  }
}

int64_t RemainingCost::ClosureCost(int t, const Word* resident) {
  Satisfy(t, resident);
  Visit(needed_after_[t]);
  return std::min(cost_, kImpossible);
}

int64_t RemainingCost::Bound(int t, const Word* resident, int64_t enough) {
  Satisfy(t, resident);
  for (Moment& moment : moments_) {
    if (moment.anchor < t) continue;
    Visit(moment.needed_until[t]);
    moment.there = produced_;
    for (int group : moment.charged_groups) moment.charged[group] = 0;
    moment.charged_groups = charged_groups_;
    for (int group : charged_groups_) moment.charged[group] = charged_[group];
  }
  Visit(needed_after_[t]);
  if (cost_ >= enough || cost_ >= kImpossible) return std::min(cost_, kImpossible);
  int64_t most = 0;
  for (auto& chain : chains_) {
    int64_t sum = 0;
    for (Window& window : chain) {
      if (moments_[window.moment].anchor >= t) sum = std::min(kImpossible, sum + DropCost(window));
    }
    most = std::max(most, sum);
    if (cost_ + most >= enough) break;
  }
  return std::min(cost_ + most, kImpossible);
}

// What is already charged for runs of the group that may lie after the moment.
int64_t RemainingCost::Covered(const Moment& moment, int group) const {
  return charged_[group] - moment.charged[group];
}

// What one run after the moment, made to serve the requirement, adds to what is charged.
int64_t RemainingCost::Price(const Moment& moment, int r) const {
  const StageRequirement& requirement = problem_.requirements[r];
  if (requirement.group >= 0) return std::max<int64_t>(0, requirement.cost - Covered(moment, requirement.group));
  return CanBeProduced(problem_, requirement) ? 0 : kImpossible;
}

int64_t RemainingCost::DropCost(Window& window) {
  const Moment& moment = moments_[window.moment];
  if (moment.room_bytes < 0) return kImpossible;
  // Items worth keeping: those that cost nothing to produce again are dropped at once.
  key_.assign(3 * static_cast<size_t>(words_) + 1, 0);
  int64_t overflow = -moment.room_bytes;
  uint64_t partly = 0;  // distinguishes prices that are covered in part
  items_.clear();
  for (int item : window.droppable) {
    if (!TestBit(moment.there.data(), item)) continue;
    const int64_t price = Price(moment, item);
    if (price == 0) continue;
    items_.push_back(item);
    SetBit(key_.data(), item);
    overflow += moment.bytes[item];
    if (price < problem_.requirements[item].cost) partly = PartlyCovered(partly, item, price);
  }
  int64_t most_overflow = overflow;
  for (int choice : window.choices) {
    int64_t most_bytes = 0;
    for (int item : problem_.requirements[choice].alternatives) {
      if (TestBit(moment.there.data(), item)) most_bytes = std::max(most_bytes, moment.bytes[item]);
    }
    most_overflow += most_bytes;
  }
  if (most_overflow <= 0) return 0;
  Word* intermediates = key_.data() + words_;
  Word* keepable = intermediates + words_;
  for (int r : window.between) {
    const int64_t price = Price(moment, r);
    if (price == 0) continue;
    SetBit(intermediates, r);
    // What is not there may still be produced before the moment and kept, at a price that another window may charge.
    for (int item : problem_.requirements[r].alternatives) SetBit(keepable, item);
    if (price < problem_.requirements[r].cost) partly = PartlyCovered(partly, r, price);
  }
  key_.back() = partly;
  if (const int64_t* known = window.known.Find(key_.data())) return *known;
  DropQuestion question{problem_, moment.bytes, items_, {keepable, keepable + words_},
                        {intermediates, intermediates + words_}, std::vector<int64_t>(problem_.group_count, 0)};
  for (int group : charged_groups_) question.covered[group] = Covered(moment, group);
  const int64_t cost = CheapestDrop(std::move(question), overflow, window.choices).cost;
  window.known.Insert(key_.data(), cost);
  return cost;
}

}  // namespace onnx_mem
