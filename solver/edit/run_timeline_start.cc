// How a timeline begins: the runs of a schedule, put into slots and gaps.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "analyzer/order/stable_sort.h"
#include "solver/edit/run_timeline.h"

namespace onnx_mem {
namespace {

struct StepRole {
  int op = -1;
  int anchor = -1;
  bool is_first = false;
};

struct PlannedRun {
  TimeKey key = 0;
  StepRole role;
  std::vector<int> uses;  // items
};

std::map<StepTensorId, int> ItemsByTensor(const StageProblem& problem) {
  std::map<StepTensorId, int> item_of;
  for (int item = 0; item < problem.item_count(); ++item) item_of[problem.items[item].tensor] = item;
  return item_of;
}

// What each computation of a schedule is to the problem.
class Roles {
 public:
  explicit Roles(const StageProblem& problem) : problem_(problem), seen_(problem.group_count, false) {
    for (size_t i = 0; i < problem.ops.size(); ++i) op_of_[problem.ops[i].id] = static_cast<int>(i);
    for (size_t t = 0; t < problem.anchors.size(); ++t) anchor_of_[problem.anchors[t].id] = static_cast<int>(t);
  }

  StepRole Next(StepOpId id) {
    StepRole role;
    if (const auto it = op_of_.find(id); it != op_of_.end()) role.op = it->second;
    const auto anchor = anchor_of_.find(id);
    role.is_first = role.op < 0 || !seen_[problem_.ops[role.op].group];
    if (role.op >= 0) seen_[problem_.ops[role.op].group] = true;
    if (role.is_first && anchor != anchor_of_.end()) role.anchor = anchor->second;
    return role;
  }

 private:
  const StageProblem& problem_;
  std::map<StepOpId, int> op_of_;
  std::map<StepOpId, int> anchor_of_;
  std::vector<bool> seen_;
};

}  // namespace

RunTimeline::RunTimeline(const StageProblem& problem, const Schedule& schedule)
    : problem_(problem),
      rank_(problem.ops.size(), -1),
      home_(problem.group_count, -1),
      accesses_(problem.items.size()) {
  PlaceFirstRuns(schedule);
  RankOperators();
  for (int slot = 0; slot < slot_count(); ++slot) {
    TimelineRun marker;
    marker.slot = slot;
    marker.key = MarkerKey(slot);
    marker.own_bytes = marker.bytes = slot + 1 < slot_count() ? gap_bytes_[slot + 1] : 0;
    slots_[slot].push_back(static_cast<int>(runs_.size()));
    runs_.push_back(marker);
    UpdateSlot(slot);
  }
  Replay(schedule);
  Commit();
}

void RunTimeline::PlaceFirstRuns(const Schedule& schedule) {
  Roles roles(problem_);
  int next_anchor = 0;
  const auto add_slot = [&](const StepRole& first) {
    first_op_.push_back(first.op);
    first_anchor_.push_back(first.anchor);
    const auto last = static_cast<int>(problem_.anchors.size()) - 1;
    gap_bytes_.push_back(problem_.anchors[std::min(next_anchor, last)].gap_bytes);
    if (first.anchor >= 0) next_anchor = first.anchor + 1;
  };
  std::pair<int, int> before(-1, -1);  // home and operator of the run before, in the order of RankOperators
  for (const ScheduleStep& step : schedule) {
    if (step.kind != ScheduleStep::Kind::kCompute) continue;
    const StepRole role = roles.Next(step.op());
    if (role.is_first) {
      if (role.op >= 0) home_[problem_.ops[role.op].group] = static_cast<int>(first_op_.size());
      add_slot(role);
      before = {-1, -1};
      continue;
    }
    const std::pair<int, int> here(home_[problem_.ops[role.op].group], role.op);
    if (here <= before) add_slot({});
    before = here;
  }
  slots_.resize(first_op_.size());
  slot_most_.assign(first_op_.size(), 0);
  profile_ = MemoryProfile(static_cast<int>(first_op_.size()));
}

void RunTimeline::RankOperators() {
  std::vector<int> order;
  for (size_t op = 0; op < problem_.ops.size(); ++op) {
    if (home_[problem_.ops[op].group] >= 0) order.push_back(static_cast<int>(op));
  }
  StableSort(order, [&](int a, int b) { return HomeSlot(a) < HomeSlot(b); });
  for (size_t i = 0; i < order.size(); ++i) rank_[order[i]] = static_cast<int>(i);
  while ((size_t{1} << rank_bits_) < order.size() + 2) ++rank_bits_;
}

void RunTimeline::Replay(const Schedule& schedule) {
  std::vector<PlannedRun> planned;
  std::vector<bool> resident(problem_.items.size(), false);
  const std::map<StepTensorId, int> item_of = ItemsByTensor(problem_);
  Roles roles(problem_);
  int slot = 0;
  TimeKey latest = -1;
  for (const ScheduleStep& step : schedule) {
    if (step.kind == ScheduleStep::Kind::kFree) {
      resident[item_of.at(step.tensor())] = false;
      continue;
    }
    PlannedRun run{0, roles.Next(step.op()), {}};
    if (!run.role.is_first && RerunKey(run.role.op, slot) <= latest) ++slot;
    run.key = run.role.is_first ? FirstKey(slot) : RerunKey(run.role.op, slot);
    latest = run.key;
    const bool required = run.role.anchor >= 0;
    for (int need : required ? problem_.anchors[run.role.anchor].needs : problem_.ops[run.role.op].needs) {
      const auto& alternatives = problem_.requirements[need].alternatives;
      run.uses.push_back(
          *std::find_if(alternatives.begin(), alternatives.end(), [&](int item) { return resident[item]; }));
    }
    for (int item : required ? problem_.anchors[run.role.anchor].outputs : problem_.ops[run.role.op].outputs) {
      resident[item] = true;
    }
    slot += run.role.is_first ? 1 : 0;
    if (slot < slot_count() || run.role.is_first) planned.push_back(std::move(run));
  }
  StableSort(planned, [](const PlannedRun& a, const PlannedRun& b) { return a.key < b.key; });
  TimeKey before = std::numeric_limits<TimeKey>::min();
  for (const PlannedRun& run : planned) {
    if (run.key == before) continue;
    before = run.key;
    const int id = AddRun(run.role.op, run.role.anchor, SlotOf(run.key), run.key);
    for (size_t need = 0; need < run.uses.size(); ++need) SetUse(id, need, run.uses[need]);
  }
}

}  // namespace onnx_mem
