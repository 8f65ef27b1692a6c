#include "solver/bound/cut_value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <queue>
#include <utility>

namespace onnx_mem {
namespace {

constexpr int kMostBits = 59;                             // of the sum of all costs as capacities
constexpr int64_t kMost = int64_t{1} << (kMostBits + 1);  // no cut in question contains such an arc
constexpr int kMostPrices = 24;                           // per bound; most need a handful

enum class Forced : int8_t { kOpen, kKept, kDropped };

struct Branch {
  int64_t bound = 0;
  std::vector<std::pair<int, Forced>> decisions;                                         // indices into keeps()
  friend bool operator<(const Branch& a, const Branch& b) { return a.bound > b.bound; }  // for a queue, cheapest first
};

struct CutChoice {
  int64_t cost = 0;
  int64_t bytes = 0;
  std::vector<bool> kept;     // by keep
  std::vector<bool> dropped;  // by keep: needed all the same
};

class CutSearch {
 public:
  CutSearch(CutGraph& graph, int64_t cost_unit, const CutLimits& limits)
      : graph_(graph), unit_(cost_unit), limits_(limits), forced_(graph.keeps().size(), Forced::kOpen) {
    int64_t total = 1;
    for (const auto& charge : graph.charges()) total += charge.cost;
    total = std::max(total, cost_unit);  // which is scaled too, where nothing costs anything
    for (const auto& keep : graph.keeps()) total_bytes_ += keep.bytes;
    shift_ = static_cast<int>(std::countl_zero(static_cast<uint64_t>(total))) - (63 - kMostBits);
  }

  CutValue Run() {
    std::priority_queue<Branch> open;
    open.push({});
    CutValue value;
    int64_t proven = 0;
    for (int branches = 0;; ++branches) {
      if (open.empty()) {
        proven = best_cost_;
        break;
      }
      Branch branch = open.top();
      proven = branch.bound;
      const bool done = proven >= std::min(best_cost_, limits_.enough);
      if (done || branches > 2 * limits_.branch_limit || limits_.stop()) break;
      open.pop();
      Explore(std::move(branch), open);
      if (branches == 0) value.impossible = impossible_;
    }
    if (value.impossible) return value;
    value.lower_bound = std::min(proven, best_cost_);
    if (best_cost_ == kNone) return value;
    value.cost = best_cost_;
    for (size_t i = 0; i < best_.kept.size(); ++i) {
      if (best_.kept[i]) value.kept.push_back(graph_.keeps()[i].requirement);
      if (best_.dropped[i]) value.dropped.push_back(graph_.keeps()[i].requirement);
    }
    return value;
  }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  // The bound of the branch, and, where that does not settle it, its two halves.
  void Explore(Branch branch, std::priority_queue<Branch>& open) {
    Force(branch, true);
    room_ = graph_.room_bytes();
    for (const auto& [i, forced] : branch.decisions) {
      if (forced == Forced::kKept) room_ -= graph_.keeps()[i].bytes;
    }
    const int split = Bound(branch);
    Force(branch, false);
    if (split < 0 || branch.bound >= best_cost_) return;
    for (const Forced forced : {Forced::kKept, Forced::kDropped}) {
      Branch half = branch;
      half.decisions.emplace_back(split, forced);
      open.push(std::move(half));
    }
  }

  void Force(const Branch& branch, bool on) {
    for (const auto& [i, forced] : branch.decisions) forced_[i] = on ? forced : Forced::kOpen;
  }

  // Raises branch.bound; returns what to split on, -1 if nothing is left to decide.
  int Bound(Branch& branch) {
    if (room_ < 0) return -1;
    CutChoice small = Smallest();
    if (small.bytes > room_) {
      impossible_ = true;
      return -1;
    }
    Consider(small);
    CutChoice cheap = Cheapest();
    if (cheap.bytes <= room_) {
      Consider(cheap);
      branch.bound = std::max(branch.bound, cheap.cost);
      return -1;
    }
    for (int i = 0; i < kMostPrices && !limits_.stop(); ++i) {
      const double price =
          static_cast<double>(small.cost - cheap.cost) / static_cast<double>(cheap.bytes - small.bytes);
      if (price <= 0) break;
      CutChoice choice;
      branch.bound = std::max(branch.bound, CutAtPrice(price, choice));
      if (branch.bound >= best_cost_) return -1;
      if (branch.bound >= limits_.enough) break;
      Consider(choice);
      const auto at_price = [&](const CutChoice& c) {
        return static_cast<double>(c.cost - cheap.cost) + price * static_cast<double>(c.bytes - cheap.bytes);
      };
      if (at_price(choice) >= -1e-9 * static_cast<double>(small.cost)) break;
      (choice.bytes <= room_ ? small : cheap) = std::move(choice);
    }
    return SplitBetween(cheap, small);
  }

