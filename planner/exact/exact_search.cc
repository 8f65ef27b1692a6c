#include "planner/exact/exact_search.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "planner/exact/bits.h"
#include "planner/exact/remaining_cost.h"
#include "planner/exact/row_map.h"

namespace onnx_mem {
namespace {

struct State {
  int64_t cost = 0;     // of what has run
  int64_t estimate = 0; // cost + what is still unavoidable
  int64_t bytes = 0;    // of resident items
  int32_t t = 0;        // next anchor
  int32_t parent = -1;
  int32_t run = -1;     // operator that led here, an index into ops; kAnchorRun for the anchor before t
};
constexpr int32_t kAnchorRun = -2;

class Search {
 public:
  Search(const StageProblem& problem, int64_t budget, const std::vector<CutChain>& cuts,
         const ExactSearchLimits& limits)
      : problem_(problem), budget_(budget), limits_(limits), remaining_(problem, budget, cuts),
        words_(remaining_.words()), useful_(problem.anchor_count() + 1, words_), row_(words_), child_(words_),
        index_(1024), open_(Later{limits.depth_first}) {
    closed_.resize(problem.anchor_count() + 1);
    best_ = limits.better_than > 0 ? limits.better_than : kImpossible;
    for (int t = 0; t <= problem.anchor_count(); ++t) {
      for (int item = 0; item < problem.item_count(); ++item) {
        if (problem.items[item].useful_until >= t) SetBit(useful_[t], item);
      }
    }
  }

  ExactSearchResult Run() {
    Add(problem_.anchor_cost, 0, 0, -1, -1);
    ExactSearchResult result;
    while (!open_.empty() && !stopped_) {  // after half an expansion, estimates prove nothing
      const auto [estimate, order, id] = open_.top();
      open_.pop();
      if (estimate >= best_) break;
      if (states_[id].estimate != estimate) continue;  // reached more cheaply since
      if (!limits_.depth_first) result.lower_bound = std::max(result.lower_bound, estimate);
      if (states_[id].t == problem_.anchor_count()) {
        result.cost = states_[id].cost;
        result.runs = Path(id);
        result.found = !result.runs.empty();
        best_ = result.cost;
        break;
      }
      if (Stopped()) {
        result.states = static_cast<int64_t>(states_.size());
        return result;
      }
      if (Dominated(id)) continue;
      closed_[states_[id].t].push_back(id);
      Expand(id);
    }
    result.finished = !stopped_ && !(limits_.depth_first && result.found);
    if (result.finished) result.lower_bound = best_;
    result.states = static_cast<int64_t>(states_.size());
    return result;
  }

 private:
  // The state's place in the table of known states, or the empty place where it belongs.
  size_t Slot(int32_t id) const {
    const uint64_t hash = HashOf(id);
    const size_t mask = index_.size() - 1;
    for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
      const KnownState& known = index_[slot];
      if (known.id < 0) return slot;
      if (known.tag == static_cast<uint32_t>(hash >> 32) && Same(known.id, id)) return slot;
    }
  }
  uint64_t HashOf(int32_t id) const { return HashRow(Row(id), words_, static_cast<uint64_t>(states_[id].t)); }
  bool Same(int32_t a, int32_t b) const {
    return states_[a].t == states_[b].t && std::equal(Row(a), Row(a) + words_, Row(b));
  }
  void GrowIndex() {
    std::vector<KnownState> old(2 * index_.size());
    old.swap(index_);
    const size_t mask = index_.size() - 1;
    for (const KnownState& known : old) {
      if (known.id < 0) continue;
      size_t slot = HashOf(known.id) & mask;
      while (index_[slot].id >= 0) slot = (slot + 1) & mask;
      index_[slot] = known;
    }
  }

  const Word* Row(int32_t id) const {
    return rows_.data() + static_cast<size_t>(id) * static_cast<size_t>(words_);
  }

  bool Dominated(int32_t id) const {
    const Word* row = Row(id);
    const auto& closed = closed_[states_[id].t];
    const size_t from = closed.size() > 1000 ? closed.size() - 1000 : 0;
    for (size_t i = closed.size(); i-- > from;) {
      const int32_t other = closed[i];
      if (states_[other].cost > states_[id].cost) continue;
      const Word* big = Row(other);
      bool inside = true;
      for (int w = 0; w < words_ && inside; ++w) inside = (row[w] & ~big[w]) == 0;
      if (inside && other != id) return true;
    }
    return false;
  }

