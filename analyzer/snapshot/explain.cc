#include "analyzer/snapshot/explain.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/order/stable_sort.h"
#include "analyzer/snapshot/history.h"
#include "analyzer/snapshot/owners.h"
#include "analyzer/snapshot/peak.h"
#include "analyzer/snapshot/stacks.h"

namespace onnx_mem {
namespace {

// CUDACachingAllocator: requests of up to 1 MiB are served from segments of 2 MiB, and others never are.
constexpr int64_t kSmallRequest = 1 << 20;
constexpr int64_t kSmallSegment = 2 << 20;

// Segments at the moment, by address, and what of each is used.
MemoryDivision DivisionAt(const AllocatorSnapshot& snapshot, size_t moment) {
  UndoneHistory history(snapshot);
  while (history.event() > moment) history.Undo();
  MemoryDivision division;
  const bool fails = moment < snapshot.events.size() && snapshot.events[moment].action == MemoryAction::kOom;
  const int64_t requested = fails ? snapshot.events[moment].bytes : 0;
  if (fails) division.requested_bytes = requested;
  division.reserved_bytes = history.reserved_bytes();
  division.allocated_bytes = history.allocated_bytes();
  std::map<int64_t, int64_t> live;
  for (const auto& [address, block] : history.live()) live[address] = InBlocks(block.bytes);
  for (const auto& [begin, size] : std::map<int64_t, int64_t>(history.segments().begin(), history.segments().end())) {
    int64_t at = begin, free = 0, largest = 0, gaps = 0;
    const auto gap = [&](int64_t end) {
      if (end <= at) return;
      free += end - at;
      largest = std::max(largest, end - at);
      ++gaps;
    };
    for (auto block = live.lower_bound(begin); block != live.end() && block->first < begin + size; ++block) {
      gap(block->first);
      at = std::max(at, block->first + block->second);
    }
    gap(begin + size);
    if (free >= size) {
      division.free_segment_bytes += size;
      continue;
    }
    division.gap_bytes += free;
    if ((size <= kSmallSegment) == (requested <= kSmallRequest)) division.usable_gap_bytes += free;
    division.gaps += gaps;
    division.largest_gap_bytes = std::max(division.largest_gap_bytes, largest);
  }
  return division;
}

std::vector<OwnedLine> LinesOf(const std::vector<OwnedBlock>& blocks) {
  std::map<std::tuple<Owner, std::string, std::string>, OwnedLine> lines;
  for (const OwnedBlock& block : blocks) AddTo(lines[{block.owner, block.line, block.function}], block);
  std::vector<OwnedLine> sorted;
  for (auto& [key, line] : lines) sorted.push_back(std::move(line));
  return LargestFirst(std::move(sorted));
}

std::vector<OwnedBlock> BlocksOf(const AllocatorSnapshot& snapshot, const HistoryView& view,
                                 const std::vector<StackFacts>& facts, const std::vector<Owner>& owners) {
  std::vector<OwnedBlock> blocks;
  for (size_t i = 0; i < view.held.size(); ++i) {
    const HeldBlock& held = view.held[i];
    const FrameId where = facts[held.stack].where;
    blocks.push_back({held.bytes, owners[i], held.event, LineText(snapshot, where), FunctionText(snapshot, where)});
  }
  StableSort(blocks, [](const OwnedBlock& a, const OwnedBlock& b) { return a.bytes > b.bytes; });
  return blocks;
}

}  // namespace

void AddTo(OwnedLine& line, const OwnedBlock& block) {
  line.owner = block.owner;
  line.line = block.line;
  line.function = block.function;
  line.bytes += block.bytes;
  ++line.blocks;
  line.largest_bytes = std::max(line.largest_bytes, block.bytes);
}

std::vector<OwnedLine> LargestFirst(std::vector<OwnedLine> lines) {
  StableSort(lines, [](const OwnedLine& a, const OwnedLine& b) { return a.bytes > b.bytes; });
  return lines;
}

Explanation Explain(const AllocatorSnapshot& snapshot) {
  Explanation answer;
  const std::vector<StackFacts> facts = FactsOfStacks(snapshot);
  size_t moment = FailedRequest(snapshot);
  answer.moment = moment < snapshot.events.size() ? SnapshotMoment::kFailure : SnapshotMoment::kEnd;
  if (answer.moment == SnapshotMoment::kEnd && !snapshot.events.empty()) {
    answer.moment = SnapshotMoment::kPeak;
    moment = PeakOf(snapshot).event;
  }
  const HistoryView view = ViewAt(snapshot, facts, moment);
  const std::vector<Owner> owners = OwnersOf(view, facts);
  answer.device = snapshot.device;
  answer.events = static_cast<int64_t>(snapshot.events.size());
  answer.passes = view.passes;
  answer.stacks = snapshot.stacks.size() > 1;
  answer.configuration = snapshot.configuration;
  answer.expandable = snapshot.expandable;
  answer.division = DivisionAt(snapshot, moment);
  if (answer.moment == SnapshotMoment::kFailure) {
    const FrameId where = facts[snapshot.events[moment].stack].where;
    answer.failed_line = LineText(snapshot, where);
    answer.failed_function = FunctionText(snapshot, where);
  }
  answer.blocks = BlocksOf(snapshot, view, facts, owners);
  answer.lines = LinesOf(answer.blocks);
  for (const SnapshotFinding& found : FindingsOf({snapshot, facts, view, owners, answer.division})) {
    answer.findings.push_back({found.kind, found.bytes, found.blocks, found.rounds, LineText(snapshot, found.call),
                               FunctionText(snapshot, found.call), LineText(snapshot, found.where),
                               FunctionText(snapshot, found.where)});
  }
  return answer;
}

}  // namespace onnx_mem
