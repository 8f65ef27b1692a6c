#include "solver/methods/chain_dp.h"

#include <algorithm>
#include <map>

namespace onnx_mem {
namespace {

using Steps = std::vector<ChainStep>;

// The lower envelope of two step functions.
Steps Lower(const Steps& left, const Steps& right) {
  Steps result;
  result.reserve(left.size() + right.size());
  size_t i = 0;
  size_t j = 0;
  while (i < left.size() || j < right.size()) {
    const bool take_left =
        j == right.size() || (i < left.size() && (left[i].bytes < right[j].bytes ||
                                                  (left[i].bytes == right[j].bytes && left[i].cost <= right[j].cost)));
    const ChainStep& step = take_left ? left[i++] : right[j++];
    if (result.empty() || step.cost < result.back().cost) result.push_back(step);
  }
  return result;
}

// The step in force with `bytes`, null if that is too little.
const ChainStep* StepAt(const Steps& steps, int64_t bytes) {
  const auto after = std::upper_bound(steps.begin(), steps.end(), bytes,
                                      [](int64_t value, const ChainStep& step) { return value < step.bytes; });
  return after == steps.begin() ? nullptr : &*(after - 1);
}

}  // namespace

class ChainSolver {
 public:
  ChainSolver(const Chain& chain, int64_t most_bytes, int64_t most_work)
      : chain_(chain), most_bytes_(most_bytes), most_work_(most_work), solution_(chain) {}

  ChainSolution Solve() {
    ClassifyStretches();
    ChoosePointLimit();
    const int n = chain_.size();
    solution_.functions_.resize(static_cast<size_t>(class_count_));
    std::vector<bool> done(static_cast<size_t>(class_count_), false);
    for (int length = 1; length <= n; ++length) {
      for (int first = 0; first + length <= n; ++first) {
        const int id = solution_.class_of_[first][length - 1];
        if (done[id]) continue;
        done[id] = true;
        solution_.functions_[id] = Function(first, first + length - 1);
      }
    }
    return std::move(solution_);
  }

  // Pairs of functions to join: fewer where stretches of blocks are alike.
  int64_t Work() {
    ClassifyStretches();
    return work_;
  }

 private:
  // Blocks are of one type when every number that a function can depend on is the same. Gradient bytes count relative
  // to the neighbour's: parameter gradients that pile up do not make blocks differ.
  std::vector<int64_t> NumbersOf(int index) const {
    const ChainBlock& block = chain_.blocks[index];
    const int64_t gap_below = index > 0 ? chain_.blocks[index - 1].gap_bytes : block.gap_bytes;
    std::vector<int64_t> numbers = {block.output_bytes, block.run_bytes, block.run_cost, gap_below - block.gap_bytes};
    for (const ChainSaving& saving : block.savings) {
      numbers.insert(numbers.end(),
                     {saving.saved_bytes, saving.forward_bytes, saving.backward_bytes - block.gap_bytes, saving.cost});
    }
    return numbers;
  }

  void ClassifyStretches() {
    const int n = chain_.size();
    std::map<std::vector<int64_t>, int> types;
    std::vector<int> type_of;
    for (int i = 0; i < n; ++i) {
      type_of.push_back(types.emplace(NumbersOf(i), static_cast<int>(types.size())).first->second);
      smallest_gap_ = i == 0 ? chain_.blocks[i].gap_bytes : std::min(smallest_gap_, chain_.blocks[i].gap_bytes);
    }
    std::map<std::pair<int, int>, int> classes;
    solution_.class_of_.resize(static_cast<size_t>(n));
    for (int first = 0; first < n; ++first) {
      int current = -1;
      for (int last = first; last < n; ++last) {
        const auto [it, inserted] = classes.emplace(std::pair(current, type_of[last]), class_count_);
        if (inserted) {
          ++class_count_;
          work_ += last - first + 1;
        }
        current = it->second;
        solution_.class_of_[first].push_back(current);
      }
    }
  }