  // A single expansion may add very many states, so that Evict asks too.
  bool Stopped() {
    stopped_ = stopped_ || static_cast<int64_t>(states_.size()) >= limits_.state_limit;
    if (!stopped_ && limits_.stop && (++ticks_ & 255) == 0) stopped_ = limits_.stop();
    return stopped_;
  }

  bool Serves(int requirement) const {
    const auto& alternatives = problem_.requirements[requirement].alternatives;
    return std::any_of(alternatives.begin(), alternatives.end(), [&](int item) { return TestBit(row_.data(), item); });
  }

  void Expand(int32_t id) {
    std::copy_n(Row(id), words_, row_.begin());
    const State state = states_[id];
    const StageAnchor& anchor = problem_.anchors[state.t];
    Try(id, state, kAnchorRun, anchor.needs, anchor.outputs, anchor.fixed_bytes, 0);
    for (size_t i = 0; i < problem_.ops.size(); ++i) {
      const StageOp& op = problem_.ops[i];
      if (op.first_gap > state.t) continue;
      const bool brings = std::any_of(op.outputs.begin(), op.outputs.end(), [&](int item) {
        return !TestBit(row_.data(), item) && problem_.items[item].useful_until >= state.t;
      });
      if (!brings) continue;
      Try(id, state, static_cast<int32_t>(i), op.needs, op.outputs, anchor.gap_bytes + op.work_bytes, op.cost);
    }
  }

  void Try(int32_t id, const State& state, int32_t run, const std::vector<int>& needs, const std::vector<int>& outputs,
           int64_t fixed_bytes, int64_t cost) {
    if (state.cost + cost >= best_) return;
    for (int need : needs) {
      if (!Serves(need)) return;
    }
    int64_t bytes = fixed_bytes + state.bytes;
    for (int item : outputs) {
      if (!TestBit(row_.data(), item)) bytes += problem_.items[item].bytes;
    }
    move_ = {id, run, &needs, &outputs, state.cost + cost, run == kAnchorRun ? state.t + 1 : state.t};
    evictable_.clear();
    dropped_ = row_;
    if (bytes > budget_) {
      ForEachBit(row_.data(), words_, [&](int item) {
        const bool single = std::find(needs.begin(), needs.end(), item) != needs.end();
        const bool output = std::find(outputs.begin(), outputs.end(), item) != outputs.end();
        if (!single && !output && problem_.items[item].bytes > 0) evictable_.push_back(item);
      });
      std::stable_sort(evictable_.begin(), evictable_.end(),
                       [&](int a, int b) { return problem_.items[a].bytes > problem_.items[b].bytes; });
      evictable_bytes_.assign(evictable_.size() + 1, 0);
      for (size_t i = evictable_.size(); i-- > 0;) {
        evictable_bytes_[i] = evictable_bytes_[i + 1] + problem_.items[evictable_[i]].bytes;
      }
    }
    Evict(0, bytes - budget_);
  }

  // Every smallest set of items whose absence makes room: with items in descending size, the last one chosen is the
  // smallest, so a set is smallest if it does not suffice without its last.
  void Evict(size_t i, int64_t excess) {
    if (excess <= 0) return Move();
    if (Stopped()) return;
    for (; i < evictable_.size() && evictable_bytes_[i] >= excess; ++i) {
      const int item = evictable_[i];
      ClearBit(dropped_.data(), item);
      if (StillServed(item)) Evict(i + 1, excess - problem_.items[item].bytes);
      SetBit(dropped_.data(), item);
    }
  }

  bool StillServed(int item) const {
    for (int need : *move_.needs) {
      if (need < problem_.item_count()) continue;
      const auto& alternatives = problem_.requirements[need].alternatives;
      if (std::find(alternatives.begin(), alternatives.end(), item) == alternatives.end()) continue;
      if (std::none_of(alternatives.begin(), alternatives.end(), [&](int a) { return TestBit(dropped_.data(), a); })) {
        return false;
      }
    }
    return true;
  }

