#include "solver/exact/provision.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "solver/exact/state_table.h"

namespace onnx_mem {

Provisioner::Provisioner(const StageProblem& problem)
    : problem_(problem),
      words_(WordsFor(std::max(problem.item_count(), 1))),
      op_seen_(problem.ops.size(), 0),
      item_seen_(problem.items.size(), 0) {
  int64_t total = 0;
  for (const StageOp& op : problem.ops) total += op.cost;
  unit_cost_ = std::max<int64_t>(1, total / std::max<int64_t>(1, 20 * static_cast<int64_t>(problem.ops.size())));
}

int Provisioner::MakerOf(int item, int gap) const {
  int best = -1;
  for (int op : problem_.items[item].producers) {
    if (problem_.ops[op].first_gap > gap) continue;
    if (best < 0 || problem_.ops[op].cost < problem_.ops[best].cost) best = op;
  }
  return best;
}

int64_t Provisioner::Closure(const Word* row, const Word* resident, int gap) {
  ++stamp_;
  closure_.clear();
  int64_t cost = 0;
  const auto ask = [&](int item) {
    if (TestBit(resident, item) || item_seen_[item] == stamp_) return;
    item_seen_[item] = stamp_;
    const int op = MakerOf(item, gap);
    if (op < 0 || op_seen_[op] == stamp_) return;
    op_seen_[op] = stamp_;
    closure_.push_back(op);
    cost += CostOf(op);
  };
  ForEachBit(row, words_, ask);
  for (size_t i = 0; i < closure_.size(); ++i) {
    for (int need : problem_.ops[closure_[i]].needs) {
      const auto& alternatives = problem_.requirements[need].alternatives;
      const auto is_there = [&](int item) { return TestBit(resident, item) || item_seen_[item] == stamp_; };
      if (std::none_of(alternatives.begin(), alternatives.end(), is_there)) ask(alternatives.front());
    }
  }
  return cost;
}

int64_t Provisioner::CostToMake(int item, int gap, const Word* resident) {
  std::vector<Word> row(words_, 0);
  std::vector<Word> others(resident, resident + words_);
  SetBit(row.data(), item);
  ClearBit(others.data(), item);
  return Closure(row.data(), others.data(), gap);
}

class ProvisionSearch {
 public:
  ProvisionSearch(Provisioner& provisioner, const ProvisionQuestion& question, const ProvisionLimits& limits)
      : provisioner_(provisioner),
        problem_(provisioner.problem_),
        question_(question),
        limits_(limits),
        words_(provisioner.words_),
        table_(words_),
        row_(words_, 0) {}

  Provision Run() {
    Provision provision;
    if (!question_.held.empty()) row_ = question_.held;
    Choose({-1, -1, &question_.needs, question_.last_bytes, 0}, 0);
    while (!open_.empty()) {
      if (table_.size() > limits_.state_limit || ((++ticks_ & 15) == 0 && limits_.stop())) break;
      const Entry entry = open_.top();
      open_.pop();
      State& state = states_[entry.id];
      if (entry.again ? state.is_closed : state.is_open) continue;
      if (!entry.again && Finished(entry.id)) {
        Trace(entry.id, provision);
        break;
      }
      Expand(entry.id, entry.again);
    }
    provision.states = table_.size();
    const bool exhausted = open_.empty() && provision.outcome == Provision::Outcome::kUnknown;
    if (exhausted) provision.outcome = Provision::Outcome::kImpossible;
    return provision;
  }

 private:
  struct State {
    int64_t past = 0;   // cost of the runs behind it
    int64_t ahead = 0;  // of those that are left, each once
    int32_t after = -1;
    int32_t run = -1;
    bool is_open = false;    // what leads on towards the start has been tried
    bool is_closed = false;  // and what runs something twice, too
  };
  struct Move {
    int32_t after;
    int32_t run;
    const std::vector<int>* needs;
    int64_t own_bytes;  // of outputs and workspace
    int64_t past;
    int64_t ahead = -1;  // if that is known
  };
  struct Entry {
    int64_t rank;
    int64_t bytes;
    int32_t id;
    bool again;
    friend bool operator<(const Entry& a, const Entry& b) {
      return std::tie(a.rank, a.bytes, b.id) > std::tie(b.rank, b.bytes, a.id);
    }
  };

