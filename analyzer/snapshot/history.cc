#include "analyzer/snapshot/history.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/snapshot/peak.h"

namespace onnx_mem {
namespace {

// Whether going from `before` to `now`, lines outermost first, is a loop that runs again.
enum class Advance { kAhead, kBack, kSame };
Advance AdvanceBetween(const AllocatorSnapshot& snapshot, const std::vector<FrameId>& before,
                       const std::vector<FrameId>& now) {
  const size_t shared = std::min(before.size(), now.size());
  for (size_t i = 0; i < shared; ++i) {
    if (before[i] == now[i]) continue;
    const StackFrame &from = snapshot.frames[before[i]], &to = snapshot.frames[now[i]];
    return from.file == to.file && from.name == to.name && to.line < from.line ? Advance::kBack : Advance::kAhead;
  }
  return before.size() == now.size() ? Advance::kSame : Advance::kAhead;
}

class Clocks {
 public:
  Clocks(const AllocatorSnapshot& snapshot, const std::vector<StackFacts>& facts, HistoryView& view)
      : snapshot_(snapshot), facts_(facts), view_(view) {}

  void Allocate(size_t event, HeldBlock& block) {
    const StackFacts& facts = facts_[block.stack];
    if (facts.made_by == MadeBy::kBackward) {
      if (!view_.in_backward) BeginPass();
    } else if (facts.made_by != MadeBy::kWorkspace && facts.made_by != MadeBy::kNothingKnown) {
      view_.in_backward = false;
    }
    if (facts.made_by == MadeBy::kOptimizer) view_.optimizer_event = static_cast<int64_t>(event);
    if (IsForward(facts)) Forward(facts, block.bytes);
    view_.last_event = static_cast<int64_t>(event);
    block.event = static_cast<int64_t>(event);
    block.pass = view_.in_backward ? view_.passes - 1 : view_.passes;
    block.round = round_;
  }

 private:
  void BeginPass() {
    view_.in_backward = true;
    ++view_.passes;
    for (const auto& [call, rounds] : rounds_of_call_) {
      int64_t& most = view_.most_rounds[call];
      most = std::max(most, static_cast<int64_t>(rounds.size()));
    }
    rounds_of_call_.clear();
  }

  void Forward(const StackFacts& facts, int64_t bytes) {
    const Advance move = last_ == nullptr ? Advance::kAhead : AdvanceBetween(snapshot_, trail_, facts.outside);
    // The same line, and its modules are called once more: a loop of one line.
    const bool again = move == Advance::kSame && facts.made_by == MadeBy::kModules && left_module_;
    if (move == Advance::kBack || again) ++round_;
    if (move != Advance::kSame || again) left_module_ = false;
    if (last_ != nullptr && move == Advance::kSame && last_->made_by == MadeBy::kModules &&
        facts.made_by != MadeBy::kModules) {
      left_module_ = true;
    }
    last_ = &facts;
    // A function that has returned is kept: called again from the same line, it may be at an earlier line of its own.
    const bool returned =
        facts.outside.size() < trail_.size() && std::equal(facts.outside.begin(), facts.outside.end(), trail_.begin());
    if (!returned) trail_ = facts.outside;
    view_.bytes_of_round.resize(static_cast<size_t>(round_) + 1);
    view_.bytes_of_round.back() += bytes;
    if (facts.call != kNoFrame && facts.made_by == MadeBy::kModules) rounds_of_call_[facts.call].insert(round_);
  }

  const AllocatorSnapshot& snapshot_;
  const std::vector<StackFacts>& facts_;
  HistoryView& view_;
  const StackFacts* last_ = nullptr;
  std::vector<FrameId> trail_;
  bool left_module_ = false;  // on this line, for own code
  int64_t round_ = 0;
  absl::flat_hash_map<FrameId, absl::flat_hash_set<int64_t>> rounds_of_call_;
};

// Blocks by address, and per stack the sizes that are alive.
class HeldBlocks {
 public:
  HeldBlocks(const std::vector<StackFacts>& facts, HistoryView& view) : facts_(facts), view_(view) {}