  void ChoosePointLimit() {
    const int64_t by_work = most_work_ / std::max<int64_t>(work_, 1);
    const int64_t by_memory = most_work_ / std::max(class_count_, 1);
    most_steps_ = static_cast<size_t>(std::clamp<int64_t>(std::min(by_work, by_memory), 16, 1 << 20));
  }

  Steps Function(int first, int last) {
    Steps steps = Savings(first, last);
    int64_t run_cost = 0;
    int64_t run_bytes = 0;
    for (int q = first + 1; q <= last; ++q) {
      const ChainBlock& before = chain_.blocks[q - 1];
      const int64_t input = q - 1 == first ? 0 : chain_.blocks[q - 2].output_bytes;
      run_cost += before.run_cost;
      run_bytes = std::max(run_bytes, input + before.run_bytes);
      AddKeep(first, q, last, run_cost, run_bytes, steps);
    }
    Thin(steps);
    return steps;
  }

  Steps Savings(int first, int last) const {
    const ChainBlock& block = chain_.blocks[first];
    const int64_t gap = chain_.blocks[last].gap_bytes;
    Steps best;
    for (size_t k = 0; k < block.savings.size(); ++k) {
      const ChainSaving& saving = block.savings[k];
      const int64_t least = std::max(saving.forward_bytes, saving.backward_bytes - gap);
      Steps steps;
      if (first == last) {
        Append(least, saving.cost, static_cast<int>(k), steps);
      } else {
        for (const ChainStep& rest : solution_.Steps(first + 1, last)) {
          Append(std::max(least, rest.bytes + saving.saved_bytes), saving.cost + rest.cost, static_cast<int>(k), steps);
        }
      }
      best = Lower(best, steps);
    }
    return best;
  }

  // Steps come with bytes that do not fall and costs that fall.
  void Append(int64_t bytes, int64_t cost, int choice, Steps& steps) const {
    if (bytes > most_bytes_ - smallest_gap_) return;
    if (!steps.empty() && steps.back().bytes == bytes) {
      steps.back() = {bytes, cost, choice};
    } else {
      steps.push_back({bytes, cost, choice});
    }
  }

  void AddKeep(int first, int q, int last, int64_t run_cost, int64_t run_bytes, Steps& best) {
    const Steps& high = solution_.Steps(q, last);
    const Steps& low = solution_.Steps(first, q - 1);
    if (high.empty() || low.empty()) return;
    const int64_t high_shift = chain_.blocks[q - 1].output_bytes;
    const int64_t low_shift = chain_.blocks[q - 1].gap_bytes - chain_.blocks[last].gap_bytes;
    int64_t bytes = std::max({run_bytes, high.front().bytes + high_shift, low.front().bytes + low_shift});
    const ChainStep* there = StepAt(best, bytes);
    if (there != nullptr && there->cost <= run_cost + high.back().cost + low.back().cost) return;
    candidate_.clear();
    for (size_t i = 0, j = 0;;) {
      while (i + 1 < high.size() && high[i + 1].bytes + high_shift <= bytes) ++i;
      while (j + 1 < low.size() && low[j + 1].bytes + low_shift <= bytes) ++j;
      Append(bytes, run_cost + high[i].cost + low[j].cost, first - q, candidate_);
      const bool high_ends = i + 1 == high.size();
      const bool low_ends = j + 1 == low.size();
      if (high_ends && low_ends) break;
      const int64_t next_high = high_ends ? low[j + 1].bytes + low_shift : high[i + 1].bytes + high_shift;
      const int64_t next_low = low_ends ? next_high : low[j + 1].bytes + low_shift;
      bytes = std::min(next_high, next_low);
    }
    best = Lower(best, candidate_);
  }

  // Leaving a step out means asking for more bytes than needed, never for fewer.
  void Thin(Steps& steps) {
    if (steps.size() <= most_steps_) return;
    solution_.exact_ = false;
    Steps kept;
    for (size_t i = 0; i < most_steps_; ++i) kept.push_back(steps[i * (steps.size() - 1) / (most_steps_ - 1)]);
    steps = std::move(kept);
  }

