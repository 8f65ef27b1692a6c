#include "analyzer/snapshot/match.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analyzer/snapshot/peak.h"

namespace onnx_mem {
namespace {

bool CanBe(Owner owner, Category category) {
  switch (owner) {
    case Owner::kParameters: return category == Category::kParameters || category == Category::kBuffers;
    case Owner::kGradients:
    case Owner::kActivationGradients:
      return category == Category::kGradients || category == Category::kActivationGradients;
    case Owner::kOptimizerState:
    case Owner::kOptimizerTemporaries:
      return category == Category::kOptimizerState || category == Category::kOptimizerTemporaries;
    case Owner::kActivations:
    case Owner::kInputs:
      return category == Category::kInputs || category == Category::kSavedActivations ||
             category == Category::kTransientActivations;
    case Owner::kWorkspaces: return category == Category::kWorkspace;
    case Owner::kCopies: return false;
    case Owner::kUnknown: return true;
  }
  return false;
}

// Bytes that blocks and the buffers alive have in common, size by size, while buffers come and go.
class CommonBytes {
 public:
  explicit CommonBytes(const std::vector<OwnedBlock>& blocks) {
    for (const OwnedBlock& block : blocks) ++sizes_[InBlocks(block.bytes)].blocks;
  }
  void Add(int64_t bytes) {
    Counts& counts = sizes_[bytes];
    if (counts.buffers++ < counts.blocks) common_ += bytes;
  }
  void Remove(int64_t bytes) {
    Counts& counts = sizes_[bytes];
    if (--counts.buffers < counts.blocks) common_ -= bytes;
  }
  int64_t bytes() const { return common_; }

 private:
  struct Counts {
    int64_t blocks = 0;
    int64_t buffers = 0;
  };
  absl::flat_hash_map<int64_t, Counts> sizes_;
  int64_t common_ = 0;
};

StepId BestStep(const MemoryProgram& program, const std::vector<OwnedBlock>& blocks) {
  std::vector<std::vector<int64_t>> begins(program.steps.size() + 1), ends(program.steps.size() + 1);
  for (const Buffer& buffer : program.buffers) {
    if (buffer.bytes == 0) continue;
    begins[buffer.begin.index()].push_back(InBlocks(buffer.bytes));
    ends[buffer.end.index()].push_back(InBlocks(buffer.bytes));
  }
  CommonBytes common(blocks);
  int64_t best = -1;
  StepId at(0);
  for (size_t step = 0; step < program.steps.size(); ++step) {
    for (int64_t bytes : ends[step]) common.Remove(bytes);
    for (int64_t bytes : begins[step]) common.Add(bytes);
    if (common.bytes() <= best) continue;
    best = common.bytes();
    at = StepId(static_cast<int32_t>(step));
  }
  return at;
}

}  // namespace

SnapshotMatch MatchTo(const MemoryProgram& program, const Explanation& explanation) {
  SnapshotMatch match;
  if (program.steps.empty()) return match;
  const StepId at = BestStep(program, explanation.blocks);
  const Step& step = program.steps[at];
  match.step = at.value();
  match.step_op = step.op;
  match.step_module = step.module;
  match.phase = step.phase;
  std::multimap<int64_t, const Buffer*> open;  // by size, in the program's order
  for (const Buffer& buffer : program.buffers) {
    if (buffer.bytes == 0 || buffer.begin.value() > at.value() || buffer.end.value() <= at.value()) continue;
    open.emplace(InBlocks(buffer.bytes), &buffer);
  }
  std::map<std::pair<Owner, std::string>, OwnedLine> unexplained;
  for (size_t i = 0; i < explanation.blocks.size(); ++i) {
    const OwnedBlock& block = explanation.blocks[i];
    const auto [first, last] = open.equal_range(InBlocks(block.bytes));
    const auto same =
        std::find_if(first, last, [&](const auto& one) { return CanBe(block.owner, one.second->category); });
    if (same != last) {
      const Buffer& buffer = *same->second;
      match.named.push_back({i, std::string(buffer.name), std::string(buffer.module), buffer.category});
      match.named_bytes += block.bytes;
      open.erase(same);
      continue;
    }
    match.unexplained_bytes += block.bytes;
    AddTo(unexplained[{block.owner, block.line}], block);
  }
  for (auto& [key, line] : unexplained) match.unexplained.push_back(std::move(line));
  match.unexplained = LargestFirst(std::move(match.unexplained));
  return match;
}

}  // namespace onnx_mem