  bool IsIgnored(int item) const {
    return question_.ignores_what_nothing_makes && problem_.items[item].producers.empty();
  }

  int64_t BytesOf(const Word* row) const {
    int64_t bytes = 0;
    ForEachBit(row, words_, [&](int item) { bytes += problem_.items[item].bytes; });
    return bytes;
  }

  bool Finished(int32_t id) const {
    const Word* row = table_.Row(id);
    for (int w = 0; w < words_; ++w) {
      if ((row[w] & ~question_.resident[w]) != 0) return false;
    }
    return true;
  }

  // States in which something can still be required that nothing makes and that is not there lead nowhere.
  bool LeadsNowhere() const {
    bool nowhere = false;
    ForEachBit(row_.data(), words_, [&](int item) {
      nowhere |= !TestBit(question_.resident.data(), item) && provisioner_.MakerOf(item, question_.gap) < 0;
    });
    return nowhere;
  }

  std::vector<int> MakersOf(const Word* row) const {
    std::vector<int> ops;
    ForEachBit(row, words_, [&](int item) {
      for (int op : problem_.items[item].producers) {
        if (problem_.ops[op].first_gap <= question_.gap) ops.push_back(op);
      }
    });
    std::sort(ops.begin(), ops.end());
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
    return ops;
  }

  void Expand(int32_t id, bool again) {
    const std::vector<Word> row(table_.Row(id), table_.Row(id) + words_);
    provisioner_.Closure(row.data(), question_.resident.data(), question_.gap);
    // What some other missing operator reads would be made twice if its run came here.
    read_.assign(words_, 0);
    for (int op : provisioner_.closure_) {
      for (int need : problem_.ops[op].needs) {
        for (int item : problem_.requirements[need].alternatives) SetBit(read_.data(), item);
      }
    }
    const std::vector<int> ops = MakersOf(row.data());
    if (!again) {
      const auto forced = std::find_if(ops.begin(), ops.end(), [&](int op) { return IsForced(op, row.data()); });
      if (forced != ops.end()) {
        GoBack(id, *forced, row, -1);
        states_[id].is_open = states_[id].is_closed = true;
        return;
      }
    }
    bool others = false;
    for (int op : ops) {
      const auto& outputs = problem_.ops[op].outputs;
      const bool leads_on =
          std::any_of(
              outputs.begin(), outputs.end(),
              [&](int item) { return TestBit(row.data(), item) && !TestBit(question_.resident.data(), item); }) &&
          std::none_of(outputs.begin(), outputs.end(), [&](int item) { return TestBit(read_.data(), item); });
      if (leads_on == again) {
        others = true;
        continue;
      }
      const bool as_foreseen = !again && provisioner_.MakerOf(OutputIn(op, row.data()), question_.gap) == op;
      GoBack(id, op, row, as_foreseen ? states_[id].ahead - provisioner_.CostOf(op) : -1);
    }
    (again ? states_[id].is_closed : states_[id].is_open) = true;
    if (!again && others) {
      const int64_t rank = Rank(states_[id]) + 2 * provisioner_.unit_cost_;
      open_.push({rank, BytesOf(row.data()), id, true});
    }
  }

  // All of what it makes is required, it reads only what is required too, and nothing else makes its results: to go
  // back over it at once is as good as any other way.
  bool IsForced(int op, const Word* row) const {
    const StageOp& run = problem_.ops[op];
    if (run.work_bytes > 0) return false;
    for (int item : run.outputs) {
      if (!TestBit(row, item) || TestBit(question_.resident.data(), item)) return false;
      if (problem_.items[item].producers.size() > 1) return false;
    }
    return std::all_of(run.needs.begin(), run.needs.end(), [&](int need) {
      const auto& alternatives = problem_.requirements[need].alternatives;
      return std::any_of(alternatives.begin(), alternatives.end(), [&](int item) { return TestBit(row, item); });
    });
  }

