// Plans that were enacted, and among them the front: those that no other plan beats in both bytes and recomputation.
//
// Where the budget means the device there are two fronts, as what is alive and what an allocator makes of it differ: on
// live bytes, quick to measure and smooth to search; on the device's, which answers. A plan found on one is a start for
// the other.
//
// Where plans of a finer class are known, a choice that one of them beats by what is proven of the choice is not
// enacted. It is on the front with the figures that are proven, so that the search has its neighbours, and answers
// nothing. What it keeps off the front is beaten too.
#ifndef ONNX_MEM_PLANNER_SEARCH_FRONT_H_
#define ONNX_MEM_PLANNER_SEARCH_FRONT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/measure/accountant.h"
#include "planner/measure/profile.h"

namespace onnx_mem {

struct JudgedPlan {
  Choice choice;
  Score score;
  std::string method;
  std::optional<Measured> measured = {};  // where the device's bytes were looked at
  bool explored = false;                  // its neighbours were looked at
  bool beaten = false;                    // by a plan of `Front::SkipBeatenBy`: its score is what is proven
};

int64_t BytesOn(BudgetLine line, const Score& score);

class Front {
 public:
  // `line`: what the budget limits.
  Front(Accountant& accountant, const Profile& profile, BudgetLine line)
      : accountant_(accountant), profile_(profile), line_(line) {}

  BudgetLine line() const { return line_; }

  // What a plan of `finer`, which outlives this, has no more of than `least_of` proves of a choice, and less of one of
  // both, need not be enacted.
  using LeastOf = std::function<Score(const Choice&)>;
  void SkipBeatenBy(const Front& finer, LeastOf least_of) {
    finer_ = &finer;
    least_of_ = std::move(least_of);
  }
  // From here on only a choice that may answer a budget is enacted: what is proven of it is within, for no more than
  // the finer plan that answers; where none does, it takes no more than the least of them.
  void AnswerOnly(std::optional<int64_t> budget_bytes) { budget_bytes_ = budget_bytes; }
  bool IsBeaten(const Choice& choice) const {
    const auto found = tried_.find(choice);
    return found != tried_.end() && found->second.beaten;
  }

  // Enacts `choice` unless that was done before, and puts it where it belongs.
  absl::Status Try(const Choice& choice, std::string_view method);
  // Of a choice that was tried. Device bytes that were not looked at are at least those.
  const Score& ScoreOf(const Choice& choice) const { return tried_.at(choice).score; }
  bool Tried(const Choice& choice) const { return tried_.contains(choice); }
  // What was measured of `choice` when it was tried; nullopt if it was not, or its device bytes were not looked at.
  std::optional<Measured> MeasuredOf(const Choice& choice) const {
    const auto found = tried_.find(choice);
    return found == tried_.end() ? std::nullopt : found->second.measured;
  }

  // By rising cost, that is by falling bytes on `line`. The front on the device is empty where the budget means live
  // bytes.
  std::vector<JudgedPlan>& plans(BudgetLine line) { return plans_[static_cast<size_t>(line)]; }
  const std::vector<JudgedPlan>& plans(BudgetLine line) const { return plans_[static_cast<size_t>(line)]; }

  // How far below the front on `line` a plan with this score lies: bytes less than the front has for no more cost;
  // negative when the front is better.
  int64_t GainOf(BudgetLine line, const Score& score) const;

  // With an estimate whose device bytes are unknown: might it have a place on any front?
  bool IsPromising(const Score& estimate) const;

 private:
  void Insert(BudgetLine line, const JudgedPlan& plan);
  // The score that is proven of a choice, where a plan of the finer class beats it.
  std::optional<Score> BeatenScore(const Choice& choice) const;
  bool MayAnswer(const Score& least) const;
  // As if it had been enacted, and counted as work like that: what else is tried stays the same.
  void AddBeaten(JudgedPlan plan);

  Accountant& accountant_;
  const Profile& profile_;
  BudgetLine line_;
  std::array<std::vector<JudgedPlan>, 2> plans_;  // by BudgetLine
  struct Outcome {
    Score score;
    std::optional<Measured> measured = {};
    bool beaten = false;
  };
  std::map<Choice, Outcome> tried_;
  const Front* finer_ = nullptr;
  LeastOf least_of_;
  std::optional<int64_t> budget_bytes_;  // of AnswerOnly
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_SEARCH_FRONT_H_