  void Add(HeldBlock block) {
    std::map<int64_t, int64_t>& sizes = sizes_[block.stack];
    Series& series = view_.series[block.stack];
    block.ordinal = series.made++;
    const bool same_pass = series.last_pass == block.pass;
    if (same_pass && !sizes.empty() && sizes.begin()->first < block.bytes) ++series.grown;
    if (block.bytes < series.last_bytes) ++series.shrunk;
    series.last_bytes = block.bytes;
    series.last_pass = block.pass;
    ++sizes[block.bytes];
    blocks_[block.address] = block;
  }

  void Free(int64_t address) {
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) return;
    const HeldBlock& block = found->second;
    if (view_.in_backward && IsForward(facts_[block.stack])) {
      view_.freed_in_backward.insert(block.stack);
      view_.trained.insert(facts_[block.stack].call);
    }
    std::map<int64_t, int64_t>& sizes = sizes_[block.stack];
    if (const auto size = sizes.find(block.bytes); size != sizes.end() && --size->second == 0) sizes.erase(size);
    blocks_.erase(found);
  }

  const HeldBlock* At(int64_t address) const {
    const auto found = blocks_.find(address);
    return found == blocks_.end() ? nullptr : &found->second;
  }

 private:
  const std::vector<StackFacts>& facts_;
  HistoryView& view_;
  absl::flat_hash_map<int64_t, HeldBlock> blocks_;
  absl::flat_hash_map<StackId, std::map<int64_t, int64_t>> sizes_;
};

}  // namespace

bool IsForward(const StackFacts& facts) {
  return facts.made_by == MadeBy::kModules || facts.made_by == MadeBy::kOwnCode || facts.made_by == MadeBy::kData;
}

size_t FailedRequest(const AllocatorSnapshot& snapshot) {
  size_t at = snapshot.events.size();
  for (size_t i = 0; i < snapshot.events.size(); ++i) {
    if (snapshot.events[i].action == MemoryAction::kOom) at = i;
  }
  return at;
}

HistoryView ViewAt(const AllocatorSnapshot& snapshot, const std::vector<StackFacts>& facts, size_t moment) {
  HistoryView view;
  view.moment = moment;
  Clocks clocks(snapshot, facts, view);
  HeldBlocks held(facts, view);
  const bool requests = std::any_of(snapshot.events.begin(), snapshot.events.end(), [](const MemoryEvent& event) {
    return event.action == MemoryAction::kFreeRequested;
  });
  const MemoryAction freed = requests ? MemoryAction::kFreeRequested : MemoryAction::kFreeCompleted;
  for (size_t i = 0; i < moment; ++i) {
    const MemoryEvent& event = snapshot.events[i];
    if (event.action == freed) held.Free(event.address);
    if (event.action != MemoryAction::kAlloc) continue;
    HeldBlock block{event.address, event.bytes, event.stack};
    clocks.Allocate(i, block);
    held.Add(block);
  }
  UndoneHistory at_moment(snapshot);
  while (at_moment.event() > moment) at_moment.Undo();
  absl::flat_hash_set<int64_t> freed_later;
  for (size_t i = moment; i < snapshot.events.size(); ++i) {
    if (snapshot.events[i].action == freed) freed_later.insert(snapshot.events[i].address);
  }
  for (const auto& [address, live] : at_moment.live()) {
    const HeldBlock* block = held.At(address);
    view.held.push_back(block != nullptr ? *block : HeldBlock{address, live.bytes, live.stack});
    view.held.back().outlives = !freed_later.empty() && !freed_later.contains(address);
  }
  std::sort(view.held.begin(), view.held.end(),
            [](const HeldBlock& a, const HeldBlock& b) { return a.address < b.address; });
  return view;
}

}  // namespace onnx_mem