  int OutputIn(int op, const Word* row) const {
    const auto& outputs = problem_.ops[op].outputs;
    return *std::find_if(outputs.begin(), outputs.end(), [&](int item) { return TestBit(row, item); });
  }

  void GoBack(int32_t id, int op, const std::vector<Word>& row, int64_t ahead) {
    const StageOp& run = problem_.ops[op];
    row_ = row;
    int64_t own_bytes = run.work_bytes;
    for (int item : run.outputs) {
      ClearBit(row_.data(), item);
      own_bytes += problem_.items[item].bytes;
    }
    Choose({id, op, &run.needs, own_bytes, states_[id].past + provisioner_.CostOf(op), ahead}, 0);
  }

  void Choose(const Move& move, size_t next_need) {
    for (size_t i = next_need; i < move.needs->size(); ++i) {
      const auto& alternatives = problem_.requirements[(*move.needs)[i]].alternatives;
      const auto is_there = [&](int item) { return TestBit(row_.data(), item) || IsIgnored(item); };
      if (std::any_of(alternatives.begin(), alternatives.end(), is_there)) continue;
      for (int item : alternatives) {
        SetBit(row_.data(), item);
        Choose(move, i + 1);
        ClearBit(row_.data(), item);
      }
      return;
    }
    const int64_t bytes = BytesOf(row_.data());
    if (bytes + move.own_bytes > question_.room_bytes || LeadsNowhere()) return;
    const auto [id, is_new] = table_.FindOrAdd(0, row_.data());
    if (is_new) {
      const bool known = move.ahead >= 0;
      const Word* resident = question_.resident.data();
      states_.push_back({move.past, known ? move.ahead : provisioner_.Closure(row_.data(), resident, question_.gap),
                         move.after, move.run});
    } else {
      if (states_[id].is_open || states_[id].past <= move.past) return;
      states_[id].past = move.past;
      states_[id].after = move.after;
      states_[id].run = move.run;
    }
    open_.push({Rank(states_[id]), bytes, id, false});
  }

  int64_t Rank(const State& state) const {
    return state.ahead + static_cast<int64_t>(limits_.past_weight * static_cast<double>(state.past));
  }

  void Trace(int32_t id, Provision& provision) const {
    provision.outcome = Provision::Outcome::kFound;
    for (;; id = states_[id].after) {
      provision.required.emplace_back(table_.Row(id), table_.Row(id) + words_);
      if (states_[id].after < 0) return;
      provision.ops.push_back(states_[id].run);
    }
  }

  Provisioner& provisioner_;
  const StageProblem& problem_;
  const ProvisionQuestion& question_;
  const ProvisionLimits& limits_;
  const int words_;
  StateTable table_;
  std::vector<State> states_;
  std::vector<Word> row_;
  std::vector<Word> read_;
  std::priority_queue<Entry> open_;
  int64_t ticks_ = 0;
};

Provision Provisioner::Find(const ProvisionQuestion& question, const ProvisionLimits& limits) {
  return ProvisionSearch(*this, question, limits).Run();
}

// Any schedule that runs the anchor passes these states, last use first, with no more room for any of them.
bool Provisioner::CannotRun(int t, int64_t budget_bytes, const ProvisionLimits& limits) {
  int64_t room = 0;
  for (int k = 0; k <= t; ++k) room = std::max(room, budget_bytes - problem_.anchors[k].gap_bytes);
  ProvisionQuestion question{t, problem_.anchors[t].needs, std::vector<Word>(words_, 0), {}, room, 0, true};
  return Find(question, limits).outcome == Provision::Outcome::kImpossible;
}

}  // namespace onnx_mem
