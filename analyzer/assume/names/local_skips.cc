// The part of locals.h about encoders and decoders: which values of a function have names of their own beside one that
// is read again later.
#include <algorithm>

#include "analyzer/assume/names/locals.h"

namespace onnx_mem::names {
// x1 = self.inc(x); x2 = self.down(x1); ...; x = self.up(x, x1): what a later call takes beside a newer value that ends
// there, whose name the result takes over.
bool Locals::IsSkip(TensorId id, const Home& home, const Units& units) const {
  const int32_t call = calls_.UnitCall(units.back(), home.depth);
  if (call < 0) return false;
  // self.up(self.down(x), x) may be one statement, but not where the code names other skips.
  const bool follows = calls_.span(call).begin <= units[units.size() - 2] + 1;
  if (follows && !skip_frames_.contains(home.frame)) return false;
  const int32_t before = calls_.UnitCall(units[units.size() - 2], home.depth);
  if (before >= 0 && WithoutCallNumber(calls_.span(before).name) == WithoutCallNumber(calls_.span(call).name))
    return false;
  if (!OnlyResult(units.back(), home.depth).valid()) return false;
  const CallSpan& span = calls_.span(call);
  for (int32_t i = span.begin; i <= span.end; ++i) {
    for (TensorId other : graph_.nodes[NodeId(i)].inputs) {
      if (!other.valid() || !graph_.tensors[other].producer.valid()) continue;
      const int32_t made = graph_.tensors[other].producer.value();
      if (made >= span.begin || made <= graph_.tensors[id].producer.value() || HomeOf(other).frame != home.frame)
        continue;
      const auto& readers = graph_.tensors[other].consumers;
      if (std::all_of(readers.begin(), readers.end(), [&](NodeId r) { return r.value() <= span.end; })) return true;
    }
  }
  return false;
}

// Functions that hand a value to a later call beside a newer one, x = self.up(x, x1), and are no loops.
void Locals::FindSkipFrames() {
  for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
    if (!graph_.tensors[id].producer.valid() || graph_.tensors[id].consumers.size() < 2) continue;
    if (!IsFloating(graph_.tensors[id].dtype)) continue;
    const Home home = HomeOf(id);
    const Units units = ReadingUnits(id, home);
    if (units.size() < 2 || !IsSkip(id, home, units)) continue;
    if (!IsElement(calls_.span(calls_.UnitCall(units.back(), home.depth)).name)) skip_frames_.insert(home.frame);
  }
}

}  // namespace onnx_mem::names
