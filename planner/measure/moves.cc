#include "planner/measure/moves.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "planner/measure/index.h"

namespace onnx_mem {
namespace {

struct Savers {
  int32_t first = std::numeric_limits<int32_t>::max();
  int32_t last = -1;
};

bool Moves(const Buffer& buffer) {
  const bool activation =
      buffer.category == Category::kSavedActivations || buffer.category == Category::kTransientActivations;
  return activation && buffer.bytes >= kLeastOffloadBytes;
}

}  // namespace

Profile MovesOf(const CandidateSet& places, const StepTrace& trace) {
  constexpr int32_t kLoss = std::numeric_limits<int32_t>::max();
  std::map<BufferId, Savers> savers;
  std::vector<bool> saves;
  for (const SavedTrace& saved : trace.saved) {
    const int32_t node = saved.node < 0 ? kLoss : saved.node;
    if (node != kLoss && !saved.buffers.empty()) {
      if (saves.size() <= Index(node)) saves.resize(Index(node) + 1);
      saves[Index(node)] = true;
    }
    for (BufferId id : saved.buffers) {
      Savers& by = savers[id];
      by.first = std::min(by.first, node);
      by.last = std::max(by.last, node);
    }
  }
  std::vector<std::vector<BufferId>> by_first(saves.size());
  for (const auto& [id, by] : savers) {
    if (by.first != kLoss && Moves(trace.enacted.program.buffers[id])) by_first[Index(by.first)].push_back(id);
  }
  Profile moves;
  for (const Candidate& candidate : places.list) {
    CandidateFigures figures;
    bool saves_any = false;
    for (int32_t n = candidate.first; n <= candidate.last && Index(n) < saves.size(); ++n) {
      saves_any = saves_any || saves[Index(n)];
      for (BufferId id : by_first[Index(n)]) {
        if (savers[id].last <= candidate.last) figures.saves_bytes += trace.enacted.program.buffers[id].bytes;
      }
    }
    if (!saves_any) continue;
    moves.candidates.push_back(candidate);
    moves.figures.push_back(figures);
  }
  return moves;
}

}  // namespace onnx_mem
