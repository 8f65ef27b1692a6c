#include "solver/edit/run_thinning.h"

#include <algorithm>
#include <map>
#include <vector>

#include "analyzer/order/stable_sort.h"
#include "solver/edit/memory_profile.h"

namespace onnx_mem {
namespace {

class Thinning {
 public:
  Thinning(const StageProblem& problem, const OpSequence& runs, int64_t budget)
      : problem_(problem),
        budget_(budget),
        profile_(std::max<int>(1, static_cast<int>(runs.size()))),
        events_(problem.items.size()) {
    std::map<StepOpId, int> op_of;
    std::map<StepOpId, int> anchor_of;
    for (size_t i = 0; i < problem.ops.size(); ++i) op_of[problem.ops[i].id] = static_cast<int>(i);
    for (int t = 0; t < problem.anchor_count(); ++t) anchor_of[problem.anchors[t].id] = t;
    int next_anchor = 0;
    for (StepOpId id : runs) {
      Run run;
      run.id = id;
      const auto op = op_of.find(id);
      const auto anchor = anchor_of.find(id);
      if (op != op_of.end()) run.op = op->second;
      if (anchor != anchor_of.end() && anchor->second == next_anchor) {
        const StageAnchor& required = problem.anchors[next_anchor++];
        run.is_required = true;
        run.needs = &required.needs;
        run.outputs = &required.outputs;
        run.own_bytes = required.fixed_bytes;
      } else {
        const StageOp& again = problem.ops[run.op];
        const int gap = std::min(next_anchor, problem.anchor_count() - 1);
        run.needs = &again.needs;
        run.outputs = &again.outputs;
        run.own_bytes = problem.anchors[gap].gap_bytes + again.work_bytes;
      }
      runs_.push_back(std::move(run));
    }
    PlaceEvents();
  }

