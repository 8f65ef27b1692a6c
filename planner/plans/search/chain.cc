// Dynamic programming over positions: for a row of peaks, the choice of segments with the least recomputation whose
// estimated peak is within.
//
// At a position, all that matters of the choices before it is how many bytes they free (more is better for everything
// after) and what they cost. So each position keeps the labels (saved, cost) that no other label beats, and the peak
// is a condition on every move: an ordinary stretch needs its live bytes minus saved, a segment its re-run's peak minus
// saved. Exact for the profile's estimate but for the cap on labels; the accountant decides what is true.
#include <algorithm>
#include <map>

#include "planner/plans/measure/index.h"
#include "planner/plans/search/proposals.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostLabels = 256;
constexpr size_t kFewLabels = 24;
constexpr int kPeaks = 48;
constexpr int kFewPeaks = 8;
// Labels over all positions, and positions over all peaks: beyond these there are fewer of each.
constexpr size_t kLabelWork = 240'000;
constexpr size_t kPeakWork = 100'000;

struct Label {
  int64_t saved = 0;
  int64_t cost = 0;
  int32_t before = -1;     // label index in the arena
  int32_t candidate = -1;  // -1: an ordinary stretch
};

struct Move {
  size_t to = 0;           // position index
  int64_t live = 0;        // most alive on the way, before what earlier segments freed
  int32_t candidate = -1;
};

// Positions at which a segment can begin or end, and the moves between them. The same for every peak.
struct Course {
  std::vector<std::vector<Move>> moves;  // by position
};

Course BuildCourse(const Profile& profile) {
  std::map<int32_t, size_t> index;
  const auto count = static_cast<int32_t>(profile.forward_live.size());
  index[0] = index[count] = 0;
  for (const Candidate& c : profile.candidates) index[c.first] = index[c.last + 1] = 0;
  size_t next = 0;
  for (auto& [position, number] : index) number = next++;
  Course course;
  course.moves.resize(index.size());
  for (auto at = index.begin(), end = std::next(at); end != index.end(); at = end++) {
    int64_t live = 0;
    for (auto p = static_cast<size_t>(at->first); p < static_cast<size_t>(end->first); ++p) {
      live = std::max({live, profile.forward_live[p], profile.backward_live[p]});
    }
    course.moves[at->second].push_back({end->second, live, -1});
  }
  for (size_t i = 0; i < profile.candidates.size(); ++i) {
    const Candidate& c = profile.candidates[i];
    course.moves[index[c.first]].push_back(
        {index[c.last + 1], profile.figures[i].rerun_peak_bytes, static_cast<int32_t>(i)});
  }
  return course;
}

class Solver {
 public:
  Solver(const Profile& profile, const Course& course)
      : profile_(profile), course_(course),
        most_labels_(std::clamp(kLabelWork / course.moves.size(), kFewLabels, kMostLabels)) {}

  // Empty with `found` false when no choice fits.
  Choice Solve(int64_t peak, bool& found) {
    arena_.assign(1, Label{});
    std::vector<std::vector<int32_t>> at(course_.moves.size());
    at[0] = {0};
    for (size_t p = 0; p + 1 < course_.moves.size(); ++p) {
      Prune(at[p]);
      for (const Move& move : course_.moves[p]) Advance(at[p], move, peak, at[move.to]);
    }
    int32_t best = -1;
    for (int32_t label : at.back()) {
      if (profile_.loss_live - arena_[Index(label)].saved > peak) continue;
      if (best < 0 || arena_[Index(label)].cost < arena_[Index(best)].cost) best = label;
    }
    found = best >= 0;
    Choice choice;
    for (; best >= 0; best = arena_[Index(best)].before) {
      if (arena_[Index(best)].candidate >= 0) choice.push_back(arena_[Index(best)].candidate);
    }
    std::reverse(choice.begin(), choice.end());
    return choice;
  }

 private:
  void Advance(const std::vector<int32_t>& from, const Move& move, int64_t peak, std::vector<int32_t>& to) {
    for (int32_t label : from) {
      Label next = arena_[Index(label)];
      if (move.live - next.saved > peak) continue;
      next.before = label;
      next.candidate = move.candidate;
      if (move.candidate >= 0) {
        next.saved += profile_.figures[Index(move.candidate)].saves_bytes;
        next.cost += profile_.figures[Index(move.candidate)].cost;
      }
      to.push_back(static_cast<int32_t>(arena_.size()));
      arena_.push_back(next);
    }
  }

  // Keeps labels that free more than every cheaper one; of too many, an even choice by cost.
  void Prune(std::vector<int32_t>& labels) {
    std::stable_sort(labels.begin(), labels.end(), [&](int32_t a, int32_t b) {
      const Label &x = arena_[Index(a)], &y = arena_[Index(b)];
      return x.cost != y.cost ? x.cost < y.cost : x.saved > y.saved;
    });
    std::vector<int32_t> kept;
    for (int32_t label : labels) {
      if (kept.empty() || arena_[Index(label)].saved > arena_[Index(kept.back())].saved) kept.push_back(label);
    }
    if (kept.size() > most_labels_) {
      std::vector<int32_t> some;
      for (size_t i = 0; i < most_labels_; ++i) some.push_back(kept[i * (kept.size() - 1) / (most_labels_ - 1)]);
      kept = std::move(some);
    }
    labels = std::move(kept);
  }

  const Profile& profile_;
  const Course& course_;
  size_t most_labels_;
  std::vector<Label> arena_;
};

}  // namespace

std::vector<Choice> ProposeChain(const Profile& profile) {
  const Course course = BuildCourse(profile);
  Solver solver(profile, course);
  // The lowest peak that a choice reaches, by bisection; then a row of peaks between it and the baseline's.
  int64_t low = profile.constant_peak, high = profile.baseline_peak;
  bool found = false;
  for (int i = 0; i < 24 && high - low > high / 4096; ++i) {
    const int64_t middle = low + (high - low) / 2;
    solver.Solve(middle, found);
    (found ? high : low) = middle;
  }
  std::vector<Choice> choices;
  const int peaks = std::clamp(static_cast<int>(kPeakWork / course.moves.size()), kFewPeaks, kPeaks);
  for (int i = 0; i < peaks; ++i) {
    const Choice choice = solver.Solve(high + (profile.baseline_peak - high) / peaks * i, found);
    if (found && (choices.empty() || choices.back() != choice)) choices.push_back(choice);
  }
  return choices;
}

}  // namespace onnx_mem