  // Something that one of the two choices around the room keeps and the other does not, the largest.
  int SplitBetween(const CutChoice& cheap, const CutChoice& small) const {
    int best = -1;
    for (size_t i = 0; i < forced_.size(); ++i) {
      if (forced_[i] != Forced::kOpen || cheap.kept[i] == small.kept[i]) continue;
      if (best < 0 || graph_.keeps()[i].bytes > graph_.keeps()[best].bytes) best = static_cast<int>(i);
    }
    return best;
  }

  void Consider(const CutChoice& choice) {
    if (choice.bytes > room_ || choice.cost >= best_cost_) return;
    best_cost_ = choice.cost;
    best_ = choice;
    for (size_t i = 0; i < forced_.size(); ++i) {
      if (forced_[i] == Forced::kKept) best_.kept[i] = true;
    }
  }

  // The choice that keeps the fewest bytes.
  CutChoice Smallest() {
    Load([](int64_t bytes) { return std::min(bytes, kMost); }, [](int64_t) { return int64_t{0}; });
    graph_.cut().Solve();
    return Read();
  }

  // The choice that costs least, and of those one that keeps few bytes: all bytes together weigh less than one unit of
  // cost.
  CutChoice Cheapest() {
    const MinCut::Wide weight = Scaled(unit_) - 1;
    Load([&](int64_t bytes) { return static_cast<int64_t>(bytes * std::max<MinCut::Wide>(weight, 0) / total_bytes_); },
         [&](int64_t cost) { return Scaled(cost); });
    graph_.cut().Solve();
    return Read();
  }

  int64_t Scaled(int64_t cost) const { return shift_ >= 0 ? cost << shift_ : cost >> -shift_; }

  // The choice with the least cost plus price times bytes; returns a lower bound on the cost of any that fits. Bytes
  // are priced at mantissa / 2^exponent scaled cost units each, rounded so that the bound holds.
  int64_t CutAtPrice(double price, CutChoice& choice) {
    int exponent = 0;
    const auto mantissa = static_cast<int64_t>(std::ldexp(std::frexp(price, &exponent), 31));
    exponent = 31 - exponent - shift_;
    const auto scaled = [&](int64_t bytes) -> MinCut::Wide {
      const MinCut::Wide product = static_cast<MinCut::Wide>(bytes) * mantissa;
      return exponent >= 0 ? product >> std::min(exponent, 126) : product << std::min(-exponent, 30);
    };
    Load([&](int64_t bytes) { return static_cast<int64_t>(std::min<MinCut::Wide>(kMost, scaled(bytes))); },
         [&](int64_t cost) { return Scaled(cost); });
    const MinCut::Wide excess = graph_.cut().Solve() - scaled(room_) - 1;
    choice = Read();
    if (excess <= 0) return 0;
    const MinCut::Wide cost = shift_ >= 0 ? (excess + (MinCut::Wide{1} << shift_) - 1) >> shift_ : excess << -shift_;
    return static_cast<int64_t>((cost + unit_ - 1) / unit_ * unit_);
  }

  template <class Bytes, class Cost>
  void Load(Bytes bytes, Cost cost) {
    MinCut& cut = graph_.cut();
    for (int arc : graph_.source_arcs()) cut.SetCapacity(arc, kMost + 1);
    for (size_t i = 0; i < forced_.size(); ++i) {
      const CutGraph::Keep& keep = graph_.keeps()[i];
      const bool open = forced_[i] == Forced::kOpen;
      cut.SetCapacity(keep.arc, open ? bytes(keep.bytes) : forced_[i] == Forced::kKept ? 0 : kMost);
    }
    for (const CutGraph::Charge& charge : graph_.charges()) cut.SetCapacity(charge.arc, cost(charge.cost));
  }

  CutChoice Read() const {
    const MinCut& cut = graph_.cut();
    const std::vector<bool> none(forced_.size(), false);
    CutChoice choice{0, 0, none, none};
    for (size_t i = 0; i < forced_.size(); ++i) {
      const CutGraph::Keep& keep = graph_.keeps()[i];
      const bool produced = keep.produce_node != MinCut::kSink && cut.OnSourceSide(keep.produce_node);
      if (forced_[i] == Forced::kKept || !cut.OnSourceSide(keep.need_node)) continue;
      choice.dropped[i] = produced;
      if (produced) continue;
      choice.kept[i] = true;
      choice.bytes += keep.bytes;
    }
    for (const CutGraph::Charge& charge : graph_.charges()) {
      if (cut.OnSourceSide(charge.node)) choice.cost += charge.cost;
    }
    return choice;
  }

  CutGraph& graph_;
  const int64_t unit_;
  const CutLimits& limits_;
  std::vector<Forced> forced_;
  int64_t total_bytes_ = 1;
  int64_t room_ = 0;
  int shift_ = 0;  // capacities are costs times 2^shift_
  bool impossible_ = false;
  int64_t best_cost_ = kNone;
  CutChoice best_;
};

}  // namespace

CutValue SolveCut(CutGraph& graph, int64_t cost_unit, const CutLimits& limits) {
  CutValue value;
  if (graph.room_bytes() < 0) {
    value.impossible = true;
    return value;
  }
  return CutSearch(graph, cost_unit, limits).Run();
}

}  // namespace onnx_mem
