#include "solver/exact/drop_knapsack.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

// Branch and bound. The bound splits the price of an operator over the items that it makes, by bytes, and drops the
// last item in part. Items of an operator that is paid for already count as dropped for nothing.
struct Knapsack : DropQuestion {
  explicit Knapsack(DropQuestion question) : DropQuestion(std::move(question)) {}

  std::vector<double> rate = {};  // per item of `items`: price per byte, ascending
  std::vector<int64_t> suffix_bytes = {};
  std::vector<int> paid = {};             // per group: how often it was paid for in this search
  std::vector<int64_t> group_bytes = {};  // per group: bytes of its items
  std::vector<int8_t> again = {};         // per intermediate: whether it is produced again
  std::vector<int8_t> kept = {};          // per item: whether it is kept to serve an intermediate
  struct Open {
    int requirement;
    int next;  // index into open_lists, or kNothing
  };
  static constexpr int kNothing = -1;
  std::vector<Open> open_lists = {};  // lists that share their ends
  int64_t best = kImpossible;
  int nodes = 0;

  int GroupOf(int r) const { return problem.requirements[r].group; }

  int64_t Price(int r) const {
    if (GroupOf(r) < 0) return kImpossible;
    return std::max<int64_t>(0, problem.requirements[r].cost - covered[GroupOf(r)]);
  }

  // `choices`: requirements that must be served in any case.
  DropValue Solve(int64_t overflow, const std::vector<int>& choices) {
    group_bytes.assign(covered.size(), 0);
    paid.assign(covered.size(), 0);
    again.assign(problem.requirements.size(), 0);
    kept.assign(problem.items.size(), 0);
    std::erase_if(items, [&](int item) { return GroupOf(item) < 0; });  // nothing makes them again: they stay
    for (int item : items) group_bytes[GroupOf(item)] += bytes[item];
    const auto rate_of = [&](int item) {
      return static_cast<double>(Price(item)) / static_cast<double>(std::max<int64_t>(1, group_bytes[GroupOf(item)]));
    };
    StableSort(items, [&](int a, int b) { return rate_of(a) < rate_of(b); });
    for (int item : items) rate.push_back(rate_of(item));
    suffix_bytes.assign(items.size() + 1, 0);
    for (size_t i = items.size(); i-- > 0;) suffix_bytes[i] = suffix_bytes[i + 1] + bytes[items[i]];
    if (suffix_bytes[0] < overflow) return {kImpossible, true, 0};
    const int64_t fraction = Fraction(0, overflow);
    Resolve(Then(choices, kNothing), 0, overflow, 0);
    if (nodes > node_limit) return {fraction, false, nodes};
    return {best, true, nodes};
  }

  int64_t Fraction(size_t first, int64_t overflow) const {
    for (size_t i = first; i < items.size(); ++i) {
      if (paid[GroupOf(items[i])] > 0) overflow -= bytes[items[i]];
    }
    double cost = 0;
    for (size_t i = first; i < items.size() && overflow > 0; ++i) {
      if (paid[GroupOf(items[i])] > 0) continue;
      const int64_t dropped = std::min(overflow, bytes[items[i]]);
      cost += rate[i] * static_cast<double>(dropped);
      overflow -= dropped;
    }
    return static_cast<int64_t>(std::ceil(cost * (1 - 1e-12) - 1e-6));
  }

  void Search(size_t i, int64_t overflow, int64_t cost) {
    for (; nodes <= node_limit; ++i) {
      ++nodes;
      if (cost >= best) return;
      if (overflow <= 0) {
        best = cost;
        return;
      }
      if (suffix_bytes[i] < overflow || cost + Fraction(i, overflow) >= best) return;
      Drop(i, overflow, cost);
      if (Price(items[i]) == 0) return;  // to drop it cost nothing; else go on as if it were kept
    }
  }

  template <class F>
  void Paying(int r, F f) {
    const int group = GroupOf(r);
    const int64_t before = covered[group];
    covered[group] = std::max(before, problem.requirements[r].cost);
    ++paid[group];
    f();
    --paid[group];
    covered[group] = before;
  }

  void Drop(size_t i, int64_t overflow, int64_t cost) {
    const int item = items[i];
    const int64_t price = Price(item);
    const size_t mark = open_lists.size();
    Paying(item, [&] {
      Resolve(Then(problem.requirements[item].subs, kNothing), i + 1, overflow - bytes[item], cost + price);
    });
    open_lists.resize(mark);
  }

  // The list that has these in front of it, the last one first.
  int Then(const std::vector<int>& requirements, int list) {
    for (int r : requirements) {
      open_lists.push_back({r, list});
      list = static_cast<int>(open_lists.size()) - 1;
    }
    return list;
  }

  // What it takes to produce the dropped item again: each intermediate is kept at the cut or produced again. `open`: a
  // list in open_lists.
  void Resolve(int open, size_t next, int64_t overflow, int64_t cost) {
    if (++nodes > node_limit || cost >= best) return;
    while (open != kNothing) {
      const int r = open_lists[open].requirement;
      open = open_lists[open].next;
      if (!TestBit(intermediates.data(), r) || again[r]) continue;
      const auto& alternatives = problem.requirements[r].alternatives;
      if (std::any_of(alternatives.begin(), alternatives.end(), [&](int item) { return kept[item] > 0; })) continue;
      for (int item : alternatives) {
        if (!TestBit(keepable.data(), item)) continue;
        kept[item] = 1;
        Resolve(open, next, overflow + bytes[item], cost);
        kept[item] = 0;
      }
      if (GroupOf(r) >= 0) ProduceAgain(r, open, next, overflow, cost);
      return;
    }
    Search(next, overflow, cost);
  }

  void ProduceAgain(int r, int open, size_t next, int64_t overflow, int64_t cost) {
    again[r] = 1;
    const int64_t price = Price(r);
    const size_t mark = open_lists.size();
    Paying(r, [&] { Resolve(Then(problem.requirements[r].subs, open), next, overflow, cost + price); });
    open_lists.resize(mark);
    again[r] = 0;
  }
};

}  // namespace

DropValue CheapestDrop(DropQuestion question, int64_t overflow, const std::vector<int>& choices) {
  return Knapsack(std::move(question)).Solve(overflow, choices);
}

}  // namespace onnx_mem
