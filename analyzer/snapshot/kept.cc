// Memory that a program holds on to: blocks of a forward that are alive from rounds which have ended.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analyzer/snapshot/findings.h"

namespace onnx_mem {
namespace {

constexpr int64_t kLeastRounds = 3;  // two overlap in any loop: a variable holds the last one while the next runs
constexpr int64_t kRoundsOfOwnCode = 10;
constexpr int64_t kBlocksOfGraph = 2;    // a round, from which on they are a graph rather than a tensor
constexpr int64_t kLayersOfForward = 6;  // large blocks, from which on they are more than one layer's
constexpr double kHeldOfForward = 0.4;   // of what a forward made; without a graph only what the next layer reads is

// Blocks that one call of the user's left behind.
struct Left {
  int64_t bytes = 0;
  int64_t blocks = 0;
  std::set<int64_t> rounds;
  int64_t made_by_modules = 0;
  std::map<FrameId, int64_t> bytes_by_where;
};

using LeftByCall = std::map<FrameId, Left>;

void Add(const HeldBlock& block, const StackFacts& facts, int64_t round, LeftByCall& left) {
  Left& of = left[facts.call];
  of.bytes += block.bytes;
  ++of.blocks;
  of.rounds.insert(round);
  if (facts.made_by == MadeBy::kModules) of.made_by_modules += block.bytes;
  of.bytes_by_where[facts.where] += block.bytes;
}

SnapshotFinding FindingOf(FindingKind kind, const LeftByCall& left) {
  SnapshotFinding finding{kind};
  const Left* most = nullptr;
  for (const auto& [call, of] : left) {
    finding.bytes += of.bytes;
    finding.blocks += of.blocks;
    const auto rank = [](const Left& one) { return std::pair(one.made_by_modules, one.bytes); };
    if (call == kNoFrame || (most != nullptr && rank(*most) >= rank(of))) continue;
    most = &of;
    finding.call = call;
    finding.rounds = static_cast<int64_t>(of.rounds.size());
  }
  if (most == nullptr) return finding;
  const auto where = std::max_element(most->bytes_by_where.begin(), most->bytes_by_where.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  finding.where = where->first == finding.call ? kNoFrame : where->first;
  return finding;
}

// Blocks a round, of all calls together.
int64_t BlocksOfRound(const LeftByCall& left) {
  int64_t blocks = 0;
  for (const auto& [call, of] : left) {
    blocks += (of.blocks + static_cast<int64_t>(of.rounds.size()) - 1) / static_cast<int64_t>(of.rounds.size());
  }
  return blocks;
}

// Whether what the stack makes replaces a smaller block that is still alive, again and again: torch.cat onto a cache.
bool Grows(const HistoryView& view, StackId stack) {
  const auto found = view.series.find(stack);
  if (found == view.series.end()) return false;
  const Series& series = found->second;
  return series.grown >= 4 && 2 * series.grown > series.made && 10 * series.shrunk <= series.made;
}

// Blocks whose stack has some alive from at least kLeastRounds of the rounds that `round_of` gives; -1: not counted.
template <class RoundOf>
LeftByCall Repeated(const FindingQuestion& q, RoundOf round_of) {
  std::map<StackId, std::set<int64_t>> rounds;
  for (const HeldBlock& block : q.view.held) {
    const int64_t round = Grows(q.view, block.stack) ? -1 : round_of(block);
    if (round >= 0) rounds[block.stack].insert(round);
  }
  LeftByCall left;
  for (const HeldBlock& block : q.view.held) {
    const int64_t round = round_of(block);
    if (round < 0 || static_cast<int64_t>(rounds[block.stack].size()) < kLeastRounds) continue;
    Add(block, q.facts[block.stack], round, left);
  }
  return left;
}

int64_t PassNow(const HistoryView& view) { return view.in_backward ? view.passes - 1 : view.passes; }

// Whether the function that `call` is in has a call that backward follows: then it is a step of training.
bool SharesFunction(const FindingQuestion& q, FrameId call) {
  const StackFrame& of = q.snapshot.frames[call];
  return std::any_of(q.view.trained.begin(), q.view.trained.end(), [&](FrameId trained) {
    if (trained == kNoFrame) return false;
    const StackFrame& frame = q.snapshot.frames[trained];
    return frame.file == of.file && frame.name == of.name;
  });
}

// Of passes that have ended: a graph, or single tensors.
void AddOfEndedPasses(const FindingQuestion& q, std::vector<SnapshotFinding>& findings) {
  const int64_t now = PassNow(q.view);
  absl::flat_hash_map<StackId, int64_t> oldest;
  for (const HeldBlock& block : q.view.held) {
    const auto [first, added] = oldest.try_emplace(block.stack, block.ordinal);
    if (!added) first->second = std::min(first->second, block.ordinal);
  }
  const LeftByCall left = Repeated(q, [&](const HeldBlock& block) {
    const StackFacts& facts = q.facts[block.stack];
    const bool counts = (IsForward(facts) || facts.copied) && block.event >= 0 && block.pass < now;
    // A step that takes several backward passes holds those of its own, not the first ones of all.
    return counts && 2 * oldest.at(block.stack) < q.view.series.at(block.stack).made ? block.pass : int64_t{-1};
  });
  if (left.empty()) return;
  SnapshotFinding finding = FindingOf(FindingKind::kGrowingTensors, left);
  bool graph = false;  // own code that copies weights makes several a round, too
  for (const HeldBlock& block : q.view.held) {
    const StackFacts& facts = q.facts[block.stack];
    const bool saved = facts.made_by == MadeBy::kModules || q.view.freed_in_backward.contains(block.stack);
    graph = graph || (facts.call == finding.call && saved && !facts.copied);
  }
  if (graph && finding.call != kNoFrame && BlocksOfRound(left) >= kBlocksOfGraph) {
    finding.kind = SharesFunction(q, finding.call) ? FindingKind::kKeptGraph : FindingKind::kMissingNoGrad;
    for (const HeldBlock& block : q.view.held) {  // graphs of gradients are kept with theirs
      const bool made_by_backward = q.facts[block.stack].made_by == MadeBy::kBackward && block.event >= 0;
      if (made_by_backward && block.pass + 1 < now && q.view.series.at(block.stack).made > 2)
        finding.bytes += block.bytes;
    }
  }
  findings.push_back(finding);
}

// Since the last backward: several forwards, of a call that backward follows or of one that it does not.
void AddOfThisPass(const FindingQuestion& q, std::vector<SnapshotFinding>& findings) {
  if (q.view.in_backward) return;
  const int64_t now = PassNow(q.view);
  const LeftByCall left = Repeated(q, [&](const HeldBlock& block) {
    const StackFacts& facts = q.facts[block.stack];
    return IsForward(facts) && block.pass == now ? block.round : int64_t{-1};
  });
  const bool modules = std::any_of(q.view.held.begin(), q.view.held.end(), [&](const HeldBlock& block) {
    return q.facts[block.stack].made_by == MadeBy::kModules && block.pass == now &&
           left.count(q.facts[block.stack].call) > 0;
  });
  if (left.empty()) return;
  SnapshotFinding finding = FindingOf(FindingKind::kNoBackward, left);
  if (!modules) {  // a few rounds of own code alone may be layers that are written by hand
    finding.kind = FindingKind::kGrowingTensors;
    if (finding.rounds >= kRoundsOfOwnCode) findings.push_back(finding);
    return;
  }
  const bool trained = q.view.trained.contains(finding.call);
  const auto most = q.view.most_rounds.find(finding.call);
  if (trained && most != q.view.most_rounds.end() && finding.rounds <= most->second) return;
  if (!trained && q.view.passes > 0) finding.kind = FindingKind::kMissingNoGrad;
  if (BlocksOfRound(left) < kBlocksOfGraph) finding.kind = FindingKind::kGrowingTensors;
  findings.push_back(finding);
}

// One forward of a call that no backward follows, though others are followed: more of it is alive than the next layer
// reads.
void AddUntrained(const FindingQuestion& q, std::vector<SnapshotFinding>& findings) {
  if (q.view.in_backward || q.view.passes == 0 || q.view.bytes_of_round.empty()) return;
  const auto round = static_cast<int64_t>(q.view.bytes_of_round.size()) - 1;
  LeftByCall left;
  for (const HeldBlock& block : q.view.held) {
    const StackFacts& facts = q.facts[block.stack];
    const bool counts = facts.made_by == MadeBy::kModules && block.round == round && block.pass == q.view.passes;
    if (counts && !q.view.trained.contains(facts.call)) Add(block, facts, round, left);
  }
  const SnapshotFinding finding = FindingOf(FindingKind::kMissingNoGrad, left);
  const auto made = static_cast<double>(q.view.bytes_of_round.back());
  const auto large = std::count_if(q.view.held.begin(), q.view.held.end(), [&](const HeldBlock& block) {
    return left.contains(q.facts[block.stack].call) && block.round == round && 20 * block.bytes >= finding.bytes;
  });
  if (large >= kLayersOfForward && static_cast<double>(finding.bytes) >= kHeldOfForward * made) {
    findings.push_back(finding);
  }
}

void AddGrowingBlocks(const FindingQuestion& q, std::vector<SnapshotFinding>& findings) {
  LeftByCall left;
  for (const HeldBlock& block : q.view.held) {
    const StackFacts& facts = q.facts[block.stack];
    if (Grows(q.view, block.stack) && IsForward(facts)) Add(block, facts, block.round, left);
  }
  if (left.empty()) return;
  SnapshotFinding finding = FindingOf(FindingKind::kGrowingBlock, left);
  finding.rounds = 0;
  if (finding.where != kNoFrame) finding.call = finding.where;  // the line that makes it, deep in a model
  finding.where = kNoFrame;
  findings.push_back(finding);
}

}  // namespace

void AddKept(const FindingQuestion& question, std::vector<SnapshotFinding>& findings) {
  AddOfEndedPasses(question, findings);
  const size_t before = findings.size();
  AddOfThisPass(question, findings);
  if (findings.size() == before) AddUntrained(question, findings);
  AddGrowingBlocks(question, findings);
}

}  // namespace onnx_mem