  const Chain& chain_;
  const int64_t most_bytes_;
  const int64_t most_work_;
  ChainSolution solution_;
  int class_count_ = 0;
  int64_t work_ = 0;  // pairs of functions to join
  int64_t smallest_gap_ = 0;
  size_t most_steps_ = 0;
  Steps candidate_;
};

const std::vector<ChainStep>& ChainSolution::Steps(int first, int last) const {
  return functions_[class_of_[first][last - first]];
}

std::optional<int64_t> ChainSolution::CostWithin(int64_t budget_bytes) const {
  const int last = chain_.size() - 1;
  const ChainStep* step = StepAt(Steps(0, last), budget_bytes - chain_.blocks[last].gap_bytes);
  if (step == nullptr) return std::nullopt;
  return step->cost;
}

std::vector<std::pair<int64_t, int64_t>> ChainSolution::Curve() const {
  const int last = chain_.size() - 1;
  std::vector<std::pair<int64_t, int64_t>> curve;
  for (const ChainStep& step : Steps(0, last)) {
    curve.emplace_back(step.bytes + chain_.blocks[last].gap_bytes, step.cost);
  }
  return curve;
}

std::optional<OpSequence> ChainSolution::RunsWithin(int64_t budget_bytes) const {
  const int last = chain_.size() - 1;
  if (!CostWithin(budget_bytes)) return std::nullopt;
  OpSequence runs;
  Emit(0, last, budget_bytes - chain_.blocks[last].gap_bytes, runs);
  return runs;
}

void ChainSolution::Emit(int first, int last, int64_t bytes, OpSequence& runs) const {
  const auto append = [&](const OpSequence& more) { runs.insert(runs.end(), more.begin(), more.end()); };
  const int choice = StepAt(Steps(first, last), bytes)->choice;
  if (choice >= 0) {
    const ChainSaving& saving = chain_.blocks[first].savings[choice];
    append(saving.forward);
    if (first < last) Emit(first + 1, last, bytes - saving.saved_bytes, runs);
    append(saving.backward);
    return;
  }
  const int q = first - choice;
  for (int block = first; block < q; ++block) append(chain_.blocks[block].run);
  Emit(q, last, bytes - chain_.blocks[q - 1].output_bytes, runs);
  Emit(first, q - 1, bytes + chain_.blocks[last].gap_bytes - chain_.blocks[q - 1].gap_bytes, runs);
}

ChainSolution SolveChain(const Chain& chain, int64_t most_bytes, int64_t most_work) {
  return ChainSolver(chain, most_bytes, most_work).Solve();
}

int64_t ChainWork(const Chain& chain) {
  ChainSolver solver(chain, 0, 0);
  return solver.Work();
}

void PlanChain(const PlanningTask& task, Incumbent& incumbent) {
  constexpr int kMostBlocks = 400;
  constexpr double kShare = 0.25;
  constexpr double kSecondsWithoutDeadline = 1;
  constexpr double kStepsPerSecond = 3e7;
  constexpr double kWorkPerSecond = 1e6;  // pairs of functions, of the shortest length to which they are thinned
  const std::optional<Chain> extracted = ExtractChain(task.graph, task.problem);
  if (!extracted || extracted->size() < 2) return;
  Chain chain = JoinBlocks(*extracted, kMostBlocks);
  double seconds = kSecondsWithoutDeadline;
  if (const SolveLimits share = task.limits.Share(kShare); share.deadline) {
    seconds = std::chrono::duration<double>(*share.deadline - SolveLimits::Clock::now()).count();
  }
  while (chain.size() > 8 && static_cast<double>(ChainWork(chain)) > seconds * kWorkPerSecond) {
    chain = JoinBlocks(*extracted, chain.size() * 3 / 4);
  }
  const auto most_work = static_cast<int64_t>(std::clamp(seconds * kStepsPerSecond, 1e6, 6e7));
  const ChainSolution solution = SolveChain(chain, task.budget_bytes, most_work);
  if (const auto runs = solution.RunsWithin(task.budget_bytes)) incumbent.Offer(*runs, "chain");
}

}  // namespace onnx_mem