  // Once over all repeated runs, the most costly first. Whether one went.
  bool Pass(const std::function<bool()>& stop) {
    std::vector<int> order;
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (!runs_[i].is_required && !runs_[i].is_gone) order.push_back(static_cast<int>(i));
    }
    StableSort(order, [&](int a, int b) { return CostOf(a) > CostOf(b); });
    bool any = false;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i % 64 == 63 && stop()) return false;
      if (!runs_[order[i]].is_gone) any = TakeOut(order[i]) || any;
    }
    return any;
  }

  OpSequence Left() const {
    OpSequence left;
    for (const Run& run : runs_) {
      if (!run.is_gone) left.push_back(run.id);
    }
    return left;
  }

 private:
  struct Run {
    StepOpId id;
    int op = -1;
    bool is_required = false;
    bool is_gone = false;
    int64_t own_bytes = 0;
    const std::vector<int>* needs = nullptr;
    const std::vector<int>* outputs = nullptr;
    std::vector<int> uses;  // the item that serves each need
  };
  struct Event {
    int at;      // position of the run
    bool makes;  // else reads
    friend bool operator<(const Event& a, const Event& b) { return a.at < b.at; }
  };
  struct Change {
    int item;
    Event event;
    bool added;
  };

  int64_t CostOf(int at) const { return problem_.ops[runs_[at].op].cost; }

  // Every need is served by the alternative that was made last.
  void PlaceEvents() {
    std::vector<int> made(problem_.items.size(), -1);
    for (size_t i = 0; i < runs_.size(); ++i) {
      Run& run = runs_[i];
      profile_.Add(static_cast<int>(i), static_cast<int>(i), run.own_bytes);
      for (int need : *run.needs) {
        int best = -1;
        for (int item : problem_.requirements[need].alternatives) {
          if (made[item] >= 0 && (best < 0 || made[item] > made[best])) best = item;
        }
        if (best < 0 || std::find(run.uses.begin(), run.uses.end(), best) != run.uses.end()) continue;
        run.uses.push_back(best);
        events_[best].push_back({static_cast<int>(i), false});
      }
      for (int item : *run.outputs) {
        made[item] = static_cast<int>(i);
        events_[item].push_back({static_cast<int>(i), true});
      }
    }
    for (size_t item = 0; item < events_.size(); ++item) {
      const auto& list = events_[item];
      for (size_t i = 0; i < list.size(); ++i) {
        const int64_t bytes = problem_.items[item].bytes;
        if (list[i].makes) profile_.Add(list[i].at, list[i].at, bytes);
        if (!list[i].makes) profile_.Add(list[i - 1].at + 1, list[i].at, bytes);
      }
    }
  }

  // Adds or takes away an event. An item is there between an event and the next one that reads, and where it is made.
  void Put(int item, Event event, bool add) {
    auto& list = events_[item];
    const auto place = std::lower_bound(list.begin(), list.end(), event);
    const auto next = add ? place : place + 1;
    const int64_t sign = add ? 1 : -1;
    const int64_t bytes = problem_.items[item].bytes * sign;
    const bool next_reads = next != list.end() && !next->makes;
    const int before = place == list.begin() ? event.at - 1 : (place - 1)->at;
    if (event.makes) {
      // The stretch before it is needed only without it.
      profile_.Add(event.at, event.at, bytes);
      if (next_reads && place != list.begin() && before < event.at) profile_.Add(before + 1, event.at, -bytes);
    } else if (!next_reads) {
      profile_.Add(before + 1, event.at, bytes);
    }
    if (add) {
      list.insert(place, event);
    } else {
      list.erase(place);
    }
    journal_.push_back({item, event, add});
  }

  bool IsRead(int item, int made_at) const {
    const auto& list = events_[item];
    const auto next = std::upper_bound(list.begin(), list.end(), Event{made_at, true});
    return next != list.end() && !next->makes;
  }

  bool TakeOut(int at) {
    journal_.clear();
    gone_.clear();
    if (Detach(at) && profile_.Max() <= budget_) return true;
    while (!journal_.empty()) {
      const Change change = journal_.back();
      journal_.pop_back();
      Put(change.item, change.event, !change.added);
      journal_.pop_back();
    }
    for (int run : gone_) {
      runs_[run].is_gone = false;
      profile_.Add(run, run, kNothing);
    }
    return false;
  }

  // The run, and those whose results nobody else reads. False: something it makes is there no earlier.
  bool Detach(int at) {
    std::vector<int> open{at};
    while (!open.empty()) {
      const int run = open.back();
      open.pop_back();
      if (runs_[run].is_gone) continue;
      runs_[run].is_gone = true;
      gone_.push_back(run);
      profile_.Add(run, run, -kNothing);
      for (int item : runs_[run].uses) Put(item, {run, false}, false);
      for (int item : *runs_[run].outputs) {
        if (IsRead(item, run) && events_[item].front().at == run) return false;
        Put(item, {run, true}, false);
      }
      for (int item : runs_[run].uses) {
        const int maker = MakerBefore(item, run);
        if (maker < 0 || runs_[maker].is_required) continue;
        const auto& outputs = *runs_[maker].outputs;
        const auto is_read = [&](int output) { return IsRead(output, maker); };
        if (std::none_of(outputs.begin(), outputs.end(), is_read)) open.push_back(maker);
      }
    }
    return true;
  }

  int MakerBefore(int item, int at) const {
    const auto& list = events_[item];
    for (auto it = std::lower_bound(list.begin(), list.end(), Event{at, false}); it != list.begin();) {
      if ((--it)->makes) return it->at;
    }
    return -1;
  }

  static constexpr int64_t kNothing = int64_t{1} << 58;  // more than any bytes

  const StageProblem& problem_;
  const int64_t budget_;
  std::vector<Run> runs_;
  MemoryProfile profile_;
  std::vector<std::vector<Event>> events_;  // by item, by position
  std::vector<Change> journal_;
  std::vector<int> gone_;
};

}  // namespace

OpSequence ThinOut(const StageProblem& problem, const OpSequence& runs, int64_t budget_bytes,
                   const std::function<bool()>& stop) {
  Thinning thinning(problem, runs, budget_bytes);
  while (!stop() && thinning.Pass(stop)) {
  }
  return thinning.Left();
}

}  // namespace onnx_mem
