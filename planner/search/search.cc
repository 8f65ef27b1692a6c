#include "planner/search/search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/graph/status_macros.h"
#include "analyzer/order/stable_sort.h"
#include "planner/measure/index.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostTriesPerPlan = 8;

// `choice` with candidate `c` in, and without those that overlap it.
Choice With(const Profile& profile, const Choice& choice, int32_t c) {
  Choice next;
  for (int32_t other : choice) {
    if (!profile.candidates[Index(other)].Overlaps(profile.candidates[Index(c)])) next.push_back(other);
  }
  next.insert(std::upper_bound(next.begin(), next.end(), c), c);
  return next;
}

Choice Without(const Choice& choice, int32_t c) {
  Choice next = choice;
  std::erase(next, c);
  return next;
}

// Pairs of neighbouring candidates that together are a candidate's range.
std::vector<std::vector<std::pair<int32_t, int32_t>>> Halves(const Profile& profile) {
  const auto count = static_cast<int32_t>(profile.candidates.size());
  std::vector<std::vector<std::pair<int32_t, int32_t>>> halves(profile.candidates.size());
  for (int32_t w = 0; w < count; ++w) {
    const Candidate& whole = profile.candidates[Index(w)];
    for (int32_t a = w + 1; a < count && profile.candidates[Index(a)].first == whole.first; ++a) {
      for (int32_t b = a + 1; b < count && profile.candidates[Index(b)].first <= whole.last; ++b) {
        const bool joins = profile.candidates[Index(b)].first == profile.candidates[Index(a)].last + 1;
        if (joins && profile.candidates[Index(b)].last == whole.last) halves[Index(w)].emplace_back(a, b);
      }
    }
  }
  return halves;
}

class Search {
 public:
  Search(const Profile& profile, const std::function<bool()>& may_go_on, Front& front)
      : profile_(profile), may_go_on_(may_go_on), front_(front), halves_(Halves(profile)) {}

  absl::Status Run() {
    const bool two_fronts = front_.line() == BudgetLine::kDevice;
    for (int turn = 0, idle = 0; may_go_on_() && idle < 2; ++turn) {
      const BudgetLine line = two_fronts && turn % 2 == 0 ? BudgetLine::kDevice : BudgetLine::kLive;
      JudgedPlan* next = MostPromising(line);
      if (next == nullptr) {
        ++idle;
        continue;
      }
      idle = 0;
      next->explored = true;
      const JudgedPlan plan = *next;  // it may leave the front while its neighbours join
      RETURN_IF_ERROR(Explore(plan, line));
    }
    return absl::OkStatus();
  }

 private:
  struct Neighbour {
    int64_t gain = 0;
    Choice choice;
  };

  // The unexplored plan with the widest gap to its dearer neighbour on the front; a gap is bytes times cost, each as a
  // share of the whole front's.
  JudgedPlan* MostPromising(BudgetLine line) {
    std::vector<JudgedPlan>& plans = front_.plans(line);
    const auto share = [](int64_t part, int64_t whole) {
      return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
    };
    const Score &first = plans.front().score, &last = plans.back().score;
    JudgedPlan* best = nullptr;
    double widest = -1;
    for (size_t i = 0; i < plans.size(); ++i) {
      if (plans[i].explored) continue;
      const Score& here = plans[i].score;
      const Score& there = plans[std::min(i + 1, plans.size() - 1)].score;
      const double gap = share(BytesOn(line, here) - BytesOn(line, there), BytesOn(line, first) - BytesOn(line, last)) *
                         share(there.cost - here.cost, last.cost - first.cost);
      if (gap > widest) {
        widest = gap;
        best = &plans[i];
      }
    }
    return best;
  }

  // What the estimate says of the change from `plan` to `choice`, on top of what `plan` is known to take.
  void Consider(const JudgedPlan& plan, BudgetLine line, const Score& estimate, Choice choice,
                std::vector<Neighbour>& found) const {
    if (choice == plan.choice || front_.Tried(choice)) return;
    Score score = Estimate(profile_, choice);
    score.device_bytes = plan.score.device_bytes + score.peak_bytes - estimate.peak_bytes;
    score.peak_bytes += plan.score.peak_bytes - estimate.peak_bytes;
    score.cost += plan.score.cost - estimate.cost;
    const int64_t gain = front_.GainOf(line, score);
    if (gain > 0) found.push_back({gain, std::move(choice)});
  }

  absl::Status Explore(const JudgedPlan& plan, BudgetLine line) {
    const Score estimate = Estimate(profile_, plan.choice);
    std::vector<Neighbour> found;
    for (int32_t c = 0; c < static_cast<int32_t>(profile_.candidates.size()); ++c) {
      Consider(plan, line, estimate, With(profile_, plan.choice, c), found);
    }
    for (int32_t c : plan.choice) {
      const Choice rest = Without(plan.choice, c);
      Consider(plan, line, estimate, rest, found);
      for (const auto& [a, b] : halves_[Index(c)]) {
        Consider(plan, line, estimate, With(profile_, With(profile_, rest, a), b), found);
      }
    }
    StableSort(found, [](const Neighbour& a, const Neighbour& b) { return a.gain > b.gain; });
    if (found.size() > kMostTriesPerPlan) found.resize(kMostTriesPerPlan);
    for (const Neighbour& neighbour : found) {
      if (!may_go_on_()) break;
      RETURN_IF_ERROR(front_.Try(neighbour.choice, "dag"));
    }
    return absl::OkStatus();
  }

  const Profile& profile_;
  const std::function<bool()>& may_go_on_;
  Front& front_;
  std::vector<std::vector<std::pair<int32_t, int32_t>>> halves_;
};

}  // namespace

absl::Status SearchFromFront(const Profile& profile, const std::function<bool()>& may_go_on, Front& front) {
  return Search(profile, may_go_on, front).Run();
}

}  // namespace onnx_mem