  void Move() {
    child_ = dropped_;
    for (int item : *move_.outputs) SetBit(child_.data(), item);
    for (int w = 0; w < words_; ++w) child_[w] &= useful_[move_.t][w];
    int64_t bytes = 0;
    ForEachBit(child_.data(), words_, [&](int item) { bytes += problem_.items[item].bytes; });
    Add(move_.cost, bytes, move_.t, move_.parent, move_.run);
  }

  // Adds the state in child_, unless it cannot beat the best or is known to be reached as cheaply.
  void Add(int64_t cost, int64_t bytes, int32_t t, int32_t parent, int32_t run) {
    const auto id = static_cast<int32_t>(states_.size());
    rows_.insert(rows_.end(), child_.begin(), child_.end());
    states_.push_back({cost, 0, bytes, t, parent, run});
    const size_t slot = Slot(id);
    if (const int32_t known = index_[slot].id; known >= 0) {
      states_.pop_back();
      rows_.resize(rows_.size() - static_cast<size_t>(words_));
      State& old = states_[known];
      if (old.cost <= cost) return;
      old.estimate -= old.cost - cost;
      old.cost = cost;
      old.parent = parent;
      old.run = run;
      if (old.estimate < best_) Push(known);
      return;
    }
    index_[slot] = {static_cast<uint32_t>(HashOf(id) >> 32), id};
    if (3 * states_.size() > 2 * index_.size()) GrowIndex();
    const int64_t left = remaining_.Bound(t, child_.data(), best_ - cost);
    int64_t estimate = left >= kImpossible ? kImpossible : cost + left;
    if (parent >= 0) estimate = std::max(estimate, states_[parent].estimate);
    states_[id].estimate = estimate;
    if (estimate < best_) Push(id);
  }

  void Push(int32_t id) {
    const int64_t late = -(int64_t{states_[id].t} << 32);
    open_.push({states_[id].estimate, limits_.depth_first ? late : late - id, id});
  }

  OpSequence Path(int32_t id) const {
    OpSequence runs;
    for (; states_[id].parent >= 0; id = states_[id].parent) {
      const State& state = states_[id];
      runs.push_back(state.run == kAnchorRun ? problem_.anchors[state.t - 1].id : problem_.ops[state.run].id);
    }
    std::reverse(runs.begin(), runs.end());
    return runs;
  }

  struct MoveInProgress {
    int32_t parent = -1;
    int32_t run = -1;
    const std::vector<int>* needs = nullptr;
    const std::vector<int>* outputs = nullptr;
    int64_t cost = 0;
    int32_t t = 0;
  };

  const StageProblem& problem_;
  const int64_t budget_;
  const ExactSearchLimits& limits_;
  RemainingCost remaining_;
  const int words_;
  BitRows useful_;
  std::vector<Word> row_;
  std::vector<Word> child_;
  std::vector<Word> dropped_;
  std::vector<int> evictable_;
  std::vector<int64_t> evictable_bytes_;
  MoveInProgress move_;
  int64_t best_ = 0;
  int64_t ticks_ = 0;
  bool stopped_ = false;
  std::vector<std::vector<int32_t>> closed_;
  std::vector<State> states_;
  std::vector<Word> rows_;
  struct KnownState {
    uint32_t tag = 0;  // of the hash
    int32_t id = -1;
  };
  std::vector<KnownState> index_;  // open addressing; its size is a power of two
  struct Entry {
    int64_t estimate;
    int64_t order;  // later anchors first
    int32_t id;
  };
  struct Later {
    bool depth_first;
    bool operator()(const Entry& a, const Entry& b) const {
      if (depth_first) return std::tie(a.order, a.estimate, b.id) > std::tie(b.order, b.estimate, a.id);
      return std::tie(a.estimate, a.order, a.id) > std::tie(b.estimate, b.order, b.id);
    }
  };
  std::priority_queue<Entry, std::vector<Entry>, Later> open_;
};

}  // namespace

ExactSearchResult SearchExactly(const StageProblem& problem, int64_t budget_bytes, const std::vector<CutChain>& cuts,
                                const ExactSearchLimits& limits) {
  return Search(problem, budget_bytes, cuts, limits).Run();
}

}  // namespace onnx_mem
