// Dynamic programming over positions: for a row of peaks, the choice of segments with the least recomputation whose
// estimated peak is within.
//
// At a position, all that matters of the choices before it is how many bytes they free (more is better for everything
// after) and what they cost. So each position keeps the labels (saved, cost) that no other label beats, and the peak
// is a condition on every move: an ordinary stretch needs its live bytes minus saved, a segment its re-run's peak minus
// saved. Exact for the profile's estimate but for the cap on labels; the accountant decides what is true.
#include <algorithm>
#include <map>

#include "planner/measure/index.h"
#include "planner/search/proposals.h"

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
  int32_t taken = -1;  // the last segment on the way: index in the arena
};

struct Taken {
  int32_t before = -1;  // the segment before it, in the arena
  int32_t candidate = -1;
};

// Of one position. Each row of labels costs and frees more from one to the next; `rows` says where rows begin.
struct Labels {
  std::vector<Label> list;
  std::vector<size_t> rows;
};

struct Move {
  size_t to = 0;     // position index
  int64_t live = 0;  // most alive on the way, before what earlier segments freed
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
      : profile_(profile),
        course_(course),
        most_labels_(std::clamp(kLabelWork / course.moves.size(), kFewLabels, kMostLabels)) {}

  // Empty with `found` false when no choice fits.
  Choice Solve(int64_t peak, bool& found) {
    arena_.clear();
    std::vector<Labels> at(course_.moves.size());
    at[0] = {{Label{}}, {0}};
    for (size_t p = 0; p + 1 < course_.moves.size(); ++p) {
      Prune(at[p]);
      for (const Move& move : course_.moves[p]) Advance(at[p].list, move, peak, at[move.to]);
      at[p] = {};
    }
    const Label* best = nullptr;
    for (const Label& label : at.back().list) {
      if (profile_.loss_live - label.saved > peak) continue;
      if (best == nullptr || label.cost < best->cost) best = &label;
    }
    found = best != nullptr;
    Choice choice;
    for (int32_t taken = found ? best->taken : -1; taken >= 0; taken = arena_[Index(taken)].before) {
      choice.push_back(arena_[Index(taken)].candidate);
    }
    std::reverse(choice.begin(), choice.end());
    return choice;
  }

 private:
  // Those that free enough for the move, as one more row of `to`. `from` is one row.
  void Advance(const std::vector<Label>& from, const Move& move, int64_t peak, Labels& to) {
    const auto first = std::partition_point(from.begin(), from.end(),
                                            [&](const Label& label) { return move.live - label.saved > peak; });
    if (first == from.end()) return;
    to.rows.push_back(to.list.size());
    if (move.candidate < 0) {
      to.list.insert(to.list.end(), first, from.end());
      return;
    }
    const CandidateFigures& figures = profile_.figures[Index(move.candidate)];
    for (auto label = first; label != from.end(); ++label) {
      to.list.push_back(
          {label->saved + figures.saves_bytes, label->cost + figures.cost, static_cast<int32_t>(arena_.size())});
      arena_.push_back({label->taken, move.candidate});
    }
  }

  // Makes one row of all: labels that free more than every cheaper one; of too many, an even choice by cost.
  void Prune(Labels& labels) {
    std::vector<Label>& list = labels.list;
    if (labels.rows.size() > 1) {
      const auto comes_first = [](const Label& a, const Label& b) {
        return a.cost != b.cost ? a.cost < b.cost : a.saved > b.saved;
      };
      const auto begin = [&](size_t row) { return list.begin() + static_cast<std::ptrdiff_t>(labels.rows[row]); };
      for (size_t row = 1; row < labels.rows.size(); ++row) {
        const auto end = row + 1 < labels.rows.size() ? begin(row + 1) : list.end();
        std::inplace_merge(list.begin(), begin(row), end, comes_first);
      }
      size_t kept = 0;
      for (const Label& label : list) {
        if (kept == 0 || label.saved > list[kept - 1].saved) list[kept++] = label;
      }
      list.resize(kept);
    }
    if (list.size() > most_labels_) {
      const size_t last = list.size() - 1;
      for (size_t i = 0; i < most_labels_; ++i) list[i] = list[i * last / (most_labels_ - 1)];
      list.resize(most_labels_);
    }
  }

  const Profile& profile_;
  const Course& course_;
  size_t most_labels_;
  std::vector<Taken> arena_;
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
