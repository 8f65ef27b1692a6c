#include "solver/edit/run_timeline.h"

#include <algorithm>
#include <limits>

namespace onnx_mem {
namespace {

constexpr TimeKey kFirstTime = std::numeric_limits<TimeKey>::min();
constexpr TimeKey kLastTime = std::numeric_limits<TimeKey>::max();

}  // namespace

TimeKey RunTimeline::KeyOfAnchor(int anchor) const {
  const auto slot = std::find(first_anchor_.begin(), first_anchor_.end(), anchor) - first_anchor_.begin();
  return FirstKey(static_cast<int>(slot));
}

bool RunTimeline::HomeIsEmpty(int op) const {
  const std::vector<int>& ids = slots_[HomeSlot(op)];
  return ids.size() < 2 || runs_[ids[ids.size() - 2]].key != FirstKey(HomeSlot(op));
}

const std::vector<int>& RunTimeline::NeedsOf(int id) const {
  const TimelineRun& run = runs_[id];
  return run.anchor >= 0 ? problem_.anchors[run.anchor].needs : problem_.ops[run.op].needs;
}

const std::vector<int>& RunTimeline::OutputsOf(int id) const {
  const TimelineRun& run = runs_[id];
  return run.anchor >= 0 ? problem_.anchors[run.anchor].outputs : problem_.ops[run.op].outputs;
}

bool RunTimeline::StaysWithin(TimeKey after, TimeKey until, int64_t most_bytes) const {
  const int first = SlotOf(after);
  const int last = SlotOf(until);
  if (last > first + 1 && profile_.Max(first + 1, last - 1) > most_bytes) return false;
  const auto within = [&](int slot) {
    const int64_t level = LevelOf(slot);
    if (level + slot_most_[slot] <= most_bytes) return true;
    return std::none_of(slots_[slot].begin(), slots_[slot].end(), [&](int id) {
      return runs_[id].key > after && runs_[id].key <= until && level + runs_[id].bytes > most_bytes;
    });
  };
  return within(first) && (last == first || within(last));
}

int RunTimeline::AccessAfter(int item, TimeKey key) const {
  const auto& list = accesses_[item];
  const auto after = std::upper_bound(list.begin(), list.end(), key,
                                      [](TimeKey value, const ItemAccess& access) { return value < access.key; });
  return static_cast<int>(after - list.begin());
}

bool RunTimeline::Spans(int item, TimeKey key) const {
  const int after = AccessAfter(item, key);
  const auto& list = accesses_[item];
  return after > 0 && after < static_cast<int>(list.size()) && !list[after].makes;
}

int RunTimeline::LifeStart(int item, int index) const {
  const auto& list = accesses_[item];
  while (index >= 0 && !list[index].makes) --index;
  return index;
}

int RunTimeline::AddRerun(int op, int slot) { return AddRun(op, -1, slot, RerunKey(op, slot)); }

int RunTimeline::AddFirstRun(int op) { return AddRun(op, -1, HomeSlot(op), FirstKey(HomeSlot(op))); }

int RunTimeline::AddRun(int op, int anchor, int slot, TimeKey key) {
  int id = static_cast<int>(runs_.size());
  if (free_runs_.empty()) {
    runs_.emplace_back();
  } else {
    id = free_runs_.back();
    free_runs_.pop_back();
  }
  TimelineRun& run = runs_[id];
  run.op = op;
  run.anchor = anchor;
  run.slot = slot;
  run.key = key;
  run.own_bytes = anchor >= 0 ? problem_.anchors[anchor].fixed_bytes : gap_bytes_[slot] + problem_.ops[op].work_bytes;
  run.defined_bytes = 0;
  run.rerun_index = -1;
  run.uses.assign(NeedsOf(id).size(), -1);
  InsertRun(id);
  journal_.push_back({Change::Kind::kAddRun, id, -1, -1, false});
  for (int item : OutputsOf(id)) ChangeAccess(item, id, /*makes=*/true, /*insert=*/true);
  return id;
}

void RunTimeline::RemoveRun(int id) {
  for (size_t need = 0; need < runs_[id].uses.size(); ++need) SetUse(id, need, -1);
  for (int item : OutputsOf(id)) ChangeAccess(item, id, /*makes=*/true, /*insert=*/false);
  EraseRun(id);
  journal_.push_back({Change::Kind::kRemoveRun, id, -1, -1, false});
}

void RunTimeline::SetUse(int id, size_t need, int item) {
  const int old = runs_[id].uses[need];
  if (old == item) return;
  journal_.push_back({Change::Kind::kSetUse, id, old, static_cast<int>(need), false});
  runs_[id].uses[need] = item;
  if (item >= 0) ChangeAccess(item, id, /*makes=*/false, /*insert=*/true);
  if (old >= 0) ChangeAccess(old, id, /*makes=*/false, /*insert=*/false);
}

void RunTimeline::ChangeAccess(int item, int id, bool makes, bool insert) {
  if (insert) {
    InsertAccess(item, id, makes);
  } else {
    EraseAccess(item, id, makes);
  }
  journal_.push_back({insert ? Change::Kind::kAddAccess : Change::Kind::kRemoveAccess, id, item, -1, makes});
}

void RunTimeline::TakeBack(size_t mark) {
  while (journal_.size() > mark) {
    const Change change = journal_.back();
    journal_.pop_back();
    switch (change.kind) {
      case Change::Kind::kAddRun:
        EraseRun(change.run);
        free_runs_.push_back(change.run);
        break;
      case Change::Kind::kRemoveRun: InsertRun(change.run); break;
      case Change::Kind::kAddAccess: EraseAccess(change.item, change.run, change.makes); break;
      case Change::Kind::kRemoveAccess: InsertAccess(change.item, change.run, change.makes); break;
      case Change::Kind::kSetUse: runs_[change.run].uses[change.need] = change.item; break;
    }
  }
}

void RunTimeline::Commit() {
  for (const Change& change : journal_) {
    if (change.kind == Change::Kind::kRemoveRun) free_runs_.push_back(change.run);
  }
  journal_.clear();
}

void RunTimeline::AddRange(TimeKey after, TimeKey until, int64_t bytes) {
  if (after >= until || bytes == 0) return;
  const int first = SlotOf(after);
  const int last = SlotOf(until);
  if (first == last) return AddWithin(first, after, until, bytes);
  AddWithin(first, after, kLastTime, bytes);
  if (last > first + 1) profile_.Add(first + 1, last - 1, bytes);
  AddWithin(last, kFirstTime, until, bytes);
}

void RunTimeline::AddWithin(int slot, TimeKey after, TimeKey until, int64_t bytes) {
  const std::vector<int>& ids = slots_[slot];
  if (runs_[ids.front()].key > after && runs_[ids.back()].key <= until) return profile_.Add(slot, slot, bytes);
  for (int id : ids) {
    if (runs_[id].key > after && runs_[id].key <= until) runs_[id].bytes += bytes;
  }
  UpdateSlot(slot);
}

void RunTimeline::UpdateSlot(int slot) {
  int64_t most = std::numeric_limits<int64_t>::min();
  for (int id : slots_[slot]) most = std::max(most, runs_[id].bytes);
  if (most != slot_most_[slot]) profile_.Add(slot, slot, most - slot_most_[slot]);
  slot_most_[slot] = most;
}

// Between two runs stays what is there at the later one and does not begin with it.
void RunTimeline::InsertRun(int id) {
  TimelineRun& run = runs_[id];
  std::vector<int>& ids = slots_[run.slot];
  const auto next =
      std::upper_bound(ids.begin(), ids.end(), run.key, [&](TimeKey key, int other) { return key < runs_[other].key; });
  const TimelineRun& later = runs_[*next];
  run.bytes = later.bytes - later.own_bytes - later.defined_bytes + run.own_bytes;
  ids.insert(next, id);
  UpdateSlot(run.slot);
  cost_ += run.anchor >= 0 ? problem_.anchors[run.anchor].cost : problem_.ops[run.op].cost;
  if (run.key == FirstKey(run.slot)) return;
  run.rerun_index = static_cast<int>(reruns_.size());
  reruns_.push_back(id);
}

void RunTimeline::EraseRun(int id) {
  TimelineRun& run = runs_[id];
  std::vector<int>& ids = slots_[run.slot];
  ids.erase(std::find(ids.begin(), ids.end(), id));
  UpdateSlot(run.slot);
  cost_ -= run.anchor >= 0 ? problem_.anchors[run.anchor].cost : problem_.ops[run.op].cost;
  if (run.rerun_index < 0) return;
  reruns_[run.rerun_index] = reruns_.back();
  runs_[reruns_.back()].rerun_index = run.rerun_index;
  reruns_.pop_back();
  run.rerun_index = -1;
}

void RunTimeline::InsertAccess(int item, int id, bool makes) {
  auto& list = accesses_[item];
  const TimeKey key = runs_[id].key;
  const int at = AccessAfter(item, key);
  const int64_t bytes = problem_.items[item].bytes;
  const bool read_later = at < static_cast<int>(list.size()) && !list[at].makes;
  if (makes) {
    if (read_later && at > 0) AddRange(list[at - 1].key, key, -bytes);
    if (read_later && at == 0) AddRange(key, list[at].key, bytes);
    AddWithin(SlotOf(key), key - 1, key, bytes);
    runs_[id].defined_bytes += bytes;
  } else if (!read_later && at > 0) {
    AddRange(list[at - 1].key, key, bytes);
  }
  list.insert(list.begin() + at, {key, id, makes});
}

void RunTimeline::EraseAccess(int item, int id, bool makes) {
  auto& list = accesses_[item];
  const TimeKey key = runs_[id].key;
  int at = AccessAfter(item, key) - 1;
  while (list[at].run != id || list[at].makes != makes) --at;
  list.erase(list.begin() + at);
  const int64_t bytes = problem_.items[item].bytes;
  const bool read_later = at < static_cast<int>(list.size()) && !list[at].makes;
  if (makes) {
    if (read_later && at > 0) AddRange(list[at - 1].key, key, bytes);
    if (read_later && at == 0) AddRange(key, list[at].key, -bytes);
    AddWithin(SlotOf(key), key - 1, key, -bytes);
    runs_[id].defined_bytes -= bytes;
  } else if (!read_later && at > 0) {
    AddRange(list[at - 1].key, key, -bytes);
  }
}

OpSequence RunTimeline::Runs() const {
  OpSequence sequence;
  for (const auto& ids : slots_) {
    for (int id : ids) {
      const TimelineRun& run = runs_[id];
      if (run.anchor >= 0) {
        sequence.push_back(problem_.anchors[run.anchor].id);
      } else if (run.op >= 0) {
        sequence.push_back(problem_.ops[run.op].id);
      }
    }
  }
  return sequence;
}

}  // namespace onnx_mem
